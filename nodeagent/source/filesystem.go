package source

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// Kinds of steps that leave a device with neither a signature nor zeros if they are cut off.
func cutOffKinds() []string {
	return []string{"make-filesystem", "clear-half-done", "write-partition-table", "clear-table", "zero"}
}

// filesystem plans the filesystem on a device. fresh says that what is on the device is
// left of a removed logical volume, and may be cleared.
func (j *job) filesystem(d *device.Device, uuids []string, fs Filesystem, fresh bool) ([]step.Step, error) {
	c, err := j.facts.Content(d)
	if err != nil {
		return nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	if err := j.single(d, uuids); err != nil {
		return nil, err
	}
	ours := c.Filesystem != nil && slices.Contains(uuids, c.Filesystem.UUID)
	if fresh && !(j.entry.Step == "make-filesystem" && j.entry.Disk.Same(j.record(d))) {
		// Extents that held this very Volume once bring its old filesystem back.
		ours = false
	}
	switch {
	case ours && (c.Filesystem.Whole || j.entry.Made):
		if c.Filesystem.Type != fs.Type {
			return nil, guard.Refuse(guard.RuleContent, "%s has our filesystem, but as %s, and the StorageClass says %s", d.Path, c.Filesystem.Type, fs.Type)
		}
		return j.grow(d, c.Filesystem), nil
	case j.entry.Made:
		return nil, guard.Refuse(guard.RuleContent, "the filesystem that was on %s is gone: it is not made anew; restore it, or delete the Volume", d.Path)
	case c.Empty():
		return []step.Step{j.makeFilesystem(d, uuids[0], fs)}, nil
	case fresh || j.halfDone(d, c, uuids):
		clearing := j.clear(d, uuids, fresh)
		making := j.makeFilesystem(d, uuids[0], fs)
		return []step.Step{clearing, making}, nil
	}
	return nil, guard.Content(j.facts, d)[0]
}

// single refuses a mark that is on another device as well: a clone, or a snapshot.
func (j *job) single(d *device.Device, uuids []string) error {
	for _, uuid := range uuids {
		for _, o := range j.facts.Marked(uuid) {
			if o.Name != d.Name && !slices.Contains(j.facts.Devices.Below(d), o.Name) && !slices.Contains(j.facts.Devices.Below(o), d.Name) {
				return guard.Refuse(guard.RuleTwin, "%s and %s both have the mark %s: one is a copy", d.Path, o.Path, uuid)
			}
		}
	}
	return nil
}

// halfDone reports whether what is on a device is of a step of ours that was cut off: our
// mark, or nothing that has a name, on the disk that the journal names. Never a foreign
// signature, whatever the journal says: the disk may have been swapped.
func (j *job) halfDone(d *device.Device, c probe.Content, uuids []string) bool {
	if !j.entry.CutOff(j.record(d), cutOffKinds()...) {
		return false
	}
	return halfDoneContent(c, uuids)
}

func halfDoneContent(c probe.Content, uuids []string) bool {
	switch {
	case slices.Equal(c.Kinds, []string{"data"}) || c.Empty():
		return true
	case c.Filesystem != nil && slices.Contains(uuids, c.Filesystem.UUID):
		return slices.Equal(c.Kinds, []string{c.Filesystem.Type})
	case c.Table != nil && slices.Contains(uuids, c.Table.GUID):
		return slices.Equal(c.Kinds, []string{"gpt"})
	}
	return false
}

func (j *job) clear(d *device.Device, uuids []string, fresh bool) step.Step {
	s := j.step("clear-half-done", uuids[0], d)
	s.Command = "BLKZEROOUT of the first and the last MiB"
	s.Before = "the guard; our mark or nothing that has a name, on the disk of the journal"
	if fresh {
		s.Before = "the guard; the logical volume is new and ours by its tags"
	}
	s.After, s.Destroys = "both are zero", true
	s.Prepare = j.acquire(guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: func(c probe.Content) error {
		if fresh || halfDoneContent(c, uuids) {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %s on it", d.Path, strings.Join(c.Kinds, ", "))
	}})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error { return zeroEdges(ctx, hold.File, d.Size) })
	s.Check = j.content(d, func(c probe.Content) bool { return c.Empty() })
	return s
}

