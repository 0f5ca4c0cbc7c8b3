package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
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
		last, err = j.volumeGroup(ctx, r)
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
	return j.volumeGroup(ctx, r)
}

// RemoveGroup removes a group that has no logical volumes, whoever's they are.
func (e *Engine) RemoveGroup(ctx context.Context, r GroupRequest) error {
	name := object(api.KindVolumeGroup, r.Group.Name)
	if _, err := e.loop(ctx, name, func(j *job) (Result, error) {
		steps, err := j.removeGroup(ctx, r)
		return Result{Steps: steps}, err
	}); err != nil {
		return err
	}
	return e.Runner.Journal.Remove(name)
}

func (j *job) volumeGroup(ctx context.Context, r GroupRequest) (GroupResult, error) {
	if !j.Groups {
		return GroupResult{}, guard.Refuse(guard.RuleSource, "this agent does not carry out volume groups; nothing is written")
	}
	uuid := j.Cluster.Of(api.KindVolumeGroup, r.Group.Name, j.Node)
	steps, devices, err := j.groupDevices(ctx, r, uuid)
	if err != nil || len(steps) > 0 {
		return GroupResult{Steps: steps}, err
	}
	g, err := j.ourGroup(ctx, r, uuid)
	if err != nil {
		return GroupResult{}, err
	}
	if g == nil {
		if j.entry.Made {
			return GroupResult{}, guard.Refuse(guard.RuleNotFound, "the volume group %s is gone: it is not made anew; restore it, or delete the VolumeGroup", r.Group.GroupName())
		}
		s, err := j.createGroup(r, uuid, devices)
		return GroupResult{Steps: []step.Step{s}}, err
	}
	result := GroupResult{Group: g}
	missing := slices.DeleteFunc(slices.Clone(devices), func(d *device.Device) bool {
		return slices.ContainsFunc(g.PVs, func(pv lvm.PV) bool { return pv.Path == d.Path || slices.Contains(d.Links, pv.Path) })
	})
	for _, d := range missing {
		s, err := j.vgStep("extend-group", uuid, g, []*device.Device{d}, []string{"vgextend", g.Name, d.Path}, func(now *lvm.Group) bool {
			return now != nil && slices.ContainsFunc(now.PVs, func(pv lvm.PV) bool { return pv.Path == d.Path })
		})
		if err != nil {
			return result, err
		}
		result.Steps = append(result.Steps, s)
	}
	for _, d := range devices {
		for _, pv := range g.PVs {
			// A file that was grown: LVM has its old size.
			if d.Kind == device.Loop && pv.Path == d.Path && pv.Size+2*max(g.ExtentSize, 1<<20) < d.Size {
				s, err := j.vgStep("grow-physical-volume", uuid, g, nil, []string{"pvresize", d.Path}, func(now *lvm.Group) bool { return now != nil && now.Size > g.Size })
				if err != nil {
					return result, err
				}
				result.Steps = append(result.Steps, s)
			}
		}
	}
	if args := tagChanges(g.Tags, groupTags(r.Group, uuid)); len(args) > 0 {
		s, err := j.vgStep("change-tags", uuid, g, nil, append(append([]string{"vgchange"}, args...), g.Name), func(now *lvm.Group) bool {
			return now != nil && len(tagChanges(now.Tags, groupTags(r.Group, uuid))) == 0
		})
		if err != nil {
			return result, err
		}
		result.Steps = append(result.Steps, s)
	}
	if len(result.Steps) == 0 && !j.entry.Made && j.lock != nil {
		entry := j.entry
		entry.Object, entry.UUID, entry.Made = j.object, uuid, true
		return result, j.Runner.Journal.Write(entry)
	}
	return result, nil
}

