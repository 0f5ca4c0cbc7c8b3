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
	"github.com/poolwright/poolwright/nodeagent/step"
)

// logical is a Volume that is a logical volume of a group. It is made inactive with both its
// tags in one commit, and only what has both may be cleared; the last step takes the tag "new"
// away.
type logical struct {
	volume
	group *lvm.Group
	lv    *lvm.LV // nil where it is not there
}

// logical finds group and logical volume of a Volume.
func (v volume) logical(ctx context.Context) (logical, error) {
	g, err := v.group(ctx)
	if err != nil {
		return logical{}, err
	}
	return logical{volume: v, group: g, lv: v.find(g)}, nil
}

func (l logical) plan() (Result, error) {
	size, err := bytesOf(l.request.Volume.Spec.LVM.Size)
	if err != nil {
		return Result{}, err
	}
	need := l.group.Extents(size)
	if l.lv == nil {
		return l.create(need)
	}
	if err := l.owned(); err != nil {
		return Result{}, err
	}
	if !l.lv.Active {
		return Result{Steps: append([]step.Step{l.activate(true)}, l.later(l.uuids[0])...)}, nil
	}
	d := l.device()
	switch {
	case d == nil:
		return Result{}, l.unsettled()
	case l.lv.Size < need && !slices.Contains(l.lv.Tags, mark.New):
		return l.extend(need)
	}
	return l.fill(d)
}

// group is the group that a Volume names: by the mark of its VolumeGroup, else by its name,
// which must then be the only one.
func (v volume) group(ctx context.Context) (*lvm.Group, error) {
	state, err := v.lvmState(ctx)
	if err != nil {
		return nil, err
	}
	name := v.request.Volume.Spec.LVM.VGName
	named := state.Named(name)
	switch {
	case len(named) == 0:
		if err := v.answering(v.facts.Devices.All); err != nil {
			return nil, err // it may be there
		}
		return nil, guard.Refuse(guard.RuleGroup, "there is no volume group %s on this node", name)
	case len(named) > 1:
		return nil, guard.Refuse(guard.RuleGroup, "two volume groups are named %s: %s and %s", name, named[0].UUID, named[1].UUID)
	}
	g := named[0]
	if of := v.request.Group; of != nil {
		if want := v.Cluster.Of(api.KindVolumeGroup, of.Name, v.Node); mark.FromTags(g.Tags) != want {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s on this node is not that of VolumeGroup/%s", name, of.Name)
		}
		devices, err := v.volumeGroup(GroupRequest{Group: of, Ref: v.request.GroupRef}).present(ctx)
		if err != nil {
			return nil, err
		}
		if stray := v.stray(g, devices); stray != "" {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s on this node carries the mark of VolumeGroup/%s, but %s is no declared device of it", name, of.Name, stray)
		}
	}
	if err := g.Whole(); err != nil {
		return nil, guard.Refuse(guard.RuleGroup, "%v", err)
	}
	return g, nil
}

// find finds the logical volume: by its own mark, by one that it adopts, by name, or by the UID that MetalK8s
// names it by.
func (v volume) find(g *lvm.Group) *lvm.LV {
	for _, uuid := range v.uuids {
		for i := range g.LVs {
			if mark.FromTags(g.LVs[i].Tags) == uuid {
				return &g.LVs[i]
			}
		}
	}
	if lv := g.Find(lvm.LVName(v.request.Volume.Name)); lv != nil {
		return lv
	}
	if uid := string(v.request.Volume.UID); uid != "" {
		return g.Find(uid)
	}
	return nil
}

// owned refuses a logical volume that is not the Volume's.
func (l logical) owned() error {
	has := mark.FromTags(l.lv.Tags)
	switch {
	case has == "" && l.lv.Name == string(l.request.Volume.UID):
		return nil // made by MetalK8s for this very object
	case !slices.Contains(l.uuids, has):
		return guard.Refuse(guard.RuleContent, "the logical volume %s/%s is there, and does not carry the mark of this Volume", l.group.Name, l.lv.Name)
	case slices.Contains(l.lv.Tags, mark.Released) && l.request.Volume.Annotations[api.AdoptAnnotation] != has:
		return guard.Refuse(guard.RuleAdopt, "%s/%s was given up: annotate %s: %q to take it over", l.group.Name, l.lv.Name, api.AdoptAnnotation, has)
	}
	return nil
}

// device is the device of an active logical volume, or nil.
func (l logical) device() *device.Device {
	uuid := strings.TrimPrefix(lvm.DevicePath(l.group.UUID, l.lv.UUID), "/dev/disk/by-id/dm-uuid-")
	for _, d := range l.facts.Devices.All {
		if d.UUID == uuid {
			return d
		}
	}
	return nil
}

func (l logical) unsettled() error {
	return guard.Refuse(guard.RuleUnsettled, "%s/%s is active, and has no device yet", l.group.Name, l.lv.Name)
}

