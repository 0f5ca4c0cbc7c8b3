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

// lvmVolume plans a logical volume. It is made inactive with both its tags in one commit, and
// only what has both may be cleared; the last step takes the tag "new" away.
func (j *job) lvmVolume(ctx context.Context, r Request, uuids []string) (Result, error) {
	size, err := bytesOf(r.Volume.Spec.LVM.Size)
	if err != nil {
		return Result{}, err
	}
	g, err := j.group(ctx, r)
	if err != nil {
		return Result{}, err
	}
	need := g.Extents(size)
	lv := findLV(g, r, uuids)
	if lv == nil {
		return j.createLV(r, g, uuids[0], need)
	}
	if err := ownLV(g, lv, uuids, r); err != nil {
		return Result{}, err
	}
	if !lv.Active {
		return Result{Steps: append([]step.Step{j.lvStep("activate", uuids[0], g, lv, lvActive(true), "lvchange", "--activate", "y")}, j.later(r, uuids[0])...)}, nil
	}
	d := j.deviceOf(g, lv)
	if d == nil {
		return Result{}, guard.Refuse(guard.RuleUnsettled, "%s/%s is active, and has no device yet", g.Name, lv.Name)
	}
	if lv.Size < need && !slices.Contains(lv.Tags, mark.New) {
		return j.extendLV(g, lv, uuids[0], need)
	}
	return j.fillLV(r, g, lv, d, uuids)
}

// group is the group that a Volume names: by the mark of its VolumeGroup, else by its name,
// which must then be the only one.
func (j *job) group(ctx context.Context, r Request) (*lvm.Group, error) {
	state, err := j.facts.LVM(ctx)
	if errors.Is(err, host.ErrMissing) {
		return nil, guard.Refuse(guard.RuleTool, "%v", err)
	}
	if err != nil {
		return nil, guard.Refuse(guard.RuleTool, "LVM's state is not known: %v", err)
	}
	name := r.Volume.Spec.LVM.VGName
	named := state.Named(name)
	switch {
	case len(named) == 0:
		return nil, guard.Refuse(guard.RuleGroup, "there is no volume group %s on this node", name)
	case len(named) > 1:
		return nil, guard.Refuse(guard.RuleGroup, "two volume groups are named %s: %s and %s", name, named[0].UUID, named[1].UUID)
	}
	g := named[0]
	if r.Group != nil {
		if want := j.Cluster.Of(api.KindVolumeGroup, r.Group.Name, j.Node); mark.FromTags(g.Tags) != want {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s on this node is not that of VolumeGroup/%s", name, r.Group.Name)
		}
	}
	if err := g.Whole(); err != nil {
		return nil, guard.Refuse(guard.RuleGroup, "%v", err)
	}
	return g, nil
}

// findLV finds the logical volume: by name, or by the UID that MetalK8s names it by.
func findLV(g *lvm.Group, r Request, uuids []string) *lvm.LV {
	for i := range g.LVs {
		if slices.Contains(uuids, mark.FromTags(g.LVs[i].Tags)) {
			return &g.LVs[i]
		}
	}
	if lv := g.Find(lvm.LVName(r.Volume.Name)); lv != nil {
		return lv
	}
	if uid := string(r.Volume.UID); uid != "" {
		return g.Find(uid)
	}
	return nil
}

// ownLV refuses a logical volume that is not the Volume's.
func ownLV(g *lvm.Group, lv *lvm.LV, uuids []string, r Request) error {
	has := mark.FromTags(lv.Tags)
	switch {
	case has == "" && lv.Name == string(r.Volume.UID):
		return nil // made by MetalK8s for this very object
	case !slices.Contains(uuids, has):
		return guard.Refuse(guard.RuleContent, "the logical volume %s/%s is there, and does not carry the mark of this Volume", g.Name, lv.Name)
	case slices.Contains(lv.Tags, mark.Released) && r.Volume.Annotations[api.AdoptAnnotation] != has:
		return guard.Refuse(guard.RuleAdopt, "%s/%s was given up: annotate %s: %q to take it over", g.Name, lv.Name, api.AdoptAnnotation, has)
	}
	return nil
}

func (j *job) deviceOf(g *lvm.Group, lv *lvm.LV) *device.Device {
	uuid := strings.TrimPrefix(lvm.DevicePath(g.UUID, lv.UUID), "/dev/disk/by-id/dm-uuid-")
	for _, d := range j.facts.Devices.All {
		if d.UUID == uuid {
			return d
		}
	}
	return nil
}

