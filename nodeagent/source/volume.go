package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// volume is a Volume as one look at the machine has it.
type volume struct {
	*job
	request Request
	// uuids are the marks by which data is its own; the first is that which it writes.
	uuids []string
}

func (j *job) volume(r Request) (volume, error) {
	uuids, err := j.marks(r)
	return volume{job: j, request: r, uuids: uuids}, err
}

// plan plans the device from its source, what is put on it, and waits for the link by which it
// is known for good.
func (v volume) plan(ctx context.Context) (Result, error) {
	result, err := v.source(ctx)
	if err != nil {
		return Result{}, err
	}
	result.Mark = v.uuids[0]
	if len(result.Steps) == 0 {
		return v.finish(ctx, result)
	}
	return result, nil
}

func (v volume) source(ctx context.Context) (Result, error) {
	switch spec := v.request.Volume.Spec; {
	case spec.Sparse != nil:
		return v.fromFile()
	case spec.Raw != nil:
		return v.fromDisk()
	case spec.LVM != nil:
		l, err := v.logical(ctx)
		if err != nil {
			return Result{}, err
		}
		return l.plan()
	case spec.Partition != nil:
		p, err := v.partitioned()
		if err != nil {
			return Result{}, err
		}
		return p.plan()
	case spec.RAID != nil:
		r, err := v.raidDrive(ctx)
		if err != nil {
			return Result{}, err
		}
		return r.plan()
	}
	return Result{}, guard.Refuse(guard.RuleSource, "the Volume has no source; nothing is written")
}

func (v volume) fromFile() (Result, error) {
	size, err := bytesOf(v.request.Volume.Spec.Sparse.Size)
	if err != nil {
		return Result{}, err
	}
	steps, loop, err := v.sparse(v.uuids).plan(size)
	if err != nil {
		return Result{}, err
	}
	if loop == nil {
		return Result{Steps: append(steps, v.later(v.uuids[0])...)}, nil
	}
	return v.put(loop)
}

// declared is the disk of a Volume of source rawBlockDevice.
func (v volume) declared() (*device.Device, error) {
	raw := v.request.Volume.Spec.Raw
	var id device.Identity
	if raw.Disk != nil {
		id = raw.Disk.Identity()
	}
	return v.disk(id, raw.DevicePath)
}

func (v volume) fromDisk() (Result, error) {
	d, err := v.declared()
	if err != nil {
		return Result{}, err
	}
	if d.Kind == device.Partition && v.request.Volume.Spec.Mode == api.Block && !v.request.Bare {
		return Result{}, guard.Refuse(guard.RuleSource, "%s is a partition that somebody else has made: a volume of mode Block takes a whole disk", d.Path)
	}
	return v.put(d)
}

// put plans what is on a device of which all is the Volume's.
func (v volume) put(d *device.Device) (Result, error) {
	if v.request.Bare {
		return Result{Device: d, Size: d.Size}, nil
	}
	if v.request.Volume.Spec.Mode != api.Block {
		return v.formatted(d, false)
	}
	table := diskTable{job: v.job, disk: d, uuid: v.uuids[0]}
	if part := table.metalK8s(v.uuids[1:]); part != nil {
		return Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + v.facts.PartitionGUID(part)}, nil
	}
	steps, part, err := table.whole()
	if err != nil || part == nil {
		return Result{Steps: steps}, err
	}
	return Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + v.uuids[0]}, nil
}

// formatted plans the filesystem on a device; fresh says that it is a new logical volume, in
// which a removed one shows through.
func (v volume) formatted(d *device.Device, fresh bool) (Result, error) {
	steps, err := filesystem{job: v.job, device: d, uuids: v.uuids, want: v.request.Filesystem, fresh: fresh}.plan()
	if err != nil {
		return Result{}, err
	}
	result := Result{Steps: steps, Device: d, Size: d.Size}
	if c, err := v.facts.Mark(d); err == nil && c.Filesystem != nil {
		result.Path = "/dev/disk/by-uuid/" + c.Filesystem.UUID
		if size := v.filesystemSize(d, c.Filesystem); len(steps) == 0 && size+1<<20 <= d.Size {
			result.Notes = append(result.Notes, "the "+c.Filesystem.Type+" on it is grown once its root directory is mounted")
			result.Size = size
		}
	}
	return result, nil
}

// later are the steps that follow once the device is there, for plan.
func (v volume) later(uuid string) []step.Step {
	if v.request.Bare {
		return nil
	}
	fs := v.request.Filesystem.Type
	s := step.Step{
		Object: v.object, Kind: "make-filesystem", Target: "the device that is made above",
		Command: "mkfs." + fs + " with UUID " + uuid, Before: "the guard; the device is empty", After: "a whole " + fs, Destroys: true,
	}
	if v.request.Volume.Spec.Mode == api.Block {
		s.Kind, s.Command, s.After = "write-partition-table", "write a GUID partition table "+uuid+" with one partition", "both copies are whole"
	}
	return []step.Step{s}
}

