// Package inventory is what a NodeInventory says of a node.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/raid"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Owners says whose a mark is, a UUID or the name of a virtual drive, as Kind/name, or "".
type Owners func(mark string) string

// Complete asks wipefs of every disk that nobody uses, besides what was read already. One that does not
// answer is not asked again.
func Complete(ctx context.Context, f *facts.Facts) {
	var asking sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, d := range f.Devices.Disks() {
		if len(d.Holders)+len(d.Mounts) > 0 || d.Swap {
			continue
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			if _, err := f.Content(d); errors.Is(err, apart.ErrStuck) {
				return
			}
			kinds, err := probe.Wipefs(ctx, f.Host.Tools, d.Path)
			f.AddContent(d, kinds, err)
		})
	}
	asking.Wait()
}

// Compose makes the content of a NodeInventory: sorted, and without times.
func Compose(ctx context.Context, f *facts.Facts, owners Owners, left []api.Leftover) api.Inventory {
	inv := api.Inventory{
		Disks: []api.InventoryDisk{}, Groups: []api.InventoryGroup{}, Tools: []api.InventoryTool{},
		Modules: modules(f), HugePages: hugePages(f), BootID: f.Host.BootID(), Leftovers: append([]api.Leftover{}, left...),
	}
	answers := readControllers(ctx, f)
	inv.Controllers = controllersOf(f, answers, owners)
	for _, d := range f.Devices.Disks() {
		disk := diskOf(ctx, f, d, owners)
		disk.RAID = behind(answers, d)
		inv.Disks = append(inv.Disks, disk)
	}
	if state, err := f.LVM(ctx); err == nil {
		for i := range state.Groups {
			inv.Groups = append(inv.Groups, groupOf(&state.Groups[i], owners))
		}
	}
	for _, tool := range f.Host.Tools.List(ctx) {
		inv.Tools = append(inv.Tools, api.InventoryTool(tool))
	}
	slices.SortFunc(inv.Leftovers, func(a, b api.Leftover) int { return strings.Compare(a.Path+a.UUID, b.Path+b.UUID) })
	return inv
}

func diskOf(ctx context.Context, f *facts.Facts, d *device.Device, owners Owners) api.InventoryDisk {
	disk := api.InventoryDisk{
		Path: d.Path, Links: append([]string{}, d.Links...), WWN: d.WWN, Serial: d.Serial, Model: d.Model, Size: d.Size,
		Rotational: d.Rotational, Transport: d.Transport, Content: []string{}, Partitions: []string{}, Mounts: []string{},
	}
	disk.Links = slices.DeleteFunc(disk.Links, func(link string) bool { return !strings.HasPrefix(link, "/dev/disk/") })
	c, err := f.Content(d)
	disk.Content = append(disk.Content, c.Kinds...)
	if err != nil {
		disk.Content = append(disk.Content, "unknown") // none at all would mean that it is empty
	}
	disk.Mounts = append(disk.Mounts, d.Mounts...)
	holders := guard.HolderNames(f.Devices, d)
	for _, p := range f.Devices.Partitions(d) {
		disk.Partitions = append(disk.Partitions, p.Path)
		disk.Mounts = append(disk.Mounts, p.Mounts...)
		holders = append(holders, guard.HolderNames(f.Devices, p)...)
	}
	slices.Sort(disk.Mounts)
	disk.Mounts = slices.Compact(disk.Mounts)
	disk.Owner = ownerOf(ctx, f, d, c, owners)
	group := f.Group(ctx, d)
	switch {
	case group != nil:
		disk.Holder = group.Name
	case len(holders) > 0:
		slices.Sort(holders)
		disk.Holder = strings.Join(slices.Compact(holders), ", ")
	case disk.Owner != "":
		disk.Holder = disk.Owner
	}
	refusals := guard.Fresh(f, d)
	if disk.Usable = len(refusals) == 0; !disk.Usable {
		disk.Reason = refusals[0].Error()
	}
	return disk
}

