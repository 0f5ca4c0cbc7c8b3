package localvolume

import (
	"cmp"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// report is what the NodeInventory of a node says beside its disks, which are in the ledger.
type report struct {
	object      *krm.Object
	groups      []reportedGroup
	controllers []reportedController
	leftovers   map[string]bool // the UUIDs of data that was given up
}

// reportedGroup is an LVM volume group as a NodeInventory has it. Sizes are in bytes.
type reportedGroup struct {
	name, uuid, owner  string
	size, free, extent int64 // an extent of 0 is unknown
	devices, missing   []string
	volumes            []logicalVolume
	tells              bool // of its logical volumes
}

// logicalVolume is one of a group.
type logicalVolume struct {
	name, owner string
	size        int64 // bytes
}

// reportsKey is the key of what reportsOf reads.
type reportsKey struct{}

// reportsOf reads the NodeInventories, by their nodes.
func reportsOf(facts *inventory.Facts) map[string]*report {
	return inventory.Once(facts, reportsKey{}, func(facts *inventory.Facts) map[string]*report {
		reports := map[string]*report{}
		for _, o := range facts.Objects(ownGroup, agentKind) {
			reports[o.Name] = readReport(o)
		}
		return reports
	})
}

func readReport(o *krm.Object) *report {
	r := &report{object: o, leftovers: map[string]bool{}}
	status := o.Node.Get("status")
	for _, n := range status.Seq("groups") {
		g := reportedGroup{name: n.Str("name"), uuid: n.Str("uuid"), owner: n.Str("owner"), tells: n.Get("volumes") != nil}
		g.size, _ = n.Get("size").Int()
		g.free, _ = n.Get("free").Int()
		g.extent, _ = n.Get("extentSize").Int()
		for _, device := range n.Seq("devices") {
			g.devices = append(g.devices, device.Value())
		}
		for _, missing := range n.Seq("missing") {
			g.missing = append(g.missing, missing.Value())
		}
		for _, lv := range n.Seq("volumes") {
			one := logicalVolume{name: lv.Str("name"), owner: lv.Str("owner")}
			one.size, _ = lv.Get("size").Int()
			g.volumes = append(g.volumes, one)
		}
		r.groups = append(r.groups, g)
	}
	r.controllers = readControllers(status.Seq("controllers"))
	for _, left := range status.Seq("leftovers") {
		r.leftovers[left.Str("uuid")] = true
	}
	return r
}

// named lists the groups of a name: more than one is a fault of the node.
func (r *report) named(vg string) []*reportedGroup {
	var found []*reportedGroup
	if r == nil {
		return nil
	}
	for i := range r.groups {
		if r.groups[i].name == vg {
			found = append(found, &r.groups[i])
		}
	}
	return found
}

// persistent is the PersistentVolume of a Volume, which has its name.
type persistent struct {
	object *krm.Object // nil where there is none
	phase  string
	claim  string // namespace/name of the claim that has it, or ""
	told   bool   // whether the facts list PersistentVolumes at all
}

// persistentOf finds the PersistentVolume of a Volume.
func persistentOf(facts *inventory.Facts, name string) persistent {
	p := persistent{object: facts.Object(krm.ID{Kind: pvKind, Name: name}), told: facts.Tells("", pvKind, "")}
	if p.object == nil {
		return p
	}
	p.phase = p.object.Node.Str("status", "phase")
	if ref := p.object.Node.Get("spec", "claimRef"); ref.Str("name") != "" {
		p.claim = ref.Str("namespace") + "/" + ref.Str("name")
	}
	return p
}

// bound is the claim that has the PersistentVolume, or "": also one that is to have it, of a
// PersistentVolume that is Available until that claim is there. What was released is had by none,
// whatever it still names.
//
// Source: Kubernetes, PersistentVolumePhase, 1.36.
func (p persistent) bound() string {
	switch p.phase {
	case "Released", "Failed":
		return ""
	case "Bound":
		return cmp.Or(p.claim, "a claim")
	}
	return p.claim
}

// boundTo is the claim that has a Volume, by its PersistentVolume or its own status, or "".
func boundTo(facts *inventory.Facts, name string) string {
	if claim := persistentOf(facts, name).bound(); claim != "" {
		return claim
	}
	if live := facts.Object(volumeID(name)); live != nil {
		return live.Node.Str("status", "claim")
	}
	return ""
}

// ready is the condition Ready of a live Volume or VolumeGroup.
type ready struct {
	status, reason, message string
	since                   string
	generation              int64
	count                   int // of conditions of that type
}

func readyOf(o *krm.Object) ready {
	var r ready
	if o == nil {
		return r
	}
	for _, c := range o.Node.Seq("status", "conditions") {
		if c.Str("type") != "Ready" {
			continue
		}
		r.count++
		r.status, r.reason, r.message, r.since = c.Str("status"), c.Str("reason"), c.Str("message"), c.Str("lastTransitionTime")
		r.generation, _ = c.Get("observedGeneration").Int()
	}
	return r
}

// wasMade reports whether a live object is or was Ready, so that what is on its disks is its
// own. A PersistentVolume was made of it then, or it says itself that it was whole.
func wasMade(facts *inventory.Facts, o *krm.Object) bool {
	if o == nil {
		return false
	}
	r := readyOf(o)
	switch {
	case r.status == "True", r.reason == "UnavailableError", r.reason == "DestructionError":
		return true
	case o.Kind == volumeKind:
		pv := persistentOf(facts, o.Name).object
		return pv != nil && pv.Node.Str("spec", "local", "path") != ""
	}
	return false
}

// ownerOf is how marks call an object.
func ownerOf(kind, name string) string { return kind + "/" + name }

// owned is the name of the object of a kind that a mark calls, or "".
func owned(owner, kind string) string {
	name, found := strings.CutPrefix(owner, kind+"/")
	if !found {
		return ""
	}
	return name
}
