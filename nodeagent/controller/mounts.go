package controller

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
)

// mountTable counts the mounts that can concern an object, as last read. One device can be mounted twice at one place.
// It is nil if it could not be read.
type mountTable map[device.Mount]int

// readMounts reads the mounts that can concern an object: of block devices, and over or below the agent's folders.
func (c *Controller) readMounts() (mountTable, error) {
	lines, err := device.ReadMounts(c.Engine.Host)
	if err != nil {
		return nil, err
	}
	table := mountTable{}
	for _, m := range lines {
		if m.OnDevice() || c.showsFiles(m) {
			table[m]++
		}
	}
	return table, nil
}

// showsFiles reports whether a mount can show or hide sparse files.
func (c *Controller) showsFiles(m device.Mount) bool {
	return slices.ContainsFunc([]string{c.Engine.Folder, "/var/lib/metalk8s"}, func(folder string) bool {
		return within(folder, m.Point) || within(m.Point, folder)
	})
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// changes returns the mounts whose count differs in another table.
func (t mountTable) changes(other mountTable) []device.Mount {
	var changed []device.Mount
	for m := range maps.Keys(t) {
		if t[m] != other[m] {
			changed = append(changed, m)
		}
	}
	for m := range other {
		if _, has := t[m]; !has {
			changed = append(changed, m)
		}
	}
	return changed
}

// everything queues all objects, and reads the mounts again.
func (c *Controller) everything() {
	c.mounts, _ = c.readMounts() // each reconciliation reads them too, and reports the error
	c.all()
}

// mounted queues what a change of the mounts concerns: objects that are not settled and may be on one of the devices, and
// the NodeInventory if it lists the mount. A settled Volume is not queued: a mount changes nothing for an object on which
// nothing is to be written. If the devices are not known, everything is queued.
func (c *Controller) mounted() {
	before := c.mounts
	now, err := c.readMounts()
	if err != nil || before == nil {
		c.everything()
		return
	}
	c.mounts = now
	changed := now.changes(before)
	if len(changed) == 0 {
		return
	}
	kin, err := device.KinOf(c.Engine.Host, changed)
	if err != nil || slices.ContainsFunc(changed, c.showsFiles) {
		c.all()
		return
	}
	if len(kin.Names) == 0 {
		return
	}
	keys := c.unsettled(kin)
	if kin.OnDisk || slices.ContainsFunc(changed, device.Mount.System) {
		keys = append(keys, inventoryKey)
	}
	if len(keys) > 0 {
		c.Engine.Forget()
	}
	for _, key := range keys {
		c.queue.Add(key)
	}
}

// unsettled returns the objects that are not settled, except those known to be on other devices.
func (c *Controller) unsettled(kin device.Kin) []string {
	var keys []string
	for _, g := range c.groups.All() {
		if g.Spec.NodeName == c.Node && !settled(g.ObjectMeta, g.Status.Phase, g.Status.Conditions) {
			keys = append(keys, api.KindVolumeGroup+"/"+g.Name)
		}
	}
	for _, v := range c.volumes.All() {
		if v.Spec.NodeName == c.Node && !settled(v.ObjectMeta, v.Status.Phase, v.Status.Conditions) && c.mayBeOn(v, kin) {
			keys = append(keys, api.KindVolume+"/"+v.Name)
		}
	}
	return keys
}

// settled reports whether an object is Available at its generation, with no remark in its condition.
func settled(o metav1.ObjectMeta, phase api.Phase, conditions []api.Condition) bool {
	return o.DeletionTimestamp == nil && phase == api.PhaseAvailable && slices.ContainsFunc(conditions, func(c api.Condition) bool {
		return c.Type == "Ready" && c.Message == "" && c.ObservedGeneration == o.Generation
	})
}

// mayBeOn reports whether a Volume may be on one of the devices.
func (c *Controller) mayBeOn(v *api.Volume, kin device.Kin) bool {
	if v.Status.Phase == api.PhaseAvailable { // otherwise the name may predate a boot
		return kin.Names[v.Status.DeviceName]
	}
	declared := func(path string, disk *api.DiskID) bool {
		if path != "" && kin.Names[device.ReadLink(c.Engine.Host, path)] || kin.Names[filepath.Base(path)] {
			return true
		}
		return disk != nil && slices.ContainsFunc(kin.Disks, func(d *device.Device) bool { return disk.Identity().Matches(d) == nil })
	}
	switch spec := v.Spec; {
	case spec.Sparse != nil:
		return slices.ContainsFunc(slices.Collect(maps.Keys(kin.Names)), func(name string) bool { return strings.HasPrefix(name, "loop") })
	case spec.Raw != nil:
		return declared(spec.Raw.DevicePath, spec.Raw.Disk)
	case spec.Partition != nil:
		return declared(spec.Partition.DevicePath, spec.Partition.Disk)
	}
	return true
}
