package localvolume

import (
	"cmp"
	"fmt"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// The sources of a VolumeGroup, by the names of their fields.
const (
	devices     = "devices"
	sparseGroup = "sparse"
	volumeRef   = "volumeRef"
)

// extentSize is what LVM takes where nothing is written: 4 MiB.
//
// Source: LVM2, --physicalextentsize, vgcreate(8).
const extentSize = 4 << 20

// volumeGroup is a VolumeGroup as a person wrote it, as it is in the cluster, or as the lock remembers it.
type volumeGroup struct {
	object     *krm.Object // nil for the lock
	name, node string
	vg         string // the LVM name
	cascade    bool   // its Volumes that no claim has go with it
	kind       string // the name of the field of its source, "" for none
	source     *document.Node
	disks      []device
	size       amount // of a sparse file
	volume     string // whose device it takes
	extent     amount
	tags       map[string]string
}

// readGroup reads a VolumeGroup.
func readGroup(o *krm.Object) volumeGroup {
	spec := o.Node.Get("spec")
	g := volumeGroup{
		object: o, name: o.Name, node: spec.Str("nodeName"), vg: cmp.Or(spec.Str("name"), o.Name),
		cascade: o.Annotation(annotationCascade) == "true",
		tags:    spec.StrMap("tags"),
	}
	g.readSource(spec, "spec")
	g.readExtent(spec)
	return g
}

// readSource reads the source among the fields of a struct.
func (g *volumeGroup) readSource(n *document.Node, field string) {
	for _, kind := range []string{devices, sparseGroup, volumeRef} {
		of := n.Get(kind)
		if of == nil {
			continue
		}
		g.kind, g.source = kind, of
		switch kind {
		case devices:
			items := n.Seq(devices)
			for i := range items {
				g.disks = append(g.disks, readDevice(&items[i], fmt.Sprintf("%s.%s[%d]", field, devices, i)))
			}
		case sparseGroup:
			g.size = readAmount(of, "size")
		case volumeRef:
			g.volume = of.Str("name")
		}
		return
	}
}

func (g *volumeGroup) readExtent(n *document.Node) {
	if g.extent = readAmount(n, "physicalExtentSize"); g.extent.bytes <= 0 {
		g.extent = amount{"4Mi", extentSize}
	}
}

// holds are the disks that the group holds. That of a Volume is the Volume's.
func (g *volumeGroup) holds() []disk.Hold {
	var holds []disk.Hold
	for _, d := range g.disks {
		if !d.empty() {
			holds = append(holds, d.hold(g.node, roleGroup))
		}
	}
	return holds
}

// id is the identity of the VolumeGroup.
func (g *volumeGroup) id() krm.ID { return groupID(g.name) }