// groupDevices finds the devices of a group, or plans the one that has to be made.
func (j *job) groupDevices(ctx context.Context, r GroupRequest, uuid string) ([]step.Step, []*device.Device, error) {
	switch spec := r.Group.Spec; {
	case spec.Sparse != nil:
		size, err := bytesOf(spec.Sparse.Size)
		if err != nil {
			return nil, nil, err
		}
		steps, loop, err := j.sparse([]string{uuid}, size)
		if loop == nil {
			return steps, nil, err
		}
		return nil, []*device.Device{loop}, err
	case spec.VolumeRef != nil:
		if r.Ref == nil {
			return nil, nil, guard.Refuse(guard.RuleNotFound, "there is no Volume %s on this node", spec.VolumeRef.Name)
		}
		// Its own journal tells the Volume's disk.
		entry, err := j.Runner.Journal.Read(object(api.KindVolume, r.Ref.Name))
		if err != nil {
			return nil, nil, err
		}
		volume := &job{Engine: j.Engine, object: entry.Object, entry: entry, facts: j.facts}
		result, err := volume.volume(ctx, Request{Volume: r.Ref, Bare: true})
		if err != nil {
			return nil, nil, err
		}
		if result.Device == nil {
			return nil, nil, guard.Refuse(guard.RuleNotFound, "the device of Volume/%s is not there yet", r.Ref.Name)
		}
		return nil, []*device.Device{result.Device}, nil
	default:
		var devices []*device.Device
		for _, want := range spec.Devices {
			found := want.Identity().Known() || want.DevicePath != ""
			if !found {
				return nil, nil, guard.Refuse(guard.RuleIdentity, "a device of the group has neither wwn, serial nor devicePath")
			}
			d, err := j.groupDisk(want)
			if err != nil {
				return nil, nil, err
			}
			devices = append(devices, d)
		}
		if len(devices) == 0 {
			return nil, nil, guard.Refuse(guard.RuleSource, "the group has no source")
		}
		return nil, devices, nil
	}
}

func (j *job) groupDisk(want api.GroupDevice) (*device.Device, error) {
	made := j.entry
	defer func() { j.entry = made }()
	j.entry.Made = false // the journal has but the last disk that was written
	return j.disk(want.Identity(), want.DevicePath)
}

// ourGroup finds the group with our mark; a group of its name without it is somebody else's.
func (j *job) ourGroup(ctx context.Context, r GroupRequest, uuid string) (*lvm.Group, error) {
	state, err := j.facts.LVM(ctx)
	if errors.Is(err, host.ErrMissing) {
		return nil, guard.Refuse(guard.RuleTool, "%v", err)
	}
	if err != nil {
		return nil, guard.Refuse(guard.RuleTool, "LVM's state is not known: %v", err)
	}
	var found *lvm.Group
	for i := range state.Groups {
		g := &state.Groups[i]
		switch ours := mark.FromTags(g.Tags) == uuid; {
		case ours && found != nil:
			return nil, guard.Refuse(guard.RuleTwin, "two volume groups have our mark: %s and %s", found.UUID, g.UUID)
		case ours:
			found = g
		case g.Name == r.Group.GroupName():
			return nil, guard.Refuse(guard.RuleContent, "there is a volume group %s on this node that does not carry our mark (UUID %s)", g.Name, g.UUID)
		}
	}
	if found == nil {
		return nil, nil
	}
	if found.Name != r.Group.GroupName() {
		return nil, guard.Refuse(guard.RuleGroup, "the group of this VolumeGroup is named %s on the node", found.Name)
	}
	if err := found.Whole(); err != nil {
		return nil, guard.Refuse(guard.RuleGroup, "%v", err)
	}
	return found, nil
}

func (j *job) createGroup(r GroupRequest, uuid string, devices []*device.Device) (step.Step, error) {
	args := []string{"vgcreate"}
	for _, tag := range groupTags(r.Group, uuid) {
		args = append(args, "--addtag", tag)
	}
	if r.Group.Spec.PhysicalExtentSize != "" {
		size, err := bytesOf(r.Group.Spec.PhysicalExtentSize)
		if err != nil {
			return step.Step{}, err
		}
		args = append(args, "--physicalextentsize", fmt.Sprintf("%db", size))
	}
	name := r.Group.GroupName()
	args = append(args, name)
	for _, d := range devices {
		args = append(args, d.Path)
	}
	return j.vgStep("create-group", uuid, &lvm.Group{Name: name}, devices, args, func(now *lvm.Group) bool {
		return now != nil && mark.FromTags(now.Tags) == uuid && len(now.PVs) == len(devices)
	})
}

