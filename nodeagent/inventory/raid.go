package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/raid"
)

// answer is what a program says of RAID controllers.
type answer struct {
	by          raid.Reader
	controllers []raid.Controller
	err         error
}

// reason is why something was not understood, in the same words each time: a process has another number.
func reason(by raid.Reader, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, host.ErrDeadline):
		return fmt.Sprintf("%s %v", by.Name(), host.ErrDeadline)
	}
	return err.Error()
}

// readControllers asks every program of the node that knows RAID controllers.
func readControllers(ctx context.Context, f *facts.Facts) []answer {
	var all []answer
	for _, reader := range raid.Readers(f.Host.Tools) {
		controllers, err := reader.Controllers(ctx)
		all = append(all, answer{reader, controllers, err})
	}
	return all
}

// controllersOf are the controllers with all their drives.
func controllersOf(f *facts.Facts, answers []answer, owners Owners) []api.InventoryController {
	all := []api.InventoryController{}
	for _, a := range answers {
		if a.err != nil {
			all = append(all, api.InventoryController{Program: a.by.Name(), Drives: []api.InventoryDrive{}, Reason: reason(a.by, a.err)})
		}
		for _, c := range a.controllers {
			number := c.Index
			controller := api.InventoryController{Program: a.by.Name(), Number: &number, Model: c.Model, Serial: c.Serial, Drives: []api.InventoryDrive{}, Reason: reason(a.by, c.Err)}
			for _, d := range c.Drives {
				controller.Drives = append(controller.Drives, driveOf(f, a.by, c, d, owners))
			}
			all = append(all, controller)
		}
	}
	return all
}

func driveOf(f *facts.Facts, by raid.Reader, c raid.Controller, d raid.Drive, owners Owners) api.InventoryDrive {
	drive := api.InventoryDrive{
		Port: d.Port, Enclosure: d.Enclosure, Slot: d.Slot, WWN: d.WWN, Serial: d.Serial, Model: d.Model, State: string(d.State),
	}
	if over := c.Over(d); over != nil {
		drive.Owner = owners(over.Name)
	}
	for _, disk := range f.Devices.Disks() {
		if drive.Path == "" && c.Shows(d, disk.WWN) {
			drive.Path = disk.Path
		}
	}
	refusals := guard.Drive(c, d)
	if _, err := guard.Adapter(by, c.Index); err != nil {
		drive.Reason = err.Error()
	} else if len(refusals) > 0 {
		drive.Reason = refusals[0].Error()
	}
	drive.Usable = drive.Reason == ""
	return drive
}

// behind is where a controller has a disk: the drive that it is, or that alone its virtual drive is
// made of. Of a virtual drive of several drives it is the controller alone.
func behind(answers []answer, d *device.Device) *api.InventoryRAID {
	if d.WWN == "" {
		return nil
	}
	for _, a := range answers {
		for _, c := range a.controllers {
			for _, drive := range c.Drives {
				over := c.Over(drive)
				switch slot := drive.Slot; {
				case c.Shows(drive, d.WWN):
					return &api.InventoryRAID{Controller: c.Index, Enclosure: drive.Enclosure, Slot: &slot}
				case over != nil && over.WWN == d.WWN:
					return &api.InventoryRAID{Controller: c.Index}
				}
			}
		}
	}
	return nil
}
