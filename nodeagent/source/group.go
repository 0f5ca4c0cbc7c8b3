package source

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	e.Forget()
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
	g, err := v.ours(ctx, devices)
	if err != nil {
		return GroupResult{}, err
	}
	if g == nil {
		if v.entry.Made {
			return GroupResult{}, guard.Refuse(guard.RuleNotFound, "the volume group %s is gone: it is not recreated; restore it, or delete the VolumeGroup", v.name())
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
		case g.Outgrown(g.PVs[at], d.Size):
			steps = append(steps, lvmCommand{
				job: v.job, group: *g, grown: &g.PVs[at], args: []string{"pvresize", d.Path},
				right: func(now *lvm.Group, _ *lvm.LV) bool { return now != nil && now.Size > g.Size },
			}.step("grow-physical-volume", v.uuid))
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
	// Its own journal shows the Volume's disk.
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

// ours finds the group with our mark on nothing but declared devices: tags can be forged by a tenant of a
// volume, or come with a disk. A group of its name without the mark is somebody else's.
func (v volumeGroup) ours(ctx context.Context, devices []*device.Device) (*lvm.Group, error) {
	if err := v.answering(devices); err != nil {
		return nil, err
	}
	state, err := v.lvmState(ctx)
	if err != nil {
		return nil, err
	}
	var found *lvm.Group
	var foreign error
	for i := range state.Groups {
		g := &state.Groups[i]
		stray := v.stray(g, devices)
		switch ours := mark.FromTags(g.Tags) == v.uuid; {
		case ours && stray == "" && found != nil:
			return nil, guard.Refuse(guard.RuleTwin, "two volume groups have our mark: %s and %s", found.UUID, g.UUID)
		case ours && stray == "":
			found = g
		case ours:
			foreign = guard.Refuse(guard.RuleGroup, "the volume group %s (UUID %s) carries our mark, but %s is no declared device of this VolumeGroup", g.Name, g.UUID, stray)
		case g.Name == v.name():
			return nil, guard.Refuse(guard.RuleContent, "there is a volume group %s on this node that does not carry our mark (UUID %s)", g.Name, g.UUID)
		}
	}
	if found == nil {
		return nil, foreign
	}
	if found.Name != v.name() {
		return nil, guard.Refuse(guard.RuleGroup, "the group of this VolumeGroup is named %s on the node", found.Name)
	}
	if err := found.Whole(); err != nil {
		return nil, guard.Refuse(guard.RuleGroup, "%v", err)
	}
	return found, nil
}

// stray is a physical volume of a group on none of the devices, or "". What is missing is judged elsewhere.
func (j *job) stray(g *lvm.Group, devices []*device.Device) string {
	for _, pv := range g.PVs {
		if pv.Missing {
			continue
		}
		if d := j.physical(pv); d == nil || !slices.ContainsFunc(devices, func(o *device.Device) bool { return o.Name == d.Name }) {
			return pv.Path
		}
	}
	return ""
}

// present are those of the declared devices that are there, for a group that is looked at by what is in it.
func (v volumeGroup) present(ctx context.Context) ([]*device.Device, error) {
	spec := v.request.Group.Spec
	if spec.Sparse != nil {
		loop, err := v.sparse([]string{v.uuid}).loop()
		if err != nil || loop == nil {
			return nil, ignoreMissing(err)
		}
		return []*device.Device{loop}, nil
	}
	if spec.VolumeRef != nil {
		d, err := v.referred(ctx)
		if err != nil {
			return nil, ignoreMissing(err)
		}
		return []*device.Device{d}, nil
	}
	var devices []*device.Device
	for _, want := range spec.Devices {
		d, err := v.disk(want)
		if err := ignoreMissing(err); err != nil {
			return nil, err
		}
		if d != nil {
			devices = append(devices, d)
		}
	}
	return devices, nil
}

// ignoreMissing is nil for what is not on the node.
func ignoreMissing(err error) error {
	var refusal guard.Refusal
	if errors.Is(err, os.ErrNotExist) || errors.As(err, &refusal) && refusal.Rule == guard.RuleNotFound {
		return nil
	}
	return err
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
	devices, err := v.present(ctx)
	if err != nil {
		return nil, err
	}
	g, err := v.ours(ctx, devices)
	if err != nil {
		return nil, err
	}
	if g != nil {
		return v.end(g)
	}
	if steps, err := v.clearLabels(); err != nil || len(steps) > 0 {
		return steps, err
	}
	if v.request.Group.Spec.Sparse != nil {
		return file.remove()
	}
	return nil, nil
}

// end plans the end of a group of which nothing is used. The journal gets the disk of each physical volume with
// its UUID, because a copy of the disk has the same.
func (v volumeGroup) end(g *lvm.Group) ([]step.Step, error) {
	if len(g.LVs) > 0 {
		return nil, guard.Refuse(guard.RuleHeld, "the group %s has the logical volume %s", g.Name, g.LVs[0].Name)
	}
	s := v.change("remove-group", g, nil, func(now *lvm.Group) bool { return now == nil }, "vgremove", g.Name)
	s.Destroys = true
	s.Entry.Labels = nil
	for _, pv := range g.PVs {
		d, err := v.labelled(pv.UUID)
		if err != nil {
			return nil, err
		}
		if at := v.physical(pv); d == nil || at == nil || at.Name != d.Name {
			return nil, guard.Refuse(guard.RuleTwin, "LVM has the physical volume %s on %s, and that is not the device with its label", pv.UUID, pv.Path)
		}
		s.Entry.Labels = append(s.Entry.Labels, step.Label{PV: pv.UUID, Disk: v.record(d)})
	}
	return []step.Step{s}, nil
}

// labelled is the one device with the label of a physical volume, or nil. Two are a disk and its copy, of which
// LVM may see but one: neither is touched.
func (j *job) labelled(pv string) (*device.Device, error) {
	switch found := j.facts.Labelled(pv); len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	default:
		return nil, guard.Refuse(guard.RuleTwin, "%s and %s both have the physical volume %s: one is a copy", found[0].Path, found[1].Path, pv)
	}
}

// clearLabels plans the next of the labels that a removed group left on its own disks, or nothing.
func (v volumeGroup) clearLabels() ([]step.Step, error) {
	for _, label := range v.entry.Labels {
		d, err := v.labelled(label.PV)
		if err != nil {
			return nil, err
		}
		if d != nil && v.record(d).Same(label.Disk) {
			return []step.Step{v.clearLabel(d, label.PV)}, nil
		}
	}
	for _, d := range v.facts.Devices.All {
		if !v.entry.CutOff(v.record(d), "clear-labels") {
			continue
		}
		if c, err := v.facts.Content(d); err == nil && slices.Equal(c.Kinds, []string{"data"}) {
			return []step.Step{v.clearLabel(d, "")}, nil
		}
	}
	return nil, nil
}

// clearLabel takes away what a removed group left on a disk.
func (v volumeGroup) clearLabel(d *device.Device, pv string) step.Step {
	s := v.step("clear-labels", v.uuid, d)
	s.Command, s.Destroys = "BLKZEROOUT of the first and the last MiB", true
	s.Before, s.After = "the guard; a physical volume of the removed group, on the disk of the journal and in no group now", "both are zero"
	s.Prepare = v.erase(guard.Claim{Device: d, Identity: identityOf(v.facts.Devices, d), Content: func(c probe.Content) error {
		if c.PV == pv && pv != "" && c.Filesystem == nil ||
			slices.Equal(c.Kinds, []string{"data"}) && v.entry.CutOff(v.record(d), "clear-labels") || c.Empty() {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it", d.Path, c.Kinds)
	}})
	s.Do = onErasure(func(ctx context.Context, e *guard.Erasure) error { return e.ZeroEdges(ctx) })
	s.Check = v.blank(d)
	return s
}