func (j *job) createLV(r Request, g *lvm.Group, uuid string, need int64) (Result, error) {
	if j.entry.Made {
		return Result{}, guard.Refuse(guard.RuleNotFound, "the logical volume of this Volume is gone from the group %s: it is not made anew; restore it, or delete the Volume", g.Name)
	}
	if g.Free < need {
		return Result{}, guard.Refuse(guard.RuleSpace, "the group %s has %d bytes free, and %d are needed", g.Name, g.Free, need)
	}
	name := lvm.LVName(r.Volume.Name)
	lv := &lvm.LV{Name: name}
	args := []string{
		"lvcreate", "--activate", "n", "--zero", "n", "--wipesignatures", "n", "--addtag", mark.Tag(uuid), "--addtag", mark.New,
		"--size", fmt.Sprintf("%db", need), "--name", name, g.Name,
	}
	s := j.lvRun("create-logical-volume", uuid, g, lv, func(now *lvm.LV) bool {
		return now != nil && now.Size == need && mark.FromTags(now.Tags) == uuid && slices.Contains(now.Tags, mark.New)
	}, args)
	s.Before = "the group is the one meant, whole and has room; no logical volume has the name"
	return Result{Steps: append([]step.Step{s}, j.later(r, uuid)...)}, nil
}

func (j *job) extendLV(g *lvm.Group, lv *lvm.LV, uuid string, need int64) (Result, error) {
	if lv.Snapshots {
		return Result{}, guard.Refuse(guard.RuleHeld, "%s/%s has a snapshot, and is not grown while it has", g.Name, lv.Name)
	}
	if g.Free < need-lv.Size {
		return Result{}, guard.Refuse(guard.RuleSpace, "the group %s has %d bytes free, and %d more are needed", g.Name, g.Free, need-lv.Size)
	}
	s := j.lvStep("extend-logical-volume", uuid, g, lv, func(now *lvm.LV) bool { return now != nil && now.Size >= need },
		"lvextend", "--size", fmt.Sprintf("%db", need))
	return Result{Steps: []step.Step{s}}, nil
}

// fillLV plans what is on an active logical volume.
func (j *job) fillLV(r Request, g *lvm.Group, lv *lvm.LV, d *device.Device, uuids []string) (Result, error) {
	fresh := slices.Contains(lv.Tags, mark.New)
	result := Result{Device: d, Size: d.Size, Path: lvm.DevicePath(g.UUID, lv.UUID)}
	if r.Volume.Spec.Mode != api.Block {
		formatted, err := j.formatted(r, d, uuids, fresh)
		if err != nil {
			return Result{}, err
		}
		result = formatted
	} else if fresh && !(j.entry.Step == "zero" && j.entry.Done && j.entry.Disk.UUID == d.UUID) {
		// What a removed volume has left would show through.
		result.Steps = []step.Step{j.zeroNew(d, uuids[0])}
	}
	var tags []string
	for _, tag := range []string{mark.New, mark.Released} {
		if slices.Contains(lv.Tags, tag) {
			tags = append(tags, "--deltag", tag)
		}
	}
	if len(tags) > 0 {
		s := j.lvStep("finish-tags", uuids[0], g, lv, func(now *lvm.LV) bool {
			return now != nil && !slices.Contains(now.Tags, mark.New) && !slices.Contains(now.Tags, mark.Released)
		}, append([]string{"lvchange"}, tags...)...)
		result.Steps = append(result.Steps, s)
	}
	return result, nil
}

func (j *job) zeroNew(d *device.Device, uuid string) step.Step {
	s := j.step("zero", uuid, d)
	s.Command, s.Destroys = "BLKZEROOUT of the whole device", true
	s.Before, s.After = "the guard; the logical volume is new and ours by its tags", "the first and the last MiB are zero"
	s.Prepare = j.acquire(guard.Claim{Device: d, Content: func(probe.Content) error { return nil }})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zero(ctx, hold.File, 0, d.Size) })
	s.Check = j.blank(d)
	return s
}

