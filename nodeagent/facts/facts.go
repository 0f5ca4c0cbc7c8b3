// Package facts is what the node is at one moment: its devices, what is on them, and what
// LVM has. Everything that is decided is decided on facts that are read anew.
package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// Facts is the node at one moment. What is on a device, and what LVM has, is read when it is
// first asked for.
type Facts struct {
	Host    host.Host
	Devices *device.Devices

	contents map[string]content
	marks    map[string]content
	report   *Report
	lvmOnce  sync.Once
	lvm      *lvm.State
	lvmErr   error
	shared   bool
}

type content struct {
	probe.Content
	err error
}

// Read reads the devices. An error means that nothing may be concluded.
func Read(h host.Host) (*Facts, error) {
	devices, err := device.Scan(h)
	if err != nil {
		return nil, err
	}
	return &Facts{Host: h, Devices: devices, contents: map[string]content{}, marks: map[string]content{}}, nil
}

// Content is what is on a device. An error means that it is not known.
func (f *Facts) Content(d *device.Device) (probe.Content, error) {
	return f.read(d, f.contents, probe.Read)
}

// mark is the filesystem and the table of a device, which are found without a look at all of
// its ends: every object asks for those of every device.
func (f *Facts) mark(d *device.Device) (probe.Content, error) {
	if c, found := f.contents[d.Name]; found {
		return c.Content, c.err
	}
	return f.read(d, f.marks, probe.ReadMark)
}

func (f *Facts) read(d *device.Device, known map[string]content, probed func(io.ReaderAt, int64, int64) (probe.Content, error)) (probe.Content, error) {
	if c, found := known[d.Name]; found {
		return c.Content, c.err
	}
	if d.Size <= 0 || d.Kind == device.Other {
		return probe.Content{}, fmt.Errorf("%s is no disk, or has no medium", d.Path)
	}
	var c content
	file, err := os.OpenFile(f.Host.Path(d.Path), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		c.err = err
	} else {
		c.Content, c.err = probed(file, d.Size, d.Sector)
		_ = file.Close() // it was only read
	}
	known[d.Name] = c
	return c.Content, c.err
}

// AddContent adds what another prober says of a device, or that it could not say.
func (f *Facts) AddContent(d *device.Device, kinds []string, err error) {
	_, _ = f.Content(d) // its error is kept
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
		if d.Size <= 0 || d.Kind == device.Other {
			continue
		}
		c, err := f.mark(d)
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
	c, err := f.mark(f.Devices.Whole(d))
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

// LVM is what LVM has. The error wraps host.ErrMissing where there is no LVM.
func (f *Facts) LVM(ctx context.Context) (*lvm.State, error) {
	f.lvmOnce.Do(func() {
		turn := 0
		if f.report != nil {
			if f.lvm, turn = f.report.last(); f.lvm != nil {
				f.shared = true
				return
			}
		}
		state, err := lvm.Read(ctx, f.Host.Tools)
		if err != nil {
			f.lvmErr = err
			return
		}
		f.lvm = &state
		if f.report != nil {
			f.report.keep(f.lvm, turn)
		}
	})
	return f.lvm, f.lvmErr
}

// Share makes the facts take what LVM said last, and keep there what it says now.
func (f *Facts) Share(r *Report) { f.report = r }

// Shared reports whether what these facts have of LVM was read for others.
func (f *Facts) Shared() bool { return f.shared }

// Group is the LVM group on a device or one of its partitions, or nil.
func (f *Facts) Group(ctx context.Context, d *device.Device) *lvm.Group {
	state, err := f.LVM(ctx)
	if err != nil {
		return nil
	}
	paths := append([]string{d.Path}, d.Links...)
	for _, p := range f.Devices.Partitions(d) {
		paths = append(append(paths, p.Path), p.Links...)
	}
	return state.Of(paths...)
}
