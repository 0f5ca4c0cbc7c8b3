package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// GroupRequest is a VolumeGroup with what else is needed to make it.
type GroupRequest struct {
	Group *api.VolumeGroup
	// Ref is the Volume of spec.volumeRef, or nil.
	Ref *api.Volume
}

// GroupResult is what a VolumeGroup has come to.
type GroupResult struct {
	Steps []step.Step
	Group *lvm.Group // nil until it is there
}

// ApplyGroup carries out steps until none remains.
func (e *Engine) ApplyGroup(ctx context.Context, r GroupRequest) (GroupResult, error) {
	var last GroupResult
	_, err := e.loop(ctx, object(api.KindVolumeGroup, r.Group.Name), func(j *job) (Result, error) {
		var err error
		last, err = j.volumeGroup(r).plan(ctx)
		return Result{Steps: last.Steps}, err
	})
	return last, err
}

// PlanGroup is what ApplyGroup would do, as far as it can be known now.
func (e *Engine) PlanGroup(ctx context.Context, r GroupRequest) (GroupResult, error) {
	j, err := e.begin(object(api.KindVolumeGroup, r.Group.Name))
	if err != nil {
		return GroupResult{}, err
	}
	return j.volumeGroup(r).plan(ctx)
}

// RemoveGroup removes a group that has no logical volumes, whoever's they are.
func (e *Engine) RemoveGroup(ctx context.Context, r GroupRequest) error {
	name := object(api.KindVolumeGroup, r.Group.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) {
		steps, err := j.volumeGroup(r).remove(ctx)
		return Result{Steps: steps}, err
	}); err != nil {
		return err
	}
	return e.Runner.Journal.Remove(name)
}

// volumeGroup is a VolumeGroup as one look at the machine has it.
type volumeGroup struct {
	*job
	request GroupRequest
	uuid    string // its mark
}

func (j *job) volumeGroup(r GroupRequest) volumeGroup {
	return volumeGroup{job: j, request: r, uuid: j.Cluster.Of(api.KindVolumeGroup, r.Group.Name, j.Node)}
}

func (v volumeGroup) plan(ctx context.Context) (GroupResult, error) {
	steps, devices, err := v.devices(ctx)
	if err != nil || len(steps) > 0 {
		return GroupResult{Steps: steps}, err
	}
	g, err := v.ours(ctx)
	if err != nil {
		return GroupResult{}, err
	}
	if g == nil {
		if v.entry.Made {
			return GroupResult{}, guard.Refuse(guard.RuleNotFound, "the volume group %s is gone: it is not made anew; restore it, or delete the VolumeGroup", v.name())
		}
		s, err := v.create(devices)
		return GroupResult{Steps: []step.Step{s}}, err
	}
	result := GroupResult{Group: g, Steps: v.extend(g, devices)}
	if args := tagChanges(g.Tags, v.tags()); len(args) > 0 {
		result.Steps = append(result.Steps, v.change("change-tags", g, nil, func(now *lvm.Group) bool {
			return now != nil && len(tagChanges(now.Tags, v.tags())) == 0
		}, append(append([]string{"vgchange"}, args...), g.Name)...))
	}
	if len(result.Steps) == 0 && !v.entry.Made && v.lock != nil {
		entry := v.entry
		entry.Object, entry.UUID, entry.Made = v.object, v.uuid, true
		return result, v.Runner.Journal.Write(entry)
	}
	return result, nil
}

// extend plans the devices that are not in the group yet, and those that have grown.
func (v volumeGroup) extend(g *lvm.Group, devices []*device.Device) []step.Step {
	var steps []step.Step
	for _, d := range devices {
		at := slices.IndexFunc(g.PVs, func(pv lvm.PV) bool { return pv.Path == d.Path || slices.Contains(d.Links, pv.Path) })
		switch {
		case at < 0:
			steps = append(steps, v.change("extend-group", g, []*device.Device{d}, func(now *lvm.Group) bool {
				return now != nil && slices.ContainsFunc(now.PVs, func(pv lvm.PV) bool { return pv.Path == d.Path })
			}, "vgextend", g.Name, d.Path))
		// A file that was grown: LVM has its old size.
		case d.Kind == device.Loop && g.PVs[at].Size+2*max(g.ExtentSize, 1<<20) < d.Size:
			steps = append(steps, v.change("grow-physical-volume", g, nil, func(now *lvm.Group) bool { return now != nil && now.Size > g.Size }, "pvresize", d.Path))
		}
	}
	return steps
}

