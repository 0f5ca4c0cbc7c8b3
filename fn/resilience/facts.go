package resilience

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Apply makes the facts that a snapshot has after an edit. Objects that do not change are shared. added are the names of nodes that
// are new.
//
// What is lost leaves its reports behind, as in a cluster: a Node goes, and its BlockDevices are Inactive.
//
// Source: node-disk-manager, pkg/ndm-node (a BlockDevice is Inactive once its disk is gone), 2.1.0; Kubernetes, node controller (condition Ready), 1.36.
func (e *Edit) Apply(objects []*krm.Object) (facts []*krm.Object, added []string) {
	switch {
	case e.Verb == Add && e.kind == "node":
		return e.addNodes(objects)
	case e.Verb == Add:
		return e.addDisks(objects), nil
	case e.Verb != Lose && e.Verb != Stop:
		return objects, nil
	}
	facts = make([]*krm.Object, 0, len(objects))
	for _, o := range objects {
		if changed := e.strike(o); changed != nil {
			facts = append(facts, changed)
		}
	}
	return facts, nil
}

// isOf reports whether one of the nodes of the edit has a name or a hostname label.
func (e *Edit) isOf(name string) bool {
	return name != "" && slices.ContainsFunc(e.nodes, func(n *inventory.Node) bool { return n.Name == name || n.Hostname == name })
}

// strike is an object after what is lost or stopped; nil if it is gone.
func (e *Edit) strike(o *krm.Object) *krm.Object {
	switch o.GroupKind() {
	case krm.GroupKind{Kind: "Node"}:
		switch {
		case !e.isOf(o.Name):
			return o
		case e.Verb == Lose:
			return nil
		}
		return o.Edited(func(n *document.Node) {
			krm.SetPath(n, document.List(document.Object(
				document.F("type", document.Text("Ready")), document.F("status", document.Text("Unknown")), document.F("reason", document.Text("NodeStatusUnknown")),
			)), "status", "conditions")
		})
	case inventory.NodeInventoryKind():
		if e.Verb == Lose && e.isOf(o.Name) {
			return nil
		}
		return e.strikeEntries(o)
	case inventory.DeviceKind():
		isLost := slices.ContainsFunc(e.disks, func(d *disk.Disk) bool {
			return d.Device != nil && d.Device.Namespace == o.Namespace && d.Device.Name == o.Name
		})
		if e.Verb == Lose && (isLost || e.isOf(o.Label(inventory.LabelHostname))) {
			return o.Edited(func(n *document.Node) { krm.SetPath(n, document.Text("Inactive"), "status", "state") })
		}
	}
	return o
}

// strikeEntries takes the lost disks out of a NodeInventory.
func (e *Edit) strikeEntries(o *krm.Object) *krm.Object {
	var paths []string
	for _, d := range e.disks {
		if d.Entry != nil && d.Entry.Object.Name == o.Name {
			paths = append(paths, d.Entry.Identity.Path)
		}
	}
	if e.Verb != Lose || len(paths) == 0 {
		return o
	}
	return o.Edited(func(n *document.Node) {
		left := slices.DeleteFunc(slices.Clone(n.Seq("status", "disks")), func(d document.Node) bool { return slices.Contains(paths, d.Str("path")) })
		krm.SetPath(n, document.List(left...), "status", "disks")
	})
}

// addedName is what is new is called, after what it is like.
func addedName(like string, number int) string { return fmt.Sprintf("%s-added-%d", like, number) }

// addNodes adds nodes with the labels and the disks of another one; the disks are empty.
func (e *Edit) addNodes(objects []*krm.Object) (facts []*krm.Object, added []string) {
	like := e.nodes[0]
	facts = slices.Clone(objects)
	for number := 1; len(added) < e.count; number++ {
		name := addedName(like.Name, number)
		if slices.ContainsFunc(objects, func(o *krm.Object) bool { return o.GroupKind() == krm.GroupKind{Kind: "Node"} && o.Name == name }) {
			continue
		}
		added = append(added, name)
		for _, o := range objects {
			switch o.GroupKind() {
			case krm.GroupKind{Kind: "Node"}:
				if o.Name == like.Name {
					facts = append(facts, newNode(o, name))
				}
			case inventory.NodeInventoryKind():
				if o.Name == like.Name {
					facts = append(facts, newReport(o, name, number))
				}
			case inventory.DeviceKind():
				if o.Label(inventory.LabelHostname) == like.Hostname {
					facts = append(facts, newDevice(o, name, number))
				}
			}
		}
	}
	return facts, added
}

