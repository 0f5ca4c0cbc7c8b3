package inventory

import (
	"cmp"
	"path"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// VolumeClaim is what matters of a PersistentVolumeClaim.
type VolumeClaim struct {
	Bound      bool
	VolumeName string
}

// Volume is what matters of a PersistentVolume. Driver and Handle are those of its CSI
// source, or of the one that took over from a plugin of Kubernetes' own; Path is that of
// a local or hostPath volume, which is Pinned to some nodes, as far as they are told by
// Hosts.
type Volume struct {
	Name, Driver, Handle, Path string
	Pinned                     bool
	Hosts                      []string
	Claim                      Key // that it is bound to, or bound to be
}

func newVolume(o *krm.Object) *Volume {
	spec := o.Node.Get("spec")
	v := &Volume{
		Name:   o.Name,
		Driver: spec.Str("csi", "driver"),
		Handle: spec.Str("csi", "volumeHandle"),
		Claim:  Key{spec.Str("claimRef", "namespace"), spec.Str("claimRef", "name")},
	}
	for _, of := range []struct{ source, field, driver string }{
		{"gcePersistentDisk", "pdName", "pd.csi.storage.gke.io"},
		{"awsElasticBlockStore", "volumeID", "ebs.csi.aws.com"},
		{"cinder", "volumeID", "cinder.csi.openstack.org"},
		{"azureDisk", "diskURI", "disk.csi.azure.com"},
	} {
		if handle := spec.Str(of.source, of.field); handle != "" {
			v.Driver, v.Handle = of.driver, handle[strings.LastIndexByte(handle, '/')+1:]
		}
	}
	if local := cmp.Or(spec.Str("local", "path"), spec.Str("hostPath", "path")); local != "" {
		v.Path = path.Clean(local)
	}
	v.Pinned = spec.Get("nodeAffinity", "required") != nil
	for _, term := range spec.Get("nodeAffinity", "required").Seq("nodeSelectorTerms") {
		for _, e := range term.Seq("matchExpressions") {
			if e.Str("key") != LabelHostname || e.Str("operator") != "In" {
				continue
			}
			for _, host := range e.Seq("values") {
				v.Hosts = append(v.Hosts, host.Value())
			}
		}
	}
	return v
}

// Attachment is what matters of a VolumeAttachment.
type Attachment struct {
	Name     string
	Detached bool // the attacher says that it is not attached
	metadata *document.Node
}

func newAttachment(o *krm.Object) *Attachment {
	return &Attachment{Name: o.Name, Detached: o.Node.Str("status", "attached") == "false", metadata: o.Node.Get("status", "attachmentMetadata")}
}

// before orders attachments of one volume to one node: the one that knows more,
// then the first by name.
func (a *Attachment) before(b *Attachment) bool {
	switch {
	case a == nil:
		return false
	case (a.metadata != nil) != (b.metadata != nil):
		return a.metadata != nil
	}
	return a.Name < b.Name
}

// Metadata returns what the attacher said under this key, in any case.
func (a *Attachment) Metadata(key string) string {
	if a == nil || a.metadata == nil {
		return ""
	}
	for i := range a.metadata.Fields() {
		if f := &a.metadata.Fields()[i]; strings.EqualFold(f.Key, key) {
			return f.Value.Value()
		}
	}
	return ""
}
