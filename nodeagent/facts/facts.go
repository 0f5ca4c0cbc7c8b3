// Package facts is what the node is at one moment: its devices, what is on them, and what
// LVM has. Everything that is decided is decided on facts that have just been read.
package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/gpt"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// Facts is the node at one moment. What is on a device, and what LVM has, is read when it is
// first asked for.
type Facts struct {
	Host    host.Host
	Devices *device.Devices

	mu       sync.Mutex
	contents map[string]*content
	marks    map[string]*content
	allMarks sync.Once
	marked   map[string][]*device.Device // by the UUIDs of filesystems and partitions
	lvmOnce  sync.Once
	lvm      *lvm.State
	lvmErr   error
}

// atOnce is how many devices are read at the same time.
const atOnce = 8

// content is what is on a device, once it is read.
type content struct {
	once sync.Once
	probe.Content
	err error
}

// Read reads the devices. An error means that nothing may be concluded.
func Read(h host.Host) (*Facts, error) {
	devices, err := device.Scan(h)
	if err != nil {
		return nil, err
	}
	return &Facts{Host: h, Devices: devices, contents: map[string]*content{}, marks: map[string]*content{}}, nil
}

// medium is a device to be read.
type medium struct {
	Path         string
	Size, Sector int64
}

func reading(name string, probed func(io.ReaderAt, int64, int64) (probe.Content, error)) apart.Job[medium, probe.Content] {
	return apart.Job[medium, probe.Content]{Name: name, Do: func(m medium) (probe.Content, error) {
		file, err := os.OpenFile(m.Path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return probe.Content{}, err
		}
		defer func() { _ = file.Close() }() // it was only read
		return probed(file, m.Size, m.Sector)
	}}
}

func readContent() apart.Job[medium, probe.Content] { return reading("content", probe.Read) }

func readMark() apart.Job[medium, probe.Content] { return reading("mark", probe.ReadMark) }

// Jobs are what this package has done apart.
func Jobs() []apart.Server { return []apart.Server{readContent(), readMark()} }

// Content is what is on a device. An error means that it is not known.
func (f *Facts) Content(d *device.Device) (probe.Content, error) {
	return f.read(d, f.contents, readContent())
}

// Mark is the filesystem, the table and the LVM label of a device, which are found without a look at all of
// its ends: every object asks for those of every device.
func (f *Facts) Mark(d *device.Device) (probe.Content, error) {
	f.mu.Lock()
	c := f.contents[d.Name]
	f.mu.Unlock()
	if c != nil {
		return f.Content(d)
	}
	return f.read(d, f.marks, readMark())
}

func (f *Facts) read(d *device.Device, known map[string]*content, job apart.Job[medium, probe.Content]) (probe.Content, error) {
	if d.Size <= 0 || d.Kind == device.Other {
		return probe.Content{}, fmt.Errorf("%s is no disk, or has no medium", d.Path)
	}
	f.mu.Lock()
	c := known[d.Name]
	if c == nil {
		c = &content{}
		known[d.Name] = c
	}
	f.mu.Unlock()
	c.once.Do(func() {
		if whole := f.Devices.Whole(d); whole != d && f.Host.Apart.Stuck(whole.ID()) {
			c.err = fmt.Errorf("%s: %w", whole.Path, apart.ErrStuck)
			return
		}
		c.Content, c.err = job.Run(f.Host.Apart, d.ID(), medium{f.Host.Path(d.Path), d.Size, d.Sector})
	})
	return c.Content, c.err
}

// AddContent adds what another prober says of a device, or that it could not say.
func (f *Facts) AddContent(d *device.Device, kinds []string, err error) {
	read, was := f.Content(d)
	next := &content{Content: read, err: errors.Join(was, err)}
	next.Kinds = slices.Clone(next.Kinds)
	next.Add(kinds...)
	next.once.Do(func() {}) // it is read
	f.mu.Lock()
	defer f.mu.Unlock()
	f.contents[d.Name] = next
}