// finish notes that the Volume is whole, or is one again whose data was kept, and waits for its link.
func (v volume) finish(ctx context.Context, result Result) (Result, error) {
	if (!v.entry.Made || v.entry.Released || v.entry.Wipe != nil) && v.lock != nil {
		entry := v.entry
		entry.Object, entry.UUID, entry.Made, entry.Released, entry.Path = v.object, result.Mark, true, false, ""
		entry.Wipe = nil // what is written from now on was not erased by an earlier end
		if result.Device != nil {
			entry.Disk = v.record(result.Device)
		}
		if err := v.Runner.Journal.Write(entry); err != nil {
			return Result{}, err
		}
	}
	if result.Path == "" || v.request.Bare {
		return result, nil
	}
	if _, err := v.Host.Tools.Find("udevadm"); err == nil && device.ReadLink(v.Host, result.Path) == "" && v.lock != nil {
		// It looks at a disk once nobody writes to it any more, some milliseconds from now.
		_, _ = v.Host.Tools.Output(ctx, "udevadm", "settle", "--timeout=10", "--exit-if-exists="+result.Path) // the link shows
	}
	switch to := device.ReadLink(v.Host, result.Path); to {
	case result.Device.Name:
		return result, nil
	case "":
		return result, guard.Refuse(guard.RuleUnsettled, "%s is not there yet: udev makes it", result.Path)
	default:
		return result, guard.Refuse(guard.RuleTwin, "%s leads to %s and not to %s: another device has the same mark", result.Path, to, result.Device.Path)
	}
}

// remove plans the end of what a Volume is made of.
func (v volume) remove(ctx context.Context) ([]step.Step, error) {
	switch spec := v.request.Volume.Spec; {
	case spec.Sparse != nil:
		return v.sparse(v.uuids[:1]).remove()
	case spec.Raw != nil:
		return v.removeDisk()
	case spec.LVM != nil:
		l, err := v.logical(ctx)
		if err != nil {
			return nil, err
		}
		return l.remove()
	case spec.Partition != nil:
		p, err := v.partitioned()
		if err != nil {
			return nil, err
		}
		return p.remove()
	case spec.RAID != nil:
		r, err := v.raidDrive(ctx)
		if err != nil {
			return nil, err
		}
		return r.remove()
	}
	return nil, nil
}

// release plans what marks kept data as given up.
func (v volume) release(ctx context.Context) ([]step.Step, error) {
	if v.request.Volume.Spec.LVM == nil {
		return nil, nil
	}
	l, err := v.logical(ctx)
	if err != nil {
		return nil, err
	}
	return l.release(), nil
}

func (v volume) removeDisk() ([]step.Step, error) {
	d, err := v.declared()
	if err != nil {
		return nil, err
	}
	return v.eraseDisk(d)
}

// eraseDisk zeroes a disk that carries our mark, from its end, so that the mark goes last.
func (v volume) eraseDisk(d *device.Device) ([]step.Step, error) {
	c, err := v.facts.Content(d)
	if err != nil {
		return nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	if v.request.Bare || c.Empty() && (v.entry.IsErased() || !v.entry.Made) {
		return nil, nil
	}
	if refusals := guard.Uses(v.facts, d); len(refusals) > 0 {
		return nil, refusals[0]
	}
	return []step.Step{v.overwrite(step.Erase, v.wipe(), d, "our mark is on the device", v.ownedBy(d, v.uuids))}, nil
}

// overwrite erases all of a device, its first MiB last: a mark is there. An erase of the same disk that was cut off
// is continued.
func (v volume) overwrite(kind, policy string, d *device.Device, whose string, may func(probe.Content) error) step.Step {
	s := v.step(kind, v.uuids[0], d)
	w := guard.Wiping{Policy: policy, Size: d.Size, Left: d.Size}
	if was := v.entry.Wipe; was != nil && was.Policy == policy && v.entry.CutOff(s.Entry.Disk, kind) {
		w.Left = min(was.Left, d.Size)
	}
	s.Command, s.Destroys = "BLKZEROOUT of the whole device, its first MiB last", true
	switch policy {
	case api.WipeDiscard:
		s.Command = "FALLOC_FL_PUNCH_HOLE of the whole device, and BLKZEROOUT of the first and the last MiB; BLKZEROOUT of all where it cannot discard"
	case api.WipeNone:
		s.Command = "BLKZEROOUT of the first and the last MiB"
	}
	s.Before, s.After = "the guard; "+whose, "the first and the last MiB are zero"
	s.Prepare = v.erase(guard.Claim{Device: d, Identity: identityOf(v.facts.Devices, d), Content: may})
	entry := s.Entry
	entry.Step = kind
	report := func(now guard.Wiping) {
		entry.Wipe = &step.Wipe{Policy: policy, Left: now.Left}
		_ = v.Runner.Journal.Write(entry) // without it, an erase that is cut off begins again
		if v.request.Wiping != nil {
			v.request.Wiping(now)
		}
	}
	s.Entry.Wipe = &step.Wipe{Policy: policy, Left: w.Left}
	s.Do = onErasure(func(ctx context.Context, e *guard.Erasure) error {
		report(w)
		return e.Wipe(ctx, w, report)
	})
	s.Check = v.blank(d)
	return s
}

// wipe is how the Volume is erased when it is removed.
func (v volume) wipe() string { return cmp.Or(v.request.Volume.Spec.Wipe, api.WipeFull) }

// anything is for a device that is ours by what is not on it: a tag, a partition's GUID.
func anything(probe.Content) error { return nil }

func bytesOf(text api.Quantity) (int64, error) {
	q, err := resource.ParseQuantity(string(text))
	if err != nil || q.Value() <= 0 {
		return 0, errors.Join(fmt.Errorf("size %q is no amount of bytes", text), err)
	}
	return q.Value(), nil
}
