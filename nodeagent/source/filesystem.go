package source

import (
	"context"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// filesystem is that of a Volume on a device.
type filesystem struct {
	*job
	device *device.Device
	uuids  []string
	want   Filesystem
	// fresh says that what is on the device is left of a removed logical volume, and may be
	// cleared.
	fresh bool
}

func (f filesystem) plan() ([]step.Step, error) {
	d := f.device
	c, err := f.facts.Mark(d)
	if fs := c.Filesystem; err == nil && (f.fresh || fs == nil || !slices.Contains(f.uuids, fs.UUID) || !fs.Whole && !f.entry.Made) {
		c, err = f.facts.Content(d) // what is not ours and whole may be anything
	}
	if err != nil {
		return nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	if err := f.single(d, f.uuids); err != nil {
		return nil, err
	}
	ours := c.Filesystem != nil && slices.Contains(f.uuids, c.Filesystem.UUID)
	switch {
	// Extents that held this very Volume once bring its old filesystem back.
	case ours && !f.fresh && (c.Filesystem.Whole || f.entry.Made):
		if c.Filesystem.Type != f.want.Type {
			return nil, guard.Refuse(guard.RuleContent, "%s has our filesystem, but as %s, and the StorageClass says %s", d.Path, c.Filesystem.Type, f.want.Type)
		}
		return f.grow(c.Filesystem), nil
	case f.entry.Made:
		return nil, guard.Refuse(guard.RuleContent, "the filesystem that was on %s is gone: it is not recreated; restore it, or delete the Volume", d.Path)
	case c.Empty():
		return []step.Step{f.make()}, nil
	case f.fresh || f.halfDone(d, c, f.uuids):
		clearing := f.clearHalfDone(d, f.uuids, f.fresh)
		making := f.make()
		return []step.Step{clearing, making}, nil
	}
	return nil, guard.Content(f.facts, d)[0]
}

func (f filesystem) make() step.Step {
	d, fs, uuid := f.device, f.want, f.uuids[0]
	s := f.step("make-filesystem", uuid, d)
	args := []string{"-q", "-U", uuid}
	if fs.Type == "xfs" {
		args = []string{"-q", "-m", "uuid=" + uuid}
	}
	args = append(args, fs.Options...)
	s.Command = strings.Join(append(append([]string{"mkfs." + fs.Type}, args...), d.Path), " ")
	s.Before, s.After = "the guard; the device is empty", "a whole "+fs.Type+" with UUID "+uuid
	s.Destroys = true
	s.Prepare = f.acquire(guard.Claim{Device: d, Identity: identityOf(f.facts.Devices, d), Content: empty(d)})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error {
		// The checked descriptor, and not the path, which may lead elsewhere by now.
		return f.program(ctx, "mkfs."+fs.Type, hold.Files(), append(args, "/proc/self/fd/3")...)
	})
	s.Check = f.content(d, func(c probe.Content) bool {
		return c.Filesystem != nil && c.Filesystem.UUID == uuid && c.Filesystem.Type == fs.Type && c.Filesystem.Whole
	})
	return s
}

// grow plans what makes a filesystem as large as its device. It never shrinks one.
func (f filesystem) grow(fs *probe.Filesystem) []step.Step {
	d := f.device
	// mkfs rounds down to what its layout wants; less than a MiB is not worth a write.
	size := f.filesystemSize(d, fs)
	if size+1<<20 > d.Size || fs.Block == 0 {
		return nil
	}
	s := f.step("grow-filesystem", fs.UUID, d)
	s.After = "the filesystem is as large as its device"
	name, args, mounted := "resize2fs", []string{d.Path}, len(d.Mounts) > 0
	switch {
	case mounted && len(d.Roots) == 0:
		return nil // a part of it is, and what that is, is a tenant's; reported by notes
	case fs.Type == "xfs" && !mounted:
		return nil // xfs_growfs wants it mounted; reported by notes
	case fs.Type == "xfs":
		name, args = "xfs_growfs", []string{d.Roots[0]}
	case mounted:
		name, args = "EXT4_IOC_RESIZE_FS", []string{d.Roots[0]}
	}
	s.Command = name + " " + strings.Join(args, " ")
	s.Before = "the guard; our UUID on the device; ext4 that is not mounted is checked by e2fsck -f -p first"
	// One that is mounted nobody can have alone: what counts is whose it is.
	s.Prepare = f.acquire(guard.Claim{Device: d, Identity: identityOf(f.facts.Devices, d), Shared: mounted, Content: func(c probe.Content) error {
		if c.Filesystem != nil && c.Filesystem.UUID == fs.UUID {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it, and not our mark", d.Path, c.Kinds)
	}})
	s.Do = onHold(func(ctx context.Context, hold *guard.Hold) error {
		switch {
		case fs.Type == "xfs":
			return f.program(ctx, name, hold.Files(), args...)
		case mounted:
			return f.growMounted(d, fs)
		}
		// The checked descriptor. Codes of e2fsck below 4 say that what was wrong is repaired.
		if err := f.program(ctx, "e2fsck", hold.Files(), "-f", "-p", "/proc/self/fd/3"); err != nil && !strings.Contains(err.Error(), "exit 1:") {
			return err
		}
		return f.program(ctx, name, hold.Files(), "/proc/self/fd/3")
	})
	s.Check = f.content(d, func(c probe.Content) bool {
		return c.Filesystem != nil && c.Filesystem.UUID == fs.UUID && f.filesystemSize(d, c.Filesystem) > size
	})
	return []step.Step{s}
}
