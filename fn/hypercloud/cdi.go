package hypercloud

import (
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// newestCDI is the newest release of CDI that is known.
//
// Source: containerized-data-importer, releases, 1.66.
func newestCDI() system.Newest { return system.Newest{Product: "CDI", Release: "1.66"} }

// cdiManifest makes the CDI.
type cdiManifest struct{ *manifests }

// addCDI makes the CDI.
func (c *cdiManifest) addCDI() {
	want := c.cfg.Spec.CDI
	if want == nil {
		return
	}
	if text := newestCDI().Newer(want.Version, "to have the CDI of "+newestCDI().Release); text != "" {
		c.reportAt(finding.Warning, "newer-release", []any{"spec", "cdi", "version"}, "%s", text)
	}
	config := d.Object()
	if scratch := c.scratch(); scratch != "" {
		config.Set("scratchSpaceStorageClass", d.Text(scratch))
	}
	if want.UploadProxyURL != "" {
		config.Set("uploadProxyURLOverride", d.Text(want.UploadProxyURL))
	}
	if len(want.FeatureGates) > 0 {
		gates := d.List()
		for _, gate := range want.FeatureGates {
			gates.Add(d.Text(gate))
		}
		config.Set("featureGates", gates)
	}
	linux := d.Object(d.F("nodeSelector", d.Object(d.F("kubernetes.io/os", d.Text("linux")))))
	c.add(levelCDI, "cdi", krm.Make(cdiGroup+"/v1beta1", cdiKind, "", cdiName, d.F("spec", d.Object(
		d.F("uninstallStrategy", d.Text(want.UninstallStrategy)),
		d.F("imagePullPolicy", d.Text("IfNotPresent")),
		d.F("infra", linux),
		d.F("workload", linux),
		d.F("config", config),
	))))
}

// scratch is the class of the volumes that an import needs on the way: that of the spec,
// else one of the spec's own, else "" for the default class of the cluster.
func (c *cdiManifest) scratch() string {
	path := []any{"spec", "cdi", "scratchStorageClass"}
	live := c.Facts.Objects(storageGroup, classKind)
	if name := c.cfg.Spec.CDI.ScratchStorageClass; name != "" {
		if !c.Defaults.Knows(name) && c.Facts.Object(class.ID(name)) == nil && len(c.Unsound) == 0 {
			c.reportAt(finding.Error, "no-such-class", path, "no StorageClass is called %s, neither in the spec nor in the package nor in the inventory; write the name of one that is there", name)
		}
		return name
	}
	if len(c.cfg.Spec.Block) > 0 {
		return c.cfg.Spec.Block[0].Name
	}
	if c.Defaults.Taken() || slices.ContainsFunc(live, func(o *krm.Object) bool { c := class.Read(o); return c.Default }) {
		return ""
	}
	if len(c.cfg.Spec.Filesystem) > 0 {
		return c.cfg.Spec.Filesystem[0].Name
	}
	if len(c.Unsound) > 0 {
		return "" // one of them may have it
	}
	c.reportAt(finding.Error, "no-scratch", path, "CDI needs a StorageClass for volumes on the way, and neither the spec nor the package nor the inventory has one that is the default; write scratchStorageClass, or add a block pool")
	return ""
}
