// Package facts is what the node is at one moment: its devices, what is on them, and what
// LVM has. Everything that is decided is decided on facts that are read anew.
package facts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// Facts is the node at one moment.
type Facts struct {
	Host    host.Host
	Devices *device.Devices
	// LVM is nil where LVMError is not.
	LVM      *lvm.State
	LVMError error

	contents map[string]content
}

type content struct {
	probe.Content
	err error
}

// Read reads the devices, what is on each, and LVM. A device that cannot be read, or an LVM
// that does not answer, is a fact as well.
func Read(ctx context.Context, h host.Host) (*Facts, error) {
	devices, err := device.Scan(h)
	if err != nil {
		return nil, err
	}
	f := &Facts{Host: h, Devices: devices, contents: map[string]content{}}
	for _, d := range devices.All {
		if d.Size > 0 && d.Kind != device.Other && (d.Kind != device.Loop || d.Backing != nil) {
			c, err := read(h, d)
			f.contents[d.Name] = content{c, err}
		}
	}
	state, err := lvm.Read(ctx, h.Tools)
	if err != nil {
		f.LVMError = err
	} else {
		f.LVM = &state
	}
	return f, nil
}

func read(h host.Host, d *device.Device) (probe.Content, error) {
	file, err := os.OpenFile(h.Path(d.Path), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return probe.Content{}, err
	}
	defer file.Close()
	return probe.Read(file, d.Size, d.Sector)
}

// Content is what is on a device. An error means that it is not known.
func (f *Facts) Content(d *device.Device) (probe.Content, error) {
	c, found := f.contents[d.Name]
	if !found {
		return probe.Content{}, fmt.Errorf("%s was not read", d.Path)
	}
	return c.Content, c.err
}

// AddContent adds what another prober says of a device, or that it could not say.
func (f *Facts) AddContent(d *device.Device, kinds []string, err error) {
	c := f.contents[d.Name]
	c.Add(kinds...)
	c.err = errors.Join(c.err, err)
	f.contents[d.Name] = c
}

// Marked are the devices whose filesystem, or whose partition, has a UUID. Layers of one
// device (the paths of a multipath map) count once.
func (f *Facts) Marked(uuid string) []*device.Device {
	var found []*device.Device
	for _, d := range f.Devices.All {
		c, err := f.Content(d)
		if err == nil && c.Filesystem != nil && c.Filesystem.UUID == uuid || f.PartitionGUID(d) == uuid && uuid != "" {
			found = append(found, d)
		}
	}
	return slices.DeleteFunc(found, func(d *device.Device) bool {
		return slices.ContainsFunc(d.Holders, func(holder string) bool {
			h := f.Devices.Named(holder)
			return h != nil && slices.Contains(found, h)
		})
	})
}

// PartitionGUID is the GUID of a partition in the table of its disk, or "".
func (f *Facts) PartitionGUID(d *device.Device) string {
	if d.Kind != device.Partition {
		return ""
	}
	c, err := f.Content(f.Devices.Whole(d))
	if err != nil || c.Table == nil {
		return ""
	}
	for _, p := range c.Table.Partitions {
		if p.Number == d.Number && p.Start == d.Start {
			return p.GUID
		}
	}
	return ""
}

// Groups are LVM's groups, or an error where LVM is not known to have none.
func (f *Facts) Groups() (*lvm.State, error) {
	if f.LVM == nil {
		return nil, f.LVMError
	}
	return f.LVM, nil
}

// Group is the LVM group on a device or one of its partitions, or nil.
func (f *Facts) Group(d *device.Device) *lvm.Group {
	if f.LVM == nil {
		return nil
	}
	paths := append([]string{d.Path}, d.Links...)
	for _, p := range f.Devices.Partitions(d) {
		paths = append(append(paths, p.Path), p.Links...)
	}
	return f.LVM.Of(paths...)
}