func (l logical) create(need int64) (Result, error) {
	if l.entry.Made {
		return Result{}, guard.Refuse(guard.RuleNotFound, "the logical volume of this Volume is gone from the group %s: it is not recreated; restore it, or delete the Volume", l.group.Name)
	}
	if l.group.Free < need {
		return Result{}, guard.Refuse(guard.RuleSpace, "the group %s has %d bytes free, and %d are needed", l.group.Name, l.group.Free, need)
	}
	l.lv = &lvm.LV{Name: lvm.LVName(l.request.Volume.Name)}
	uuid := l.uuids[0]
	args := []string{
		"lvcreate", "--activate", "n", "--zero", "n", "--wipesignatures", "n", "--addtag", mark.Tag(uuid), "--addtag", mark.New,
		"--size", fmt.Sprintf("%db", need), "--name", l.lv.Name, l.group.Name,
	}
	s := l.run("create-logical-volume", args, func(now *lvm.LV) bool {
		return now != nil && now.Size == need && mark.FromTags(now.Tags) == uuid && slices.Contains(now.Tags, mark.New)
	})
	s.Before = "the group is the one meant, whole and has room; no logical volume has the name"
	return Result{Steps: append([]step.Step{s}, l.later(uuid)...)}, nil
}

func (l logical) extend(need int64) (Result, error) {
	if l.lv.Snapshots {
		return Result{}, guard.Refuse(guard.RuleHeld, "%s/%s has a snapshot, and is not grown while it has", l.group.Name, l.lv.Name)
	}
	if l.group.Free < need-l.lv.Size {
		return Result{}, guard.Refuse(guard.RuleSpace, "the group %s has %d bytes free, and %d more are needed", l.group.Name, l.group.Free, need-l.lv.Size)
	}
	return Result{Steps: []step.Step{l.change("extend-logical-volume", func(now *lvm.LV) bool { return now != nil && now.Size >= need },
		"lvextend", "--size", fmt.Sprintf("%db", need))}}, nil
}

// fill plans what is on an active logical volume.
func (l logical) fill(d *device.Device) (Result, error) {
	fresh := slices.Contains(l.lv.Tags, mark.New) && !l.filled(d)
	result := Result{Device: d, Size: d.Size, Path: lvm.DevicePath(l.group.UUID, l.lv.UUID)}
	if l.request.Volume.Spec.Mode != api.Block {
		formatted, err := l.formatted(d, fresh)
		if err != nil {
			return Result{}, err
		}
		result = formatted
	} else if fresh {
		// What a removed volume has left would show through.
		result.Steps = []step.Step{l.overwrite("zero", api.WipeFull, d, "the logical volume is new and ours by its tags", anything)}
	}
	var tags []string
	for _, tag := range []string{mark.New, mark.Released} {
		if slices.Contains(l.lv.Tags, tag) {
			tags = append(tags, "--deltag", tag)
		}
	}
	if len(tags) > 0 {
		result.Steps = append(result.Steps, l.change("finish-tags", func(now *lvm.LV) bool {
			return now != nil && !slices.Contains(now.Tags, mark.New) && !slices.Contains(now.Tags, mark.Released)
		}, append([]string{"lvchange"}, tags...)...))
	}
	return result, nil
}

// filled reports whether what is on a new logical volume was put there for this Volume, and is not of a
// removed one, which can have been this very Volume once.
func (l logical) filled(d *device.Device) bool {
	if !l.entry.Disk.Same(l.record(d)) {
		return false
	}
	switch l.entry.Step {
	case "make-filesystem", "finish-tags":
		return true
	case "zero":
		return l.entry.Done
	}
	return false
}

// remove zeroes a logical volume of ours, and removes it.
func (l logical) remove() ([]step.Step, error) {
	if l.lv == nil {
		return nil, nil
	}
	if err := l.owned(); err != nil {
		return nil, err
	}
	if l.lv.Snapshots {
		return nil, guard.Refuse(guard.RuleHeld, "%s/%s has a snapshot", l.group.Name, l.lv.Name)
	}
	erased := l.entry.IsErased()
	d := l.device()
	switch {
	case !erased && !l.lv.Active:
		return []step.Step{l.activate(true)}, nil
	case !erased && d == nil:
		return nil, l.unsettled()
	case !erased:
		if refusals := guard.Uses(l.facts, d); len(refusals) > 0 {
			return nil, refusals[0]
		}
		return []step.Step{l.overwrite(step.Erase, l.wipe(), d, "the logical volume is ours by its tag, and nobody uses it", anything)}, nil
	case l.lv.Active:
		return []step.Step{l.activate(false)}, nil
	}
	s := l.change("remove-logical-volume", func(now *lvm.LV) bool { return now == nil }, "lvremove")
	s.Destroys = true
	return []step.Step{s}, nil
}

// release notes on a logical volume that its Volume was deleted.
func (l logical) release() []step.Step {
	if l.lv == nil || !slices.Contains(l.uuids, mark.FromTags(l.lv.Tags)) || slices.Contains(l.lv.Tags, mark.Released) {
		return nil
	}
	return []step.Step{l.change("release", func(now *lvm.LV) bool {
		return now != nil && slices.Contains(now.Tags, mark.Released)
	}, "lvchange", "--addtag", mark.Released)}
}

func (l logical) activate(on bool) step.Step {
	kind, word := "activate", "y"
	if !on {
		kind, word = "deactivate", "n"
	}
	return l.change(kind, func(now *lvm.LV) bool { return now != nil && now.Active == on }, "lvchange", "--activate", word)
}

// change runs LVM on the logical volume.
func (l logical) change(kind string, right func(*lvm.LV) bool, args ...string) step.Step {
	return l.run(kind, append(args, l.group.Name+"/"+l.lv.Name), right)
}

func (l logical) run(kind string, args []string, right func(*lvm.LV) bool) step.Step {
	return lvmCommand{
		job: l.job, group: *l.group, volume: l.lv, args: args,
		right: func(_ *lvm.Group, now *lvm.LV) bool { return right(now) },
	}.step(kind, l.uuids[0])
}