// devices finds the devices of a group, or plans the one that has to be made.
func (v volumeGroup) devices(ctx context.Context) ([]step.Step, []*device.Device, error) {
	switch spec := v.request.Group.Spec; {
	case spec.Sparse != nil:
		size, err := bytesOf(spec.Sparse.Size)
		if err != nil {
			return nil, nil, err
		}
		steps, loop, err := v.sparse([]string{v.uuid}).plan(size)
		if loop == nil {
			return steps, nil, err
		}
		return nil, []*device.Device{loop}, err
	case spec.VolumeRef != nil:
		d, err := v.referred(ctx)
		if err != nil {
			return nil, nil, err
		}
		return nil, []*device.Device{d}, nil
	case len(spec.Devices) == 0:
		return nil, nil, guard.Refuse(guard.RuleSource, "the group has no source")
	}
	var devices []*device.Device
	for _, want := range v.request.Group.Spec.Devices {
		if !want.Identity().Known() && want.DevicePath == "" {
			return nil, nil, guard.Refuse(guard.RuleIdentity, "a device of the group has neither wwn, serial nor devicePath")
		}
		d, err := v.disk(want)
		if err != nil {
			return nil, nil, err
		}
		devices = append(devices, d)
	}
	return nil, devices, nil
}

// referred is the device of the Volume that the group takes.
func (v volumeGroup) referred(ctx context.Context) (*device.Device, error) {
	ref := v.request.Ref
	if ref == nil {
		return nil, guard.Refuse(guard.RuleNotFound, "there is no Volume %s on this node", v.request.Group.Spec.VolumeRef.Name)
	}
	// Its own journal tells the Volume's disk.
	entry, err := v.Runner.Journal.Read(object(api.KindVolume, ref.Name))
	if err != nil {
		return nil, err
	}
	look := &job{Engine: v.Engine, object: entry.Object, entry: entry, facts: v.facts}
	of, err := look.volume(Request{Volume: ref, Bare: true})
	if err != nil {
		return nil, err
	}
	result, err := of.plan(ctx)
	if err != nil {
		return nil, err
	}
	if result.Device == nil {
		return nil, guard.Refuse(guard.RuleNotFound, "the device of Volume/%s is not there yet", ref.Name)
	}
	return result.Device, nil
}

// disk is one of several: the journal has but that last written to, so that it is not asked.
func (v volumeGroup) disk(want api.GroupDevice) (*device.Device, error) {
	j := *v.job
	j.entry.Made = false
	return j.disk(want.Identity(), want.DevicePath)
}

func (v volumeGroup) name() string { return v.request.Group.GroupName() }

// ours finds the group with our mark; a group of its name without it is somebody else's.
func (v volumeGroup) ours(ctx context.Context) (*lvm.Group, error) {
	state, err := v.lvmState(ctx)
	if err != nil {
		return nil, err
	}
	var found *lvm.Group
	for i := range state.Groups {
		g := &state.Groups[i]
		switch ours := mark.FromTags(g.Tags) == v.uuid; {
		case ours && found != nil:
			return nil, guard.Refuse(guard.RuleTwin, "two volume groups have our mark: %s and %s", found.UUID, g.UUID)
		case ours:
			found = g
		case g.Name == v.name():
			return nil, guard.Refuse(guard.RuleContent, "there is a volume group %s on this node that does not carry our mark (UUID %s)", g.Name, g.UUID)
		}
	}
	if found == nil {
		return nil, nil
	}
	if found.Name != v.name() {
		return nil, guard.Refuse(guard.RuleGroup, "the group of this VolumeGroup is named %s on the node", found.Name)
	}
	if err := found.Whole(); err != nil {
		return nil, guard.Refuse(guard.RuleGroup, "%v", err)
	}
	return found, nil
}

func (v volumeGroup) create(devices []*device.Device) (step.Step, error) {
	args := []string{"vgcreate"}
	for _, tag := range v.tags() {
		args = append(args, "--addtag", tag)
	}
	if text := v.request.Group.Spec.PhysicalExtentSize; text != "" {
		size, err := bytesOf(text)
		if err != nil {
			return step.Step{}, err
		}
		args = append(args, "--physicalextentsize", fmt.Sprintf("%db", size))
	}
	args = append(args, v.name())
	for _, d := range devices {
		args = append(args, d.Path)
	}
	return v.change("create-group", &lvm.Group{Name: v.name()}, devices, func(now *lvm.Group) bool {
		return now != nil && mark.FromTags(now.Tags) == v.uuid && len(now.PVs) == len(devices)
	}, args...), nil
}