func (j *job) makeFilesystem(d *device.Device, uuid string, fs Filesystem) step.Step {
	s := j.step("make-filesystem", uuid, d)
	args := []string{"-q", "-U", uuid}
	if fs.Type == "xfs" {
		args = []string{"-q", "-m", "uuid=" + uuid}
	}
	args = append(args, fs.Options...)
	s.Command = strings.Join(append(append([]string{"mkfs." + fs.Type}, args...), d.Path), " ")
	s.Before, s.After = "the guard; the device is empty", "a whole "+fs.Type+" with UUID "+uuid
	s.Destroys = true
	s.Prepare = j.acquire(guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: empty(d)})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error {
		// The checked descriptor, and not the path, which may lead elsewhere by now.
		return j.program(ctx, "mkfs."+fs.Type, hold.Files(), append(args, "/proc/self/fd/3")...)
	})
	s.Check = j.content(d, func(c probe.Content) bool {
		return c.Filesystem != nil && c.Filesystem.UUID == uuid && c.Filesystem.Type == fs.Type && c.Filesystem.Whole
	})
	return s
}

// empty is a claim's content: nothing at all.
func empty(d *device.Device) func(probe.Content) error {
	return func(c probe.Content) error {
		if c.Empty() {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %s on it", d.Path, strings.Join(c.Kinds, ", "))
	}
}

// content is a check of what is on a device.
func (j *job) content(d *device.Device, right func(probe.Content) bool) func(context.Context) error {
	return func(context.Context) error {
		f, err := j.again()
		if err != nil {
			return err
		}
		now := f.Devices.Named(d.Name)
		if now == nil {
			return fmt.Errorf("%s is gone", d.Path)
		}
		c, err := f.Content(now)
		if err != nil {
			return err
		}
		if !right(c) {
			return fmt.Errorf("%s has %q on it", d.Path, c.Kinds)
		}
		return nil
	}
}

// grow plans what makes a filesystem as large as its device. It never shrinks one.
func (j *job) grow(d *device.Device, fs *probe.Filesystem) []step.Step {
	// mkfs rounds down to what its layout wants; less than a MiB is not worth a write.
	if fs.Size+1<<20 > d.Size || fs.Block == 0 {
		return nil
	}
	s := j.step("grow-filesystem", fs.UUID, d)
	s.After = "the filesystem is as large as its device"
	name, args := "resize2fs", []string{d.Path}
	if fs.Type == "xfs" {
		if len(d.Mounts) == 0 {
			return nil // xfs_growfs wants it mounted; told by notes
		}
		name, args = "xfs_growfs", []string{d.Mounts[0]}
	}
	s.Command = name + " " + strings.Join(args, " ")
	s.Before = "our UUID on the device; ext4 that is not mounted is checked by e2fsck -f -p first"
	// It may be mounted, so that nobody can have it alone: what counts is whose it is.
	same := j.content(d, func(c probe.Content) bool { return c.Filesystem != nil && c.Filesystem.UUID == fs.UUID })
	s.Prepare = func(ctx context.Context) (io.Closer, error) { return nil, same(ctx) }
	s.Do = func(ctx context.Context, _ io.Closer) error {
		if fs.Type != "xfs" && len(d.Mounts) == 0 {
			// Codes below 4 say that what was wrong is mended.
			if err := j.program(ctx, "e2fsck", nil, "-f", "-p", d.Path); err != nil && !strings.Contains(err.Error(), "exit 1:") {
				return err
			}
		}
		return j.program(ctx, name, nil, args...)
	}
	s.Check = j.content(d, func(c probe.Content) bool {
		return c.Filesystem != nil && c.Filesystem.UUID == fs.UUID && c.Filesystem.Size > fs.Size
	})
	return []step.Step{s}
}
