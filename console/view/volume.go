package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/schema/finding"
)

// Volume is a volume of a node.
type Volume struct {
	Name         string       `json:"name"`
	Node         Text         `json:"node"`
	Type         Text         `json:"type"` // the field of its source
	Size         Bytes        `json:"size"`
	Group        Text         `json:"group"`
	Device       Text         `json:"device"`
	StorageClass Text         `json:"storageClass"`
	State        health.Phase `json:"state"`
	Reason       Text         `json:"reason"`
	Message      Text         `json:"message"`
	PV           Text         `json:"pv"`
	Claim        Text         `json:"claim"`
	Deletable    bool         `json:"deletable"`
	Why          Text         `json:"why"` // not

	Stock stock.Volume `json:"-"`
}

// Group is a volume group of a node.
type Group struct {
	Name      string       `json:"name"`
	LVMName   Text         `json:"lvmName"`
	Node      Text         `json:"node"`
	Source    Text         `json:"source"`
	Size      Bytes        `json:"size"`
	Free      Bytes        `json:"free"` // what a new volume may have
	Devices   []string     `json:"devices"`
	Volumes   []string     `json:"volumes"`
	State     health.Phase `json:"state"`
	Reason    Text         `json:"reason"`
	Message   Text         `json:"message"`
	Deletable bool         `json:"deletable"`
	Why       Text         `json:"why"`

	Stock stock.Group `json:"-"`
}

// Volumes are those of the package and of the cluster, by name.
func (v *View) Volumes() []Volume { return v.volumes() }

// Groups are those of the package and of the cluster, by name.
func (v *View) Groups() []Group { return v.groups() }

func (v *View) readVolumes() []Volume {
	statuses := v.byObject()
	var all []Volume
	for _, s := range v.stock().Volumes {
		if st := statuses[s.Object]; st != nil {
			s.State = stock.State{Phase: st.Phase, Reason: st.Reason, Message: st.Message}
		}
		why, deletable := removable(s.Refused, s.Owner, s.Spec)
		all = append(all, Volume{
			Name: s.Object.Name, Node: Text(s.Node), Type: Text(s.Source), Size: Bytes(s.Size), Group: Text(s.Group), Device: Text(s.Device),
			StorageClass: Text(s.Class), State: s.Phase, Reason: Text(s.Reason), Message: Text(s.Message), PV: Text(s.PV), Claim: Text(s.Claim),
			Deletable: deletable, Why: why, Stock: s,
		})
	}
	return all
}

func (v *View) readGroups() []Group {
	statuses := v.byObject()
	var all []Group
	for _, s := range v.stock().Groups {
		if st := statuses[s.Object]; st != nil {
			s.State = stock.State{Phase: st.Phase, Reason: st.Reason, Message: st.Message}
		}
		why, deletable := removable(s.Refused, s.Owner, s.Spec)
		all = append(all, Group{
			Name: s.Object.Name, LVMName: Text(s.LVM), Node: Text(s.Node), Source: Text(s.Source), Size: Bytes(s.Size), Free: Bytes(s.Free),
			Devices: list(s.Devices), Volumes: list(s.Volumes), State: s.Phase, Reason: Text(s.Reason), Message: Text(s.Message),
			Deletable: deletable, Why: why, Stock: s,
		})
	}
	return all
}

// removable says whether a person may take something out of the package, and why not.
func removable(refused, owner string, spec bool) (why Text, deletable bool) {
	switch {
	case owner != "":
		return Text("it is rendered for " + owner + "; change that spec"), false
	case !spec:
		return "it has no spec in this package", false
	case refused != "":
		return Text("it " + refused), false
	}
	return "", true
}

// VolumeNamed finds a volume, or else the most similar name.
func (v *View) VolumeNamed(name string) (found *Volume, near string) {
	return named(v.volumes(), name, func(r *Volume) string { return r.Name })
}

// GroupNamed finds a group, or else the most similar name.
func (v *View) GroupNamed(name string) (found *Group, near string) {
	return named(v.groups(), name, func(r *Group) string { return r.Name })
}

// named finds the item of a name, or else the most similar name.
func named[T any](all []T, name string, nameOf func(*T) string) (found *T, near string) {
	names := make([]string, len(all))
	for i := range all {
		if names[i] = nameOf(&all[i]); names[i] == name {
			return &all[i], ""
		}
	}
	return nil, nearest(name, names)
}

// Classes are the names of the StorageClasses of the package and the cluster.
func (v *View) Classes() []string {
	var names []string
	for _, o := range slices.Concat(v.Package.Objects, v.facts()) {
		if o.Kind == "StorageClass" && o.Name != "" {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Room says what was free in the groups whose volumes do not fit in a later state of the package, "" if all fit. A finding is
// about the first of them by name, which is perhaps an old one.
func (v *View) Room(after *View) string {
	said := ""
	for _, f := range after.Findings {
		if f.Severity != finding.Error || !strings.HasSuffix(f.Field, ".size") {
			continue
		}
		for _, of := range after.volumes() {
			if of.Stock.Object != f.Object || of.Stock.Group == "" {
				continue
			}
			for _, g := range v.groups() {
				if text := fmt.Sprintf("; %s on %s has %s free", g.LVMName, g.Node, g.Free); g.Stock.LVM == of.Stock.Group && g.Stock.Node == of.Stock.Node && g.Free >= 0 && !strings.Contains(said, text) {
					said += text
				}
			}
		}
	}
	return said
}
