package localvolume

import (
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// checkSelectors looks for selectors that select nothing of the inventory. Objects without a disk need none.
func (t *template) checkSelectors() {
	spec := &t.cfg.Spec
	t.noNode = !t.SelectsNodes(t.Facts, spec.NodeSelector.NodeSelectorTerms, "spec.nodeSelector.nodeSelectorTerms")
	if t.cfg.disksEach() > 0 {
		t.noDisk = !t.Selects(spec.DiskSelector.SelectorTerms, system.ObjectsOf(t.Disks.Disks(), selectable), "disk", "spec.diskSelector.selectorTerms")
	}
}

// selectsDisk holds a disk against the selector.
func (c *templateConfig) selectsDisk(there *disk.Disk) bool {
	terms := c.Spec.DiskSelector.SelectorTerms
	return len(terms) == 0 || selector.MatchesAny(terms, selectable(there))
}

// selectable is a disk as selectors look at it: as its BlockDevice, with what a NodeInventory
// says of it beside that, under the names that it has there.
//
// Source: node-disk-manager, BlockDevice (spec.details), 2.1.0.
func selectable(there *disk.Disk) *krm.Object {
	o := *there.Report()
	node := o.Node.Copy()
	known := there.Known()
	set := func(key, value string) {
		if value != "" {
			node.Set(key, document.Text(value))
		}
	}
	set("path", there.Path)
	set("wwn", known.WWN)
	set("serial", known.Serial)
	if size := there.Size(); size > 0 {
		set("size", strconv.FormatInt(size, 10))
	}
	if entry := there.Entry; entry != nil {
		set("path", entry.Identity.Path)
		set("model", entry.Model)
		set("transport", entry.Transport)
		set("rotational", strconv.FormatBool(entry.Rotational))
		if entry.RAID != nil {
			node.Set("raid", document.Object(document.F("controller", document.Int(entry.RAID.Controller))))
		}
	} else {
		set("model", o.Node.Str("spec", "details", "model"))
		switch o.Node.Str("spec", "details", "driveType") {
		case "HDD":
			set("rotational", "true")
		case "SSD":
			set("rotational", "false")
		}
	}
	o.Node = &node
	return &o
}

// normalize writes the values of terms as disks are reported: sizes in bytes, and WWNs without
// what does not matter in them.
func normalize(terms []selector.Term) {
	for _, term := range terms {
		for i, r := range term.MatchFields {
			values := slices.Clone(r.Values)
			for at, value := range values {
				switch r.Key {
				case "wwn":
					values[at] = disk.WWN(value)
				case "size":
					if q, err := quantity.Parse(value); err == nil {
						values[at] = strconv.FormatInt(q.Value(), 10)
					}
				}
			}
			term.MatchFields[i].Values = values
		}
	}
}
