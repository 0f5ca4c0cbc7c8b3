package localvolume

import (
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/stock"
	d "github.com/poolwright/poolwright/schema/document"
)

// Make implements system.Maker: the spec of a Volume or a VolumeGroup that a person orders.
func (System) Make(o stock.Order) *krm.Object {
	spec := d.Object()
	set := func(n *d.Node, key, value string) {
		if value != "" {
			n.Set(key, d.Text(value))
		}
	}
	set(&spec, "nodeName", o.Node)
	kind := volumeKind
	if o.Group {
		kind = groupKind
		switch o.Source {
		case stock.Sparse:
			of := d.Object()
			set(&of, "size", o.Size)
			spec.Set(sparseGroup, of)
		case stock.OnVolume:
			of := d.Object()
			set(&of, "name", o.Volume)
			spec.Set(volumeRef, of)
		default:
			disks := d.List()
			for _, id := range o.Devices {
				disks.Add(orderedDisk(id))
			}
			spec.Set(devices, disks)
		}
		return krm.Make(group+"/"+version, kind, "", o.Name, d.F("spec", spec))
	}
	set(&spec, "storageClassName", o.Class)
	if o.Mode != filesystem {
		set(&spec, "mode", o.Mode)
	}
	of := d.Object()
	source := ""
	switch o.Source {
	case stock.LVM:
		source = lvm
		set(&of, "vgName", o.LVM)
	case stock.Sparse:
		source = sparse
	case stock.Partition:
		source = partition
	case stock.RAID:
		source = raid
	default:
		source = raw
	}
	if len(o.Devices) > 0 && source == raid {
		drive := orderedDisk(disk.Identity{WWN: o.Devices[0].WWN, Serial: o.Devices[0].Serial})
		of.Set("drive", drive)
	} else if len(o.Devices) > 0 {
		if n := orderedDisk(o.Devices[0]); n.Get("devicePath") != nil {
			of = n
		} else {
			of.Set("disk", n)
		}
	}
	if source != raw && source != raid {
		set(&of, "size", o.Size)
	}
	spec.Set(source, of)
	if len(o.Labels) > 0 {
		labels := d.Object()
		for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
			labels.Set(key, d.Text(o.Labels[key]))
		}
		spec.Set("template", d.Object(d.F("metadata", d.Object(d.F("labels", labels)))))
	}
	return krm.Make(group+"/"+version, kind, "", o.Name, d.F("spec", spec))
}

// orderedDisk names a disk by what it is, and one that says nothing of that by a link or its path.
func orderedDisk(id disk.Identity) d.Node {
	n := d.Object()
	switch {
	case id.WWN != "" || id.Serial != "":
		if id.WWN != "" {
			n.Set("wwn", d.Text(id.WWN))
		}
		if id.Serial != "" {
			n.Set("serial", d.Text(id.Serial))
		}
	case len(id.Links) > 0:
		n.Set("devicePath", d.Text(id.Links[0]))
	case id.Path != "":
		n.Set("devicePath", d.Text(id.Path))
	}
	return n
}
