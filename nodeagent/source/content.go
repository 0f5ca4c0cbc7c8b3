package source

import (
	"context"
	"errors"
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
	return []string{"make-filesystem", "clear-half-done", "write-partition-table", "clear-table", "zero", step.Erase}
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

// acquire is the Prepare of a step that writes to a device.
func (j *job) acquire(claim guard.Claim) func(context.Context) (io.Closer, error) {
	return func(ctx context.Context) (io.Closer, error) {
		hold, err := guard.Acquire(ctx, j.Host, claim)
		if err != nil {
			return nil, err
		}
		return hold, nil
	}
}

// erase is the Prepare of a step that takes away what is on a device.
func (j *job) erase(claim guard.Claim) func(context.Context) (io.Closer, error) {
	claim.Lock = j.lock
	return func(ctx context.Context) (io.Closer, error) {
		e, err := guard.Erase(ctx, j.Host, claim)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
}

var errNotHeld = errors.New("nothing is held")

// onHold makes a Do of what writes to a held device. The device is compared again after it.
func onHold(write func(ctx context.Context, hold *guard.Hold) error) func(context.Context, io.Closer) error {
	return func(ctx context.Context, held io.Closer) error {
		hold, ok := held.(*guard.Hold)
		if !ok {
			return errNotHeld
		}
		if err := write(ctx, hold); err != nil {
			return err
		}
		return hold.Same()
	}
}

// onErasure makes the same of what takes away what is on a device.
func onErasure(write func(ctx context.Context, e *guard.Erasure) error) func(context.Context, io.Closer) error {
	return func(ctx context.Context, held io.Closer) error {
		e, ok := held.(*guard.Erasure)
		if !ok {
			return errNotHeld
		}
		if err := write(ctx, e); err != nil {
			return err
		}
		return e.Same()
	}
}

// identityOf is what the guard compares: what was found when the step was planned.
func identityOf(ds *device.Devices, d *device.Device) device.Identity {
	whole := ds.Whole(d)
	return device.Identity{WWN: whole.WWN, Serial: whole.Serial}
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

// ownedBy is a claim's content: our mark, or what a zeroing of ours that was cut off has left.
func (j *job) ownedBy(d *device.Device, uuids []string) func(probe.Content) error {
	return func(c probe.Content) error {
		ours := c.Filesystem != nil && slices.Contains(uuids, c.Filesystem.UUID) ||
			c.Table != nil && slices.Contains(uuids, c.Table.GUID)
		if ours || j.halfDone(d, c, uuids) || c.Empty() && j.entry.Made && j.entry.Disk.Same(j.record(d)) {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %v on it, and not our mark", d.Path, c.Kinds)
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

// blank is a check that nothing is on a device.
func (j *job) blank(d *device.Device) func(context.Context) error {
	return j.content(d, func(c probe.Content) bool { return c.Empty() })
}

// clearHalfDone takes away what a step of ours that was cut off has left, or what shows through in a new
// logical volume.
func (j *job) clearHalfDone(d *device.Device, uuids []string, fresh bool) step.Step {
	s := j.step("clear-half-done", uuids[0], d)
	s.Command = "BLKZEROOUT of the first and the last MiB"
	s.Before = "the guard; our mark or nothing that has a name, on the disk of the journal"
	if fresh {
		s.Before = "the guard; the logical volume is new and ours by its tags"
	}
	s.After, s.Destroys = "both are zero", true
	s.Prepare = j.erase(guard.Claim{Device: d, Identity: identityOf(j.facts.Devices, d), Content: func(c probe.Content) error {
		if fresh || halfDoneContent(c, uuids) {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %s on it", d.Path, strings.Join(c.Kinds, ", "))
	}})
	s.Do = onErasure(func(ctx context.Context, e *guard.Erasure) error { return e.ZeroEdges(ctx) })
	s.Check = j.blank(d)
	return s
}