// ownerOf is the object whose mark is on a disk, on one of its partitions, or on the group
// that has it.
func ownerOf(ctx context.Context, f *facts.Facts, d *device.Device, c probe.Content, owners Owners) string {
	var marks []string
	if c.Filesystem != nil {
		marks = append(marks, c.Filesystem.UUID)
	}
	if c.Table != nil {
		marks = append(marks, c.Table.GUID)
		for _, p := range c.Table.Partitions {
			marks = append(marks, p.GUID)
		}
	}
	if g := f.Group(ctx, d); g != nil {
		marks = append(marks, mark.FromTags(g.Tags))
	}
	for _, m := range marks {
		if owner := owners(m); owner != "" && m != "" {
			return owner
		}
	}
	return ""
}

func groupOf(g *lvm.Group, owners Owners) api.InventoryGroup {
	group := api.InventoryGroup{
		Name: g.Name, UUID: g.UUID, Size: g.Size, Free: g.Free, ExtentSize: g.ExtentSize,
		Devices: []string{}, Missing: append([]string{}, g.MissingPVs...), Volumes: []api.InventoryVolume{},
		Owner: owners(mark.FromTags(g.Tags)),
	}
	for _, pv := range g.PVs {
		if strings.HasPrefix(pv.Path, "/dev/") {
			group.Devices = append(group.Devices, pv.Path)
		}
	}
	for _, lv := range g.LVs {
		group.Volumes = append(group.Volumes, api.InventoryVolume{Name: lv.Name, Size: lv.Size, Owner: owners(mark.FromTags(lv.Tags))})
	}
	slices.Sort(group.Missing)
	return group
}

// modules are the loaded kernel modules that storage asks for.
func modules(f *facts.Facts) []string {
	loaded := []string{}
	for _, name := range []string{"dm_crypt", "dm_mod", "dm_multipath", "dm_snapshot", "dm_thin_pool", "iscsi_tcp", "nvme_tcp", "raid1", "rbd", "zfs"} {
		// What is built in has a folder only where it has parameters, as nvme_tcp has not:
		// the list of loaded modules is all there is.
		if _, err := os.Stat(f.Host.Path(filepath.Join("/sys/module", name))); err == nil {
			loaded = append(loaded, name)
		}
	}
	return loaded
}

func hugePages(f *facts.Facts) map[string]int64 {
	pages := map[string]int64{}
	folders, _ := filepath.Glob(f.Host.Path("/sys/kernel/mm/hugepages/hugepages-*kB"))
	for _, folder := range folders {
		text := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(folder), "hugepages-"), "kB")
		kilo, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, "nr_hugepages"))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err == nil && n > 0 {
			pages[quantity.Size(kilo<<10)] = n * kilo << 10
		}
	}
	return pages
}

// Summary is one line of a disk for people.
func Summary(d api.InventoryDisk) string {
	state := "usable"
	if !d.Usable {
		state = d.Reason
	}
	return fmt.Sprintf("%-14s %10s  %s", d.Path, quantity.Size(d.Size), state)
}

// Drives are lines of a RAID controller for people: one a drive that is no disk above, or why nothing is
// known of it.
func Drives(c api.InventoryController) []string {
	if c.Reason != "" {
		return []string{"RAID controllers: " + c.Reason}
	}
	var lines []string
	for _, d := range c.Drives {
		if d.Path != "" {
			continue
		}
		name := fmt.Sprintf("controller %d, drive %s (serial %s)", *c.Number, place(d), d.Serial)
		state := "usable for raidDAS"
		if !d.Usable {
			state = d.Reason
		}
		lines = append(lines, name+"  "+state)
	}
	return lines
}

func place(d api.InventoryDrive) string {
	return raid.Drive{Port: d.Port, Enclosure: d.Enclosure, Slot: d.Slot}.Place()
}