// groupTags are a group's tags: the mark, and those of the spec.
func groupTags(g *api.VolumeGroup, uuid string) []string {
	tags := []string{mark.Tag(uuid)}
	for key, value := range g.Spec.Tags {
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

// holds are several devices that are held together.
type holds []*guard.Hold

func (h holds) Close() error {
	var err error
	for _, one := range h {
		err = errors.Join(err, one.Close())
	}
	return err
}

// vgStep runs one of LVM's programs on a group, with the devices that it takes held empty.
func (j *job) vgStep(kind, uuid string, g *lvm.Group, take []*device.Device, args []string, right func(*lvm.Group) bool) (step.Step, error) {
	var on *device.Device
	if len(take) > 0 {
		on = take[0]
	}
	s := j.step(kind, uuid, on)
	s.Target = "group " + g.Name
	for _, d := range take {
		s.Target += ", " + target(j.facts.Devices, d)
	}
	s.Destroys = len(take) > 0
	s.Command = "lvm " + strings.Join(args, " ")
	s.Before, s.After = "the group is the one meant, by its UUID; the guard for each device, which is empty", "LVM reports it"
	look := func(ctx context.Context) (*lvm.Group, error) {
		state, err := lvm.Read(ctx, j.Host.Tools)
		if err != nil {
			return nil, err
		}
		named := state.Named(g.Name)
		if len(named) > 1 {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s is another one than a moment ago", g.Name)
		}
		if len(named) == 0 {
			return nil, nil
		}
		return named[0], nil
	}
	s.Prepare = func(ctx context.Context) (io.Closer, error) {
		now, err := look(ctx)
		if err != nil {
			return nil, err
		}
		if g.UUID == "" && now != nil {
			return nil, guard.Refuse(guard.RuleContent, "there is a volume group %s now", g.Name)
		}
		if g.UUID != "" && (now == nil || now.UUID != g.UUID) {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s is another one than a moment ago", g.Name)
		}
		var held holds
		for _, d := range take {
			hold, err := guard.Acquire(ctx, j.Host, guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: empty(d)})
			if err != nil {
				return nil, errors.Join(err, held.Close())
			}
			held = append(held, hold)
		}
		return held, nil
	}
	s.Do = func(ctx context.Context, held io.Closer) error {
		hs, _ := held.(holds)
		for _, hold := range hs {
			if err := hold.Same(); err != nil {
				return err
			}
		}
		if err := j.program(ctx, "lvm", nil, args...); err != nil {
			return err
		}
		for _, hold := range hs {
			if err := hold.Same(); err != nil {
				return err
			}
		}
		return nil
	}
	s.Check = func(ctx context.Context) error {
		now, err := look(ctx)
		if err != nil {
			return err
		}
		if !right(now) {
			return fmt.Errorf("lvm reports %+v", now)
		}
		return nil
	}
	return s, nil
}

// removeGroup plans the end of a group: the group, the labels of its physical volumes, and
// what they leave at the ends of the disks.
func (j *job) removeGroup(ctx context.Context, r GroupRequest) ([]step.Step, error) {
	uuid := j.Cluster.Of(api.KindVolumeGroup, r.Group.Name, j.Node)
	if r.Group.Spec.Sparse != nil {
		// Without its loop device, after a boot, LVM does not see the group.
		if steps, err := j.attachOld(uuid); err != nil || len(steps) > 0 {
			return steps, err
		}
	}
	g, err := j.ourGroup(ctx, r, uuid)
	if err != nil {
		return nil, err
	}
	if g != nil {
		if len(g.LVs) > 0 {
			return nil, guard.Refuse(guard.RuleHeld, "the group %s has the logical volume %s", g.Name, g.LVs[0].Name)
		}
		s, err := j.vgStep("remove-group", uuid, g, nil, []string{"vgremove", g.Name}, func(now *lvm.Group) bool { return now == nil })
		s.Destroys = true
		s.Entry.PVs = nil
		for _, pv := range g.PVs {
			s.Entry.PVs = append(s.Entry.PVs, pv.UUID)
		}
		return []step.Step{s}, err
	}
	for _, d := range j.facts.Devices.All {
		if d.Size <= 0 || d.Kind == device.Other || d.Kind == device.Loop && d.Backing == nil {
			continue
		}
		c, err := j.facts.Content(d)
		if err != nil {
			continue // no disk of ours: those were read a moment ago
		}
		left := slices.Equal(c.Kinds, []string{"data"}) && j.entry.CutOff(j.record(d), "clear-labels")
		if c.PV != "" && slices.Contains(j.entry.PVs, c.PV) || left {
			return []step.Step{j.clearLabel(d, uuid)}, nil
		}
	}
	if r.Group.Spec.Sparse != nil {
		return j.removeSparse(uuid)
	}
	return nil, nil
}

// clearLabel takes away what a removed group left on a disk.
func (j *job) clearLabel(d *device.Device, uuid string) step.Step {
	s := j.step("clear-labels", uuid, d)
	s.Command, s.Destroys = "BLKZEROOUT of the first and the last MiB", true
	s.Before, s.After = "the guard; a physical volume of the removed group, in no group now", "both are zero"
	s.Prepare = j.acquire(guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: func(c probe.Content) error {
		if slices.Equal(c.Kinds, []string{"lvm"}) && slices.Contains(j.entry.PVs, c.PV) ||
			slices.Equal(c.Kinds, []string{"data"}) && j.entry.CutOff(j.record(d), "clear-labels") || c.Empty() {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it", d.Path, c.Kinds)
	}})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zeroEdges(ctx, hold.File, d.Size) })
	s.Check = j.blank(d)
	return s
}