// change runs LVM on the group, with the devices that it takes held empty.
func (v volumeGroup) change(kind string, g *lvm.Group, take []*device.Device, right func(*lvm.Group) bool, args ...string) step.Step {
	return lvmCommand{
		job: v.job, group: *g, take: take, args: args,
		right: func(now *lvm.Group, _ *lvm.LV) bool { return right(now) },
	}.step(kind, v.uuid)
}

// tags are the mark, and those of the spec.
func (v volumeGroup) tags() []string {
	tags := []string{mark.Tag(v.uuid)}
	for key, value := range v.request.Group.Spec.Tags {
		if value != "" {
			key += "=" + value
		}
		tags = append(tags, key)
	}
	slices.Sort(tags)
	return tags
}

// tagChanges are the arguments that make the tags those wanted; tags that are not key=value
// of a spec are others' and stay.
func tagChanges(have, want []string) []string {
	var args []string
	for _, tag := range want {
		if slices.Contains(have, tag) {
			continue
		}
		if key, _, found := strings.Cut(tag, "="); found {
			for _, old := range have {
				if strings.HasPrefix(old, key+"=") && !strings.HasPrefix(old, mark.Prefix) {
					args = append(args, "--deltag", old)
				}
			}
		}
		args = append(args, "--addtag", tag)
	}
	return args
}

// remove plans the end of a group: the group, the labels of its physical volumes, and what they
// leave at the ends of the disks.
func (v volumeGroup) remove(ctx context.Context) ([]step.Step, error) {
	file := v.sparse([]string{v.uuid})
	if v.request.Group.Spec.Sparse != nil {
		// Without its loop device, after a boot, LVM does not see the group.
		if steps, err := file.attachOld(); err != nil || len(steps) > 0 {
			return steps, err
		}
	}
	g, err := v.ours(ctx)
	if err != nil {
		return nil, err
	}
	if g != nil {
		if len(g.LVs) > 0 {
			return nil, guard.Refuse(guard.RuleHeld, "the group %s has the logical volume %s", g.Name, g.LVs[0].Name)
		}
		s := v.change("remove-group", g, nil, func(now *lvm.Group) bool { return now == nil }, "vgremove", g.Name)
		s.Destroys = true
		s.Entry.PVs = nil
		for _, pv := range g.PVs {
			s.Entry.PVs = append(s.Entry.PVs, pv.UUID)
		}
		return []step.Step{s}, nil
	}
	for _, d := range v.facts.Devices.All {
		if d.Size <= 0 || d.Kind == device.Other || d.Kind == device.Loop && d.Backing == nil {
			continue
		}
		c, err := v.facts.Content(d)
		if err != nil {
			continue // no disk of ours: those were read a moment ago
		}
		left := slices.Equal(c.Kinds, []string{"data"}) && v.entry.CutOff(v.record(d), "clear-labels")
		if c.PV != "" && slices.Contains(v.entry.PVs, c.PV) || left {
			return []step.Step{v.clearLabel(d)}, nil
		}
	}
	if v.request.Group.Spec.Sparse != nil {
		return file.remove()
	}
	return nil, nil
}

// clearLabel takes away what a removed group left on a disk.
func (v volumeGroup) clearLabel(d *device.Device) step.Step {
	s := v.step("clear-labels", v.uuid, d)
	s.Command, s.Destroys = "BLKZEROOUT of the first and the last MiB", true
	s.Before, s.After = "the guard; a physical volume of the removed group, in no group now", "both are zero"
	s.Prepare = v.acquire(guard.Claim{Device: d, Identity: identityOf(v.facts.Devices, d), Content: func(c probe.Content) error {
		if slices.Equal(c.Kinds, []string{"lvm"}) && slices.Contains(v.entry.PVs, c.PV) ||
			slices.Equal(c.Kinds, []string{"data"}) && v.entry.CutOff(v.record(d), "clear-labels") || c.Empty() {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it", d.Path, c.Kinds)
	}})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zeroEdges(ctx, hold.File, d.Size) })
	s.Check = v.blank(d)
	return s
}
