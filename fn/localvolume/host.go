package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
)

// host is the node of an object, as the facts have it.
type host struct {
	name   string
	facts  *inventory.Facts
	ledger *disk.Ledger
}

// node is nil where the facts have no node of the name.
func (h host) node() *inventory.Node { return h.facts.Node(h.name) }

// missing reports whether the facts list nodes, and not this one.
func (h host) missing() bool { return len(h.facts.Nodes) > 0 && h.node() == nil }

// report is what its NodeInventory says, or nil.
func (h host) report() *report { return reportsOf(h.facts)[h.name] }

// gaveUp reports whether the node still has the data of a UUID, which an object left behind.
func (h host) gaveUp(uuid string) bool {
	r := h.report()
	return uuid != "" && r != nil && r.leftovers[uuid]
}

// resolve lists the disks that are reported under a description: those of the node, and
// foreign ones.
func (h host) resolve(of device) (here, elsewhere []*disk.Disk) {
	for _, there := range h.ledger.Named(of.hold(h.name, "")) {
		switch {
		case there.Missing():
		case h.has(there):
			here = append(here, there)
		default:
			elsewhere = append(elsewhere, there)
		}
	}
	return here, elsewhere
}

// placeOf says for people where a disk is reported: on a node, or on a host that is not known to be one.
func placeOf(ledger *disk.Ledger, there *disk.Disk) string {
	switch node := ledger.NodeOf(there); {
	case node != "":
		return "node " + node
	case there.Node != "":
		return "host " + there.Node + ", whose node is unknown"
	}
	return "an unknown node"
}

func (h host) has(there *disk.Disk) bool {
	if h.ledger.NodeOf(there) == h.name || there.Node == h.name {
		return true
	}
	n := h.node()
	return n != nil && n.Hostname != "" && there.Node == n.Hostname
}

// isDisk reports whether a disk of the node, or a partition of one, is called so.
func (h host) isDisk(name string) bool {
	n := h.node()
	if n == nil {
		return false
	}
	for _, there := range h.ledger.On(n) {
		if there.Path == "/dev/"+name || there.Entry != nil && slices.Contains(there.Entry.Partitions, "/dev/"+name) {
			return true
		}
	}
	return false
}
