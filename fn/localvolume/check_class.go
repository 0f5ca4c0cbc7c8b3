package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/mkfs"
)

// noProvisioner is the provisioner of classes whose PersistentVolumes are made beforehand.
const noProvisioner = "kubernetes.io/no-provisioner"

// checkClass looks at the class of a Volume: the agent makes the PersistentVolume, and takes
// the filesystem from the class.
func (e *entry) checkClass() {
	const field = "spec.storageClassName"
	v := e.volume
	c := classOf(e.Facts, e.Manifests, v.class)
	if c == nil {
		if e.all.knowsClasses() && !e.Defaults.Knows(v.class) && len(e.Unsound) == 0 {
			e.Report(finding.Warning, "class-missing", field, "there is no StorageClass %s in the package, nor among the facts; no PersistentVolume is made without it", v.class)
		}
		return
	}
	if c.Provisioner != noProvisioner {
		e.Report(finding.Error, "class-provisioner", field, "StorageClass %s has provisioner %s, which makes volumes of its own; write a class with provisioner %s", v.class, c.Provisioner, noProvisioner)
		return
	}
	if v.mode != filesystem {
		return
	}
	switch fs := c.Parameters["fsType"]; fs {
	case "ext4", "xfs":
		written := classObject(e.Facts, e.Manifests, v.class).Node.Get("parameters", "mkfsOptions")
		if kind := written.Kind(); kind != document.Null && kind != document.Scalar {
			e.Report(finding.Error, "mkfs-options", field, "StorageClass %s: parameters.mkfsOptions is no text, as a parameter has to be; put it in quotes: '[\"-m\", \"0\"]'", v.class)
		} else if _, err := mkfs.Options(fs, c.Parameters["mkfsOptions"]); err != nil {
			e.Report(finding.Error, "mkfs-options", field, "StorageClass %s: parameters.mkfsOptions %v", v.class, err)
		}
	case "":
		e.Report(finding.Error, "class-filesystem", field, "StorageClass %s has no parameters.fsType, and the Volume is of mode %s; write a class with fsType: ext4 or xfs, or mode: %s", v.class, filesystem, block)
	default:
		e.Report(finding.Error, "class-filesystem", field, "StorageClass %s has parameters.fsType %q; the node agent makes ext4 and xfs", v.class, fs)
	}
}

// checkWipe looks at how the device is erased: what the reclaim policy promises to erase is not kept.
func (e *entry) checkWipe() {
	if e.volume.wipe == wipeNone && reclaimPolicy(e.Facts, e.Manifests, e.volume) == "Delete" {
		e.Report(finding.Error, "wipe-delete", "spec.wipe", "is none, and the reclaim policy is Delete, which erases the data: write wipe: full or discard, or set the reclaim policy to Retain")
	}
}

// knowsClasses reports whether anything shows which classes there are.
func (r *rendering) knowsClasses() bool {
	return r.Facts.Tells(class.Kind().Group, class.Kind().Kind, "") ||
		slices.ContainsFunc(r.Manifests, func(o *krm.Object) bool { return o.GroupKind() == class.Kind() })
}
