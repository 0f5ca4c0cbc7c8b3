package localvolume

import (
	"cmp"
	"fmt"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/schema/finding"
)

// groupClass is spec.storageClass of a template: the class with which a driver makes volumes
// in its groups.
type groupClass struct {
	Name                 string `json:"name"`
	Driver               string `json:"driver"`
	FSType               string `json:"fsType"`
	ReclaimPolicy        string `json:"reclaimPolicy"`
	AllowVolumeExpansion bool   `json:"allowVolumeExpansion"`
}

// driverTopoLVM is one of the drivers, as a template calls it; the other is lvm-localpv.
const driverTopoLVM = "topolvm"

// class is the StorageClass as the driver reads it: lvm-localpv, docs/storageclasses.md;
// TopoLVM, docs/user-manual.md (StorageClass).
func (c *groupClass) class(vg string) class.Class {
	made := class.Class{
		Name: c.Name, Provisioner: "local.csi.openebs.io", Binding: "WaitForFirstConsumer",
		ReclaimPolicy: c.ReclaimPolicy, AllowsExpansion: c.AllowVolumeExpansion,
		Parameters: map[string]string{"storage": "lvm", "volgroup": vg, "fsType": c.FSType},
	}
	if c.Driver == driverTopoLVM {
		made.Provisioner = "topolvm.io"
		made.Parameters = map[string]string{"topolvm.io/device-class": vg, "csi.storage.k8s.io/fstype": c.FSType}
	}
	return made
}

// groupClassField is the field of a template that a field of the StorageClass comes from.
func groupClassField(field string) string {
	switch field {
	case "parameters.fsType", "parameters.csi.storage.k8s.io/fstype":
		return "spec.storageClass.fsType"
	case "parameters.volgroup", "parameters.topolvm.io/device-class":
		return "spec.template.spec.name"
	case "reclaimPolicy":
		return "spec.storageClass.reclaimPolicy"
	}
	return "spec.storageClass.driver"
}

// classes are the class of the template, and those of before that are still used. A new one
// waits until there is a group.
func (t *template) classes() []class.Class {
	var all []class.Class
	name := ""
	if want := t.cfg.Spec.StorageClass; want != nil {
		name = want.Name
		vg := cmp.Or(t.cfg.wanted.Str("name"), t.Object.Name)
		c := want.class(vg)
		before := class.Before(t.Facts, t.Before, name)
		if len(t.items) > 0 || before != nil {
			for _, change := range c.Changes(before, groupClassField) {
				t.Report(finding.Error, "class-changed", change.Field, "StorageClass %s %s", c.Name, change.Text)
			}
			if want.Driver == driverTopoLVM {
				t.Report(finding.Info, "lvmd", "spec.storageClass.driver", "TopoLVM finds the groups by the configuration of lvmd on their nodes: %s", fmt.Sprintf("device-classes: [{name: %s, volume-group: %s}]", vg, vg))
			}
			t.Defaults.Know(name)
			all = append(all, c)
		}
	}
	for _, o := range t.Before {
		if o.GroupKind() != class.Kind() || o.Name == name {
			continue
		}
		if user := class.UserOf(t.Facts, o.Name); user != "" {
			all = append(all, class.Read(o))
			t.Report(finding.Warning, "class-used", "spec.storageClass", "StorageClass %s is no longer in the spec, and is kept while it is used: %s", o.Name, user)
		}
	}
	return all
}