// removeLV zeroes a logical volume of ours, and removes it.
func (j *job) removeLV(ctx context.Context, r Request, uuids []string) ([]step.Step, error) {
	g, err := j.group(ctx, r)
	if err != nil {
		return nil, err
	}
	lv := findLV(g, r, uuids)
	if lv == nil {
		return nil, nil
	}
	if err := ownLV(g, lv, uuids, r); err != nil {
		return nil, err
	}
	if lv.Snapshots {
		return nil, guard.Refuse(guard.RuleHeld, "%s/%s has a snapshot", g.Name, lv.Name)
	}
	zeroed := j.entry.Step == "zero" && j.entry.Done || j.entry.Step == "deactivate" || j.entry.Step == "remove-logical-volume"
	d := j.deviceOf(g, lv)
	switch {
	case !zeroed && !lv.Active:
		return []step.Step{j.lvStep("activate", uuids[0], g, lv, lvActive(true), "lvchange", "--activate", "y")}, nil
	case !zeroed && d == nil:
		return nil, guard.Refuse(guard.RuleUnsettled, "%s/%s is active, and has no device yet", g.Name, lv.Name)
	case !zeroed:
		if refusals := guard.Uses(j.facts, d); len(refusals) > 0 {
			return nil, refusals[0]
		}
		s := j.zeroNew(d, uuids[0])
		s.Before = "the guard; the logical volume is ours by its tag, and nobody uses it"
		return []step.Step{s}, nil
	case lv.Active:
		s := j.lvStep("deactivate", uuids[0], g, lv, lvActive(false), "lvchange", "--activate", "n")
		return []step.Step{s}, nil
	}
	s := j.lvStep("remove-logical-volume", uuids[0], g, lv, func(now *lvm.LV) bool { return now == nil }, "lvremove")
	s.Destroys = true
	return []step.Step{s}, nil
}

// releaseLV notes on a logical volume that its Volume was deleted.
func (j *job) releaseLV(ctx context.Context, r Request) ([]step.Step, error) {
	uuids, err := j.marks(r)
	if err != nil {
		return nil, err
	}
	g, err := j.group(ctx, r)
	if err != nil {
		return nil, err
	}
	lv := findLV(g, r, uuids)
	if lv == nil || !slices.Contains(uuids, mark.FromTags(lv.Tags)) || slices.Contains(lv.Tags, mark.Released) {
		return nil, nil
	}
	return []step.Step{j.lvStep("release", uuids[0], g, lv, func(now *lvm.LV) bool {
		return now != nil && slices.Contains(now.Tags, mark.Released)
	}, "lvchange", "--addtag", mark.Released)}, nil
}

func lvActive(want bool) func(*lvm.LV) bool {
	return func(now *lvm.LV) bool { return now != nil && now.Active == want }
}

// lvStep runs one of LVM's programs on a logical volume.
func (j *job) lvStep(kind, uuid string, g *lvm.Group, lv *lvm.LV, right func(*lvm.LV) bool, args ...string) step.Step {
	return j.lvRun(kind, uuid, g, lv, right, append(args, g.Name+"/"+lv.Name))
}

// lvRun looks again that the group and the volume are those meant, runs, and checks.
func (j *job) lvRun(kind, uuid string, g *lvm.Group, lv *lvm.LV, right func(*lvm.LV) bool, args []string) step.Step {
	s := j.step(kind, uuid, nil)
	s.Entry.Disk = j.entry.Disk
	s.Target = fmt.Sprintf("%s/%s (group %s)", g.Name, lv.Name, g.UUID)
	s.Command = "lvm " + strings.Join(args, " ")
	s.Before, s.After = "group and volume are those meant, by their UUIDs", "LVM reports it"
	look := func(ctx context.Context) (*lvm.LV, error) {
		state, err := lvm.Read(ctx, j.Host.Tools)
		if err != nil {
			return nil, err
		}
		now := state.Group(g.UUID)
		if now == nil || len(state.Named(g.Name)) != 1 {
			return nil, guard.Refuse(guard.RuleGroup, "the volume group %s is another one than a moment ago", g.Name)
		}
		return now.Find(lv.Name), nil
	}
	s.Prepare = func(ctx context.Context) (io.Closer, error) {
		now, err := look(ctx)
		switch {
		case err != nil:
			return nil, err
		case lv.UUID == "" && now != nil, lv.UUID != "" && (now == nil || now.UUID != lv.UUID):
			return nil, guard.Refuse(guard.RuleGroup, "%s/%s is not what it was a moment ago", g.Name, lv.Name)
		}
		return nil, nil
	}
	s.Do = func(ctx context.Context, _ io.Closer) error { return j.program(ctx, "lvm", nil, args...) }
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
	return s
}
