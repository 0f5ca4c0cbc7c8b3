package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// volume plans a Volume: the device from its source, what is put on it, and the link by which
// it is known for good.
func (j *job) volume(ctx context.Context, r Request) (Result, error) {
	uuids, err := j.marks(r)
	if err != nil {
		return Result{}, err
	}
	var result Result
	switch spec := r.Volume.Spec; {
	case spec.Sparse != nil:
		result, err = j.sparseVolume(r, uuids)
	case spec.Raw != nil:
		result, err = j.rawVolume(r, uuids)
	case spec.LVM != nil && j.Groups:
		result, err = j.lvmVolume(ctx, r, uuids)
	case spec.Partition != nil && j.Groups:
		result, err = j.partitionVolume(r, uuids)
	default:
		err = unsupported(spec)
	}
	if err != nil {
		return Result{}, err
	}
	result.Mark = uuids[0]
	if len(result.Steps) == 0 {
		return j.finish(ctx, r, result)
	}
	return result, nil
}

// unsupported names a source that this agent reads but does not write.
func unsupported(spec api.VolumeSpec) error {
	name := "no source"
	switch {
	case spec.LVM != nil:
		name = "lvmLogicalVolume"
	case spec.RAID != nil:
		name = "raidDAS"
	case spec.Partition != nil:
		name = "partition"
	}
	return guard.Refuse(guard.RuleSource, "this agent does not carry out %s; nothing is written", name)
}

// marks are the UUIDs by which data is the Volume's: ours first, then the UID of the object,
// which MetalK8s used. A mark that was given up is taken back only on a person's word.
func (j *job) marks(r Request) ([]string, error) {
	ours := j.Cluster.Of(api.KindVolume, r.Volume.Name, j.Node)
	uuids := []string{ours}
	adopt := r.Volume.Annotations[api.AdoptAnnotation]
	if j.entry.Released && adopt != ours {
		return nil, guard.Refuse(guard.RuleAdopt, "a Volume of this name was deleted and its data kept (%s): annotate %s: %q to take it over, or give this Volume another name", j.entry.Path, api.AdoptAnnotation, ours)
	}
	if uid := string(r.Volume.UID); uid != "" {
		uuids = append(uuids, uid)
	}
	if adopt != "" && adopt != ours {
		// It becomes part of a path.
		if _, err := uuid.Parse(adopt); err != nil || strings.ToLower(adopt) != adopt {
			return nil, guard.Refuse(guard.RuleAdopt, "the annotation %s is %q, which is no UUID in lower case", api.AdoptAnnotation, adopt)
		}
		uuids = append(uuids, adopt)
	}
	return uuids, nil
}

func (j *job) sparseVolume(r Request, uuids []string) (Result, error) {
	size, err := bytesOf(r.Volume.Spec.Sparse.Size)
	if err != nil {
		return Result{}, err
	}
	steps, loop, err := j.sparse(uuids, size)
	if err != nil {
		return Result{}, err
	}
	if loop == nil {
		return Result{Steps: append(steps, j.later(r, uuids[0])...)}, nil
	}
	return j.put(r, loop, uuids)
}

func (j *job) rawVolume(r Request, uuids []string) (Result, error) {
	raw := r.Volume.Spec.Raw
	var id device.Identity
	if raw.Disk != nil {
		id = raw.Disk.Identity()
	}
	d, err := j.disk(id, raw.DevicePath)
	if err != nil {
		return Result{}, err
	}
	if r.Bare {
		return Result{Device: d, Size: d.Size}, nil
	}
	if d.Kind == device.Partition && r.Volume.Spec.Mode == api.Block {
		return Result{}, guard.Refuse(guard.RuleSource, "%s is a partition that somebody else has made: a volume of mode Block takes a whole disk", d.Path)
	}
	return j.put(r, d, uuids)
}

// put plans what is on a device of which all is the Volume's.
func (j *job) put(r Request, d *device.Device, uuids []string) (Result, error) {
	if r.Bare {
		return Result{Device: d, Size: d.Size}, nil
	}
	if r.Volume.Spec.Mode == api.Block {
		if part := j.metalK8sPartition(d, uuids); part != nil {
			return Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + j.facts.PartitionGUID(part)}, nil
		}
		steps, part, err := j.onePartition(d, uuids[0])
		if err != nil || part == nil {
			return Result{Steps: steps}, err
		}
		return Result{Device: part, Size: part.Size, Path: "/dev/disk/by-partuuid/" + uuids[0]}, nil
	}
	return j.formatted(r, d, uuids, false)
}

func (j *job) formatted(r Request, d *device.Device, uuids []string, fresh bool) (Result, error) {
	steps, err := j.filesystem(d, uuids, r.Filesystem, fresh)
	if err != nil {
		return Result{}, err
	}
	result := Result{Steps: steps, Device: d, Size: d.Size}
	if c, err := j.facts.Content(d); err == nil && c.Filesystem != nil {
		result.Path = "/dev/disk/by-uuid/" + c.Filesystem.UUID
		if len(steps) == 0 && c.Filesystem.Size+1<<20 <= d.Size {
			result.Notes = append(result.Notes, "the XFS on it is grown once a pod has it mounted")
			result.Size = c.Filesystem.Size
		}
	}
	return result, nil
}