// Marked are the devices whose filesystem, or whose partition, has a UUID. Layers of one
// device (the paths of a multipath map) count once.
func (f *Facts) Marked(uuid string) []*device.Device {
	f.readMarks()
	found := slices.Clone(f.marked[uuid])
	return slices.DeleteFunc(found, func(d *device.Device) bool {
		return slices.ContainsFunc(d.Holders, func(holder string) bool {
			h := f.Devices.Named(holder)
			return h != nil && slices.Contains(found, h)
		})
	})
}

// readMarks reads the marks of all devices, some at a time: one that does not answer delays no other.
func (f *Facts) readMarks() {
	f.allMarks.Do(func() {
		var reading sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for _, d := range f.Devices.All {
			slots <- struct{}{}
			reading.Go(func() {
				_, _ = f.Mark(d) // its error is kept
				<-slots
			})
		}
		reading.Wait()
		f.marked = map[string][]*device.Device{}
		for _, d := range f.Devices.All {
			if d.Size <= 0 || d.Kind == device.Other {
				continue
			}
			own := ""
			if c, err := f.Mark(d); err == nil && c.Filesystem != nil {
				own = c.Filesystem.UUID
				f.marked[own] = append(f.marked[own], d)
			}
			if guid := f.PartitionGUID(d); guid != "" && guid != own {
				f.marked[guid] = append(f.marked[guid], d)
			}
		}
	})
}

// PartitionGUID is the GUID of a partition in the table of its disk, or "".
func (f *Facts) PartitionGUID(d *device.Device) string {
	if d.Kind != device.Partition {
		return ""
	}
	c, err := f.Mark(f.Devices.Whole(d))
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

// Labelled are the devices with the label of an LVM physical volume, by their own content: LVM may be configured
// to look at one of them only. Layers of one device count once.
func (f *Facts) Labelled(pv string) []*device.Device {
	return f.outermost(func(d *device.Device) bool {
		c, err := f.Mark(d)
		return err == nil && pv != "" && c.PV == pv
	})
}

// outermost are the devices of which something is so, but for those under another of them.
func (f *Facts) outermost(is func(*device.Device) bool) []*device.Device {
	f.readMarks()
	var found []*device.Device
	for _, d := range f.Devices.All {
		if d.Size > 0 && d.Kind != device.Other && is(d) {
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

// Hidden are the names of devices that LVM must not look at. What is on some is a tenant's: the partitions of
// Volumes, and loop devices over a device, as kubelet puts them over volumes of mode Block. Others do not answer:
// LVM reads every device that it may, and would wait for them.
func (f *Facts) Hidden() lvm.Hidden {
	var hidden lvm.Hidden
	stuck := f.Stuck()
	for _, d := range f.Devices.All {
		if d.Backing != nil && d.Backing.Node != 0 || f.ofVolume(d) || slices.Contains(stuck, d) {
			hidden = append(append(hidden, d.Path), d.Links...)
		}
	}
	return hidden
}

// Stuck are the devices that do not answer, so that nobody knows what is on them.
func (f *Facts) Stuck() []*device.Device {
	f.readMarks()
	var stuck []*device.Device
	for _, d := range f.Devices.All {
		if _, err := f.Mark(d); errors.Is(err, apart.ErrStuck) {
			stuck = append(stuck, d)
		}
	}
	return stuck
}

// ofVolume reports whether a partition was made for a Volume, by the table, which a tenant cannot write.
func (f *Facts) ofVolume(d *device.Device) bool {
	if d.Kind != device.Partition {
		return false
	}
	c, err := f.Mark(f.Devices.Whole(d))
	if err != nil || c.Table == nil {
		return false
	}
	return slices.ContainsFunc(c.Table.Partitions, func(p gpt.Partition) bool {
		return p.Number == d.Number && p.Start == d.Start && (p.GUID == c.Table.GUID || strings.HasPrefix(p.Name, "Volume/"))
	})
}

// LVM is what LVM has. The error wraps host.ErrMissing where there is no LVM.
func (f *Facts) LVM(ctx context.Context) (*lvm.State, error) {
	f.lvmOnce.Do(func() {
		state, err := lvm.Read(ctx, f.Host.Tools, f.Hidden())
		if err != nil {
			f.lvmErr = err
			return
		}
		f.lvm = &state
	})
	return f.lvm, f.lvmErr
}

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
