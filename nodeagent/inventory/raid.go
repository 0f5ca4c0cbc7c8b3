package inventory

import (
	"context"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/raid"
)

// readControllers are the RAID controllers of the node. One that is not understood is left out: where a
// disk is behind it is for people, and nothing is decided on it.
func readControllers(ctx context.Context, f *facts.Facts) []raid.Controller {
	var all []raid.Controller
	for _, reader := range raid.Readers(f.Host.Tools) {
		if controllers, err := reader.Controllers(ctx); err == nil {
			all = append(all, controllers...)
		}
	}
	return all
}

// behind is where a controller has a disk: the drive that it is, or that alone its virtual drive is
// made of. Of a virtual drive of several drives it is the controller alone.
func behind(controllers []raid.Controller, d *device.Device) *api.InventoryRAID {
	if d.WWN == "" {
		return nil
	}
	for _, c := range controllers {
		for _, drive := range c.Drives {
			over := c.Over(drive)
			switch slot := drive.Slot; {
			case over != nil && over.WWN == d.WWN && len(over.Places) == 1, drive.State == raid.AsJBOD && drive.WWN == d.WWN:
				return &api.InventoryRAID{Controller: c.Index, Enclosure: drive.Enclosure, Slot: &slot}
			case over != nil && over.WWN == d.WWN:
				return &api.InventoryRAID{Controller: c.Index}
			}
		}
	}
	return nil
}
