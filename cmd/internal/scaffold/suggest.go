package scaffold

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/document"
)

// flatten takes the objects out of the lists and Inventories that they may be in.
func flatten(objects []*krm.Object) []*krm.Object {
	var all []*krm.Object
	for _, o := range objects {
		items := o.Node.Seq("items")
		if items == nil {
			all = append(all, o)
		}
		for i := range items {
			all = append(all, o.Item(&items[i]))
		}
	}
	return all
}

// suggest fills what was not chosen for a spec from what there is. It only
// suggests: whether a disk may be used, the render decides.
func (c *Choices) suggest(facts []*krm.Object) {
	disks := freeDisks(facts, c.Nodes)
	c.diskNamespace = onlyNamespace(disks)
	if len(c.Disks) == 0 {
		c.Disks = largestType(disks)
	}
	disks = slices.DeleteFunc(disks, func(d disk) bool { return !selector.MatchesAny(c.Disks, d.object) })
	if len(disks) > 0 && c.Capacity == "" {
		c.Capacity = below(slices.MinFunc(disks, func(a, b disk) int { return cmp.Compare(a.bytes, b.bytes) }).bytes)
	}
	if len(disks) > 0 && c.RAID == "" {
		c.RAID = "stripe"
		perNode := map[string]int{}
		for _, d := range disks {
			if perNode[d.node]++; perNode[d.node] == 2 {
				c.RAID = "mirror"
			}
		}
	}
	c.node, c.disk = firstDisk(facts)
	if driver, class := onlyClass(facts, c.Driver, c.StorageClass); class != "" {
		c.Driver, c.StorageClass = driver, class
	}
}

// disk is what a suggestion looks at of a BlockDevice.
type disk struct {
	object *krm.Object
	node   string
	kind   string // HDD, SSD
	bytes  int64
}

// freeDisks are the block devices on selected nodes that nobody seems to use.
func freeDisks(facts []*krm.Object, nodes []selector.Term) []disk {
	selected := map[string]bool{}
	for _, o := range facts {
		if o.Kind == "Node" && selector.MatchesAny(nodes, o) {
			selected[o.Name] = true
		}
	}
	var free []disk
	for _, o := range facts {
		if o.Kind != "BlockDevice" || o.Node.Str("status", "state") != "Active" || o.Node.Str("status", "claimState") != "Unclaimed" ||
			o.Node.Str("spec", "filesystem", "fsType") != "" || o.Node.Str("spec", "partitioned") == "Yes" {
			continue
		}
		d := disk{object: o, node: o.Node.Str("spec", "nodeAttributes", "nodeName"), kind: o.Node.Str("spec", "details", "driveType")}
		d.bytes, _ = o.Node.Get("spec", "capacity", "storage").Int()
		if selected[d.node] && d.bytes > 0 {
			free = append(free, d)
		}
	}
	return free
}

// firstDisk is the first node, by name, and the smallest disk of it that its node agent
// calls usable and that is empty, by what it is; nil for none. A node that has one comes
// before one that has none.
func firstDisk(facts []*krm.Object) (node string, identity *document.Node) {
	var names []string
	inventories := map[string]*krm.Object{}
	for _, o := range facts {
		switch o.Kind {
		case "Node":
			names = append(names, o.Name)
		case "NodeInventory":
			inventories[o.Name] = o
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if inventories[name] == nil {
			continue
		}
		if disk := smallestDisk(inventories[name]); disk != nil {
			return name, disk
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return names[0], nil
}

// smallestDisk is the identity of the smallest usable and empty disk of a NodeInventory, nil
// for none.
func smallestDisk(o *krm.Object) *document.Node {
	var best *document.Node
	least := int64(0)
	for _, d := range o.Node.Seq("status", "disks") {
		usable, _ := d.Get("usable").Bool()
		size, _ := d.Get("size").Int()
		wwn, serial := d.Str("wwn"), d.Str("serial")
		taken := d.Str("holder") != "" || d.Str("owner") != "" || len(d.Seq("content"))+len(d.Seq("partitions"))+len(d.Seq("mounts")) > 0
		if !usable || taken || wwn == "" && serial == "" || size <= 0 || best != nil && size >= least {
			continue
		}
		made := document.Object()
		for _, f := range []struct{ key, value string }{{"wwn", wwn}, {"serial", serial}} {
			if f.value != "" {
				made.Set(f.key, document.Text(f.value))
			}
		}
		made.Set("size", document.Int(size))
		best, least = &made, size
	}
	return best
}

func onlyNamespace(disks []disk) string {
	if len(disks) == 0 {
		return ""
	}
	first := disks[0].object.Namespace
	if slices.ContainsFunc(disks, func(d disk) bool { return d.object.Namespace != first }) {
		return ""
	}
	return first
}

// largestType selects the type of drive with the most room, where there are several.
func largestType(disks []disk) []selector.Term {
	room := map[string]int64{}
	for _, d := range disks {
		room[d.kind] += d.bytes
	}
	best := ""
	for kind, bytes := range room {
		if kind != "" && (best == "" || bytes > room[best] || bytes == room[best] && kind < best) {
			best = kind
		}
	}
	if len(room) < 2 || best == "" {
		return nil
	}
	return []selector.Term{{MatchFields: []selector.Requirement{{Key: "spec.details.driveType", Operator: "In", Values: []string{best}}}}}
}

// below is the next lower whole number of TiB or GiB.
func below(bytes int64) string {
	if bytes >= 1<<40 {
		return fmt.Sprintf("%dTi", bytes>>40)
	}
	return fmt.Sprintf("%dGi", max(bytes>>30, 1))
}

// onlyClass is the StorageClass that fits what was chosen, if there is exactly one.
func onlyClass(facts []*krm.Object, driver, class string) (string, string) {
	found := [][2]string{}
	for _, o := range facts {
		provisioner := o.Node.Str("provisioner")
		if o.Kind == "StorageClass" && !strings.HasPrefix(provisioner, "kubernetes.io/") && (driver == "" || driver == provisioner) && (class == "" || class == o.Name) {
			found = append(found, [2]string{provisioner, o.Name})
		}
	}
	if len(found) != 1 {
		return "", ""
	}
	return found[0][0], found[0][1]
}