// addDisks adds disks like another one to a node; they are empty.
func (e *Edit) addDisks(objects []*krm.Object) []*krm.Object {
	node, like := e.nodes[0], e.disks[0]
	facts := slices.Clone(objects)
	if like.Device != nil {
		for number, made := 1, 0; made < e.count; number++ {
			name := addedName(like.Device.Name, number)
			if slices.ContainsFunc(objects, func(o *krm.Object) bool { return o.GroupKind() == inventory.DeviceKind() && o.Name == name }) {
				continue
			}
			made++
			o := newDevice(like.Device.Object, node.Name, number)
			o = o.Edited(func(n *document.Node) {
				krm.SetPath(n, document.Text(node.Hostname), "metadata", "labels", inventory.LabelHostname)
				krm.SetPath(n, document.Text(addedName("/dev/disk", number)), "spec", "path")
			})
			facts = append(facts, o)
		}
	}
	if like.Entry == nil {
		return facts
	}
	var entry document.Node
	for _, d := range like.Entry.Object.Node.Seq("status", "disks") {
		if d.Str("path") == like.Entry.Identity.Path {
			entry = d
		}
	}
	for i, o := range facts {
		if o.GroupKind() == inventory.NodeInventoryKind() && o.Name == node.Name {
			facts[i] = o.Edited(func(n *document.Node) {
				disks := slices.Clone(n.Seq("status", "disks"))
				for number := 1; number <= e.count; number++ {
					one := newEntry(&entry, number)
					one.Set("path", document.Text(addedName("/dev/disk", number)))
					disks = append(disks, one)
				}
				krm.SetPath(n, document.List(disks...), "status", "disks")
			})
		}
	}
	return facts
}

// newNode is a Node like another one, ready.
func newNode(like *krm.Object, name string) *krm.Object {
	return like.Edited(func(n *document.Node) {
		krm.SetPath(n, document.Text(name), "metadata", "name")
		krm.SetPath(n, document.Text(name), "metadata", "uid")
		krm.SetPath(n, document.Text(name), "metadata", "labels", inventory.LabelHostname)
		n.Get("spec").Delete("unschedulable")
		n.Get("spec").Delete("taints")
		krm.SetPath(n, document.List(document.Object(document.F("type", document.Text("Ready")), document.F("status", document.Text("True")))), "status", "conditions")
	})
}

// newDevice is a BlockDevice like another one on a node. What is mounted stays so: it is a disk of the system.
func newDevice(like *krm.Object, node string, number int) *krm.Object {
	return like.Edited(func(n *document.Node) {
		krm.SetPath(n, document.Text(addedName(like.Name, number)), "metadata", "name")
		krm.SetPath(n, document.Text(addedName(like.Name, number)), "metadata", "uid")
		krm.SetPath(n, document.Text(node), "metadata", "labels", inventory.LabelHostname)
		krm.SetPath(n, document.Text(node), "spec", "nodeAttributes", "nodeName")
		link := "/dev/disk/by-id/" + addedName("scsi-"+like.Name, number)
		krm.SetPath(n, document.List(document.Object(document.F("kind", document.Text("by-id")), document.F("links", document.List(document.Text(link))))), "spec", "devlinks")
		spec := n.Get("spec")
		spec.Delete("claimRef")
		if spec.Str("filesystem", "mountPoint") == "" {
			spec.Delete("filesystem")
		}
		serial := spec.Str("details", "serial")
		if serial == "" {
			serial = like.Name
		}
		krm.SetPath(n, document.Text(addedName(serial, number)), "spec", "details", "serial")
		krm.SetPath(n, document.Text("Unclaimed"), "status", "claimState")
		krm.SetPath(n, document.Text("Active"), "status", "state")
	})
}

// newReport is a NodeInventory with disks like those of another one.
func newReport(like *krm.Object, node string, number int) *krm.Object {
	return like.Edited(func(n *document.Node) {
		krm.SetPath(n, document.Text(node), "metadata", "name")
		var disks []document.Node
		items := n.Seq("status", "disks")
		for i := range items {
			disks = append(disks, newEntry(&items[i], number))
		}
		krm.SetPath(n, document.Object(document.F("disks", document.List(disks...))), "status")
	})
}

// newEntry is an entry of a NodeInventory like another one, empty unless that is mounted.
func newEntry(like *document.Node, number int) document.Node {
	n := like.Copy()
	name := n.Str("serial")
	if name == "" {
		name = strings.ReplaceAll(strings.TrimPrefix(n.Str("path"), "/dev/"), "/", "-")
	}
	n.Delete("wwn")
	n.Set("serial", document.Text(addedName(name, number)))
	n.Set("links", document.List(document.Text("/dev/disk/by-id/"+addedName("scsi-"+name, number))))
	if len(n.Seq("mounts")) > 0 {
		return n
	}
	for _, field := range []string{"content", "partitions", "holder", "owner", "reason"} {
		n.Delete(field)
	}
	n.Set("usable", document.Bool(true))
	return n
}