// later are the steps that follow once the device is there, for plan.
func (j *job) later(r Request, uuid string) []step.Step {
	if r.Bare {
		return nil
	}
	s := step.Step{
		Object: j.object, Kind: "make-filesystem", Target: "the device that is made above",
		Command: "mkfs." + r.Filesystem.Type + " with UUID " + uuid, Before: "the guard; the device is empty", After: "a whole " + r.Filesystem.Type, Destroys: true,
	}
	if r.Volume.Spec.Mode == api.Block {
		s.Kind, s.Command, s.After = "write-partition-table", "write a GUID partition table "+uuid+" with one partition", "both copies are whole"
	}
	return []step.Step{s}
}

// finish notes that the Volume is whole, and waits for its link.
func (j *job) finish(ctx context.Context, r Request, result Result) (Result, error) {
	if !j.entry.Made && j.lock != nil {
		entry := j.entry
		entry.Object, entry.UUID, entry.Made, entry.Released, entry.Path = j.object, result.Mark, true, false, ""
		if result.Device != nil {
			entry.Disk = j.record(result.Device)
		}
		if err := j.Runner.Journal.Write(entry); err != nil {
			return Result{}, err
		}
	}
	if result.Path == "" || r.Bare {
		return result, nil
	}
	if _, err := j.Host.Tools.Find("udevadm"); err == nil && device.ReadLink(j.Host, result.Path) == "" && j.lock != nil {
		// It looks at a disk once nobody writes to it any more, some milliseconds from now.
		_, _ = j.Host.Tools.Output(ctx, "udevadm", "settle", "--timeout=10", "--exit-if-exists="+result.Path) // the link tells
	}
	switch to := device.ReadLink(j.Host, result.Path); to {
	case result.Device.Name:
		return result, nil
	case "":
		return result, guard.Refuse(guard.RuleUnsettled, "%s is not there yet: udev makes it", result.Path)
	default:
		return result, guard.Refuse(guard.RuleTwin, "%s leads to %s and not to %s: another device has the same mark", result.Path, to, result.Device.Path)
	}
}

// removeVolume plans the end of what a Volume is made of.
func (j *job) removeVolume(ctx context.Context, r Request) (Result, error) {
	uuids, err := j.marks(r)
	if err != nil {
		return Result{}, err
	}
	var steps []step.Step
	switch spec := r.Volume.Spec; {
	case spec.Sparse != nil:
		steps, err = j.removeSparse(uuids[0])
	case spec.Raw != nil:
		steps, err = j.removeRaw(r, uuids)
	case spec.LVM != nil:
		steps, err = j.removeLV(ctx, r, uuids)
	case spec.Partition != nil:
		steps, err = j.removePartition(r, uuids)
	}
	return Result{Steps: steps}, err
}

// releaseVolume plans what marks kept data as given up.
func (j *job) releaseVolume(ctx context.Context, r Request) (Result, error) {
	if r.Volume.Spec.LVM == nil {
		return Result{}, nil
	}
	steps, err := j.releaseLV(ctx, r)
	return Result{Steps: steps}, err
}

// removeRaw zeroes a disk that carries our mark, from its end, so that the mark goes last.
func (j *job) removeRaw(r Request, uuids []string) ([]step.Step, error) {
	raw := r.Volume.Spec.Raw
	var id device.Identity
	if raw.Disk != nil {
		id = raw.Disk.Identity()
	}
	d, err := j.disk(id, raw.DevicePath)
	if err != nil {
		return nil, err
	}
	c, err := j.facts.Content(d)
	if err != nil {
		return nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	zeroed := j.entry.Step == "zero" && j.entry.Done || r.Bare || !j.entry.Made && c.Empty()
	if zeroed && c.Empty() || r.Bare {
		return nil, nil
	}
	if refusals := guard.Uses(j.facts, d); len(refusals) > 0 {
		return nil, refusals[0]
	}
	return []step.Step{j.zeroAll(d, uuids)}, nil
}

// zeroAll zeroes a device that carries one of the marks.
func (j *job) zeroAll(d *device.Device, uuids []string) step.Step {
	s := j.step("zero", uuids[0], d)
	s.Command, s.Destroys = "BLKZEROOUT of the whole device, its first MiB last", true
	s.Before, s.After = "the guard; our mark is on the device", "the first and the last MiB are zero"
	s.Prepare = j.acquire(guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: ownedBy(j, d, uuids)})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error {
		if err := zero(ctx, hold.File, 0, d.Size); err != nil {
			return err
		}
		for _, p := range j.facts.Devices.Partitions(d) {
			if err := dropPartition(hold, p); err != nil {
				return err
			}
		}
		return nil
	})
	s.Check = j.blank(d)
	return s
}

func bytesOf(text string) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Value() <= 0 {
		return 0, errors.Join(fmt.Errorf("size %q is no amount of bytes", text), err)
	}
	return q.Value(), nil
}
