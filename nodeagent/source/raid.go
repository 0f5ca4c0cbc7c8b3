package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/raid"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// raidDrive is a Volume on a drive behind a RAID controller: on a virtual drive of that drive
// alone, which is ours by its name, or on the drive as JBOD.
type raidDrive struct {
	volume
	adapter    raid.Adapter
	controller raid.Controller
	drive      raid.Drive
	name       string // of our virtual drive
}

// raidDrive finds the drive. Its identity is serial number and WWN; its place is a hint.
func (v volume) raidDrive(ctx context.Context) (raidDrive, error) {
	r := raidDrive{volume: v, name: mark.Short(v.uuids[0])}
	return r, r.look(ctx)
}

// look reads the controller again.
func (r *raidDrive) look(ctx context.Context) error {
	spec := r.request.Volume.Spec.RAID
	reader, controller, err := raid.Find(ctx, raid.Readers(r.Host.Tools), spec.Controller)
	switch {
	case errors.Is(err, host.ErrMissing):
		return guard.Refuse(guard.RuleTool, "%v", err)
	case errors.Is(err, raid.ErrNoController):
		return guard.Refuse(guard.RuleNotFound, "there is no RAID controller %d on this node", spec.Controller)
	case err != nil:
		return fmt.Errorf("RAID controller %d: %w", spec.Controller, err)
	}
	adapter, err := guard.Adapter(reader, spec.Controller)
	if err != nil {
		return err
	}
	drive, err := controller.Drive(spec.Drive.WWN, spec.Drive.Serial)
	switch {
	case spec.Drive.WWN == "" && spec.Drive.Serial == "":
		return guard.Refuse(guard.RuleIdentity, "neither wwn nor serial of the drive is declared")
	case err != nil:
		return guard.Refuse(guard.RuleTwin, "%v", err)
	case drive == nil:
		return guard.Refuse(guard.RuleNotFound, "no drive of the controller %d has wwn %q and serial %q", spec.Controller, spec.Drive.WWN, spec.Drive.Serial)
	}
	r.adapter, r.controller, r.drive = adapter, controller, *drive
	return nil
}

func (r raidDrive) plan() (Result, error) {
	var d *device.Device
	var steps []step.Step
	var err error
	if r.level() == raid.JBOD {
		d, steps, err = r.asJBOD()
	} else {
		d, steps, err = r.virtualDrive()
	}
	switch {
	case err != nil:
		return Result{}, err
	case d == nil:
		return Result{Steps: append(steps, r.later(r.uuids[0])...), Notes: r.hints()}, nil
	case len(steps) > 0:
		return Result{Steps: steps, Device: d, Notes: r.hints()}, nil
	}
	result, err := r.put(d)
	result.Notes = append(result.Notes, r.hints()...)
	return result, err
}

func (r raidDrive) level() string {
	if r.request.Volume.Spec.RAID.Level == raid.JBOD {
		return raid.JBOD
	}
	return raid.RAID0
}

// hints reports a drive that is elsewhere than the spec says.
func (r raidDrive) hints() []string {
	var notes []string
	want := r.request.Volume.Spec.RAID.Drive
	if want.Enclosure != nil && (r.drive.Enclosure == nil || *want.Enclosure != *r.drive.Enclosure) || want.Slot != nil && *want.Slot != r.drive.Slot {
		notes = append(notes, "the drive is at "+r.drive.Place()+" of its controller, and the spec says another place")
	}
	return notes
}

// virtualDrive is the device of our virtual drive, or the step that remains.
func (r raidDrive) virtualDrive() (*device.Device, []step.Step, error) {
	over, cache := r.controller.Over(r.drive), r.cache()
	if cache.Write != "" && cache.Write != "wt" && !r.controller.Battery {
		return nil, nil, guard.Refuse(guard.RuleRAID, "the controller %d has no battery that is well: with the write cache %s a power failure would lose what was written; use wt", r.controller.Index, cache.Write)
	}
	if over == nil {
		if r.entry.Made {
			return nil, nil, guard.Refuse(guard.RuleNotFound, "the virtual drive of this Volume is gone from the controller %d: it is not recreated; restore it, or delete the Volume", r.controller.Index)
		}
		if err := r.free(); err != nil {
			return nil, nil, err
		}
		return nil, []step.Step{r.create()}, nil
	}
	if err := r.ours(*over); err != nil {
		return nil, nil, err
	}
	if !over.Optimal() {
		return nil, nil, guard.Refuse(guard.RuleRAID, "the virtual drive %d of the controller %d is %s", over.ID, r.controller.Index, over.Said)
	}
	d, err := r.shown(over.WWN)
	if err != nil {
		return nil, nil, err
	}
	if !cache.Holds(over.Cache) {
		return d, []step.Step{r.setCache(*over)}, nil
	}
	return d, nil, nil
}

// asJBOD is the device of the drive, or the step that remains. It is never turned back.
func (r raidDrive) asJBOD() (*device.Device, []step.Step, error) {
	if r.drive.State == raid.AsJBOD {
		d, err := r.shown(r.drive.WWN)
		return d, nil, err
	}
	if r.entry.Made {
		return nil, nil, guard.Refuse(guard.RuleNotFound, "the drive %s is %s, and was JBOD: it is not turned again; restore it, or delete the Volume", r.drive.Place(), r.drive.Said)
	}
	if err := r.free(); err != nil {
		return nil, nil, err
	}
	s := r.step("make-jbod", r.uuids[0], nil)
	s.Alone = r.alone()
	s.Target, s.Command = r.target(), r.adapter.Name()+" set jbod"
	s.Before, s.After = "the drive is the one declared, good, and in no configuration", "it is JBOD"
	r.writes(&s, func(ctx context.Context, now raidDrive) error {
		return now.adapter.SetJBOD(ctx, now.controller.Index, now.drive, now.run)
	}, func(now raidDrive) bool { return now.drive.State == raid.AsJBOD })
	return nil, []step.Step{s}, nil
}

// free refuses a drive that is not free for a new configuration.
func (r raidDrive) free() error {
	if refusals := guard.Drive(r.controller, r.drive); len(refusals) > 0 {
		return refusals[0]
	}
	if r.controller.Named(r.name) != nil {
		return guard.Refuse(guard.RuleTwin, "the controller %d has a virtual drive %s of another drive, which is the mark of this Volume", r.controller.Index, r.name)
	}
	return nil
}

// ours refuses a virtual drive that is not this Volume's.
func (r raidDrive) ours(v raid.Virtual) error {
	if v.Name == r.name && v.Level == raid.RAID0 && len(v.Places) == 1 {
		return nil
	}
	return guard.Refuse(guard.RuleHeld, "the drive %s is in the virtual drive %d (%s, %q) of the controller %d, which is not of this Volume", r.drive.Place(), v.ID, v.Level, v.Name, r.controller.Index)
}

// shown is the device that the machine has of a virtual drive, or of a drive that is JBOD.
func (r raidDrive) shown(wwn string) (*device.Device, error) {
	found := r.facts.Devices.Candidates(device.Identity{WWN: wwn})
	switch {
	case wwn == "":
		return nil, guard.Refuse(guard.RuleIdentity, "the drive %s has no WWN, by which its device could be known", r.drive.Place())
	case len(found) == 0:
		return nil, guard.Refuse(guard.RuleUnsettled, "the controller %d shows the drive, and the machine has no disk with wwn %s yet", r.controller.Index, wwn)
	case len(found) > 1:
		return nil, guard.Refuse(guard.RuleTwin, "%s and %s both have wwn %s", found[0], found[1], wwn)
	}
	return r.known(found[0])
}

func (r raidDrive) cache() raid.Cache {
	want := r.request.Volume.Spec.RAID.CachePolicy
	return raid.Cache{Read: want.Read, Write: want.Write, IO: want.IO}
}

func (r raidDrive) target() string {
	return fmt.Sprintf("drive %s of controller %d (wwn %s, serial %s)", r.drive.Place(), r.controller.Index, r.drive.WWN, r.drive.Serial)
}

// run runs a program that writes; it inherits the object's lock.
func (r raidDrive) run(ctx context.Context, name string, args ...string) (host.Result, error) {
	return r.Host.Tools.Run(ctx, host.Command{Name: name, Args: args, Writes: true, Files: []*os.File{r.lock}})
}

// writes makes a step look again at the controller before it writes, and after.
func (r raidDrive) writes(s *step.Step, do func(context.Context, raidDrive) error, right func(raidDrive) bool) {
	s.Prepare = func(ctx context.Context) (io.Closer, error) {
		now := r
		if err := now.look(ctx); err != nil {
			return nil, err
		}
		if now.drive.State != r.drive.State || now.drive.Place() != r.drive.Place() {
			return nil, guard.Refuse(guard.RuleRAID, "the drive %s is not what it was a moment ago: %s", r.drive.Place(), now.drive.Said)
		}
		return nil, nil
	}
	s.Do = func(ctx context.Context, _ io.Closer) error {
		now := r
		if err := now.look(ctx); err != nil {
			return err
		}
		return do(ctx, now)
	}
	s.Check = func(ctx context.Context) error {
		now := r
		if err := now.look(ctx); err != nil {
			return err
		}
		if !right(now) {
			return fmt.Errorf("%s says %s of the drive %s, and %+v over it", now.adapter.Name(), now.drive.Said, now.drive.Place(), now.controller.Over(now.drive))
		}
		return nil
	}
}

func (r raidDrive) create() step.Step {
	s := r.step("create-virtual-drive", r.uuids[0], nil)
	s.Alone = r.alone()
	s.Target, s.Command = r.target(), fmt.Sprintf("%s add vd of level 0, name %s, of that drive alone; it is not initialized", r.adapter.Name(), r.name)
	s.Before, s.After = "the drive is the one declared, good, and in no configuration", "the virtual drive is there, with our name and that drive"
	r.writes(&s, func(ctx context.Context, now raidDrive) error {
		if err := now.free(); err != nil {
			return err
		}
		return now.adapter.Create(ctx, now.controller.Index, now.drive, now.name, now.cache(), now.run)
	}, func(now raidDrive) bool {
		over := now.controller.Over(now.drive)
		return over != nil && now.ours(*over) == nil
	})
	return s
}

func (r raidDrive) setCache(v raid.Virtual) step.Step {
	want := r.cache()
	s := r.step("set-cache-policy", r.uuids[0], nil)
	s.Alone = r.alone()
	s.Target = fmt.Sprintf("virtual drive %d of controller %d (wwn %s)", v.ID, r.controller.Index, v.WWN)
	s.Command = fmt.Sprintf("%s set rdcache, wrcache, iopolicy: %+v", r.adapter.Name(), want)
	s.Before, s.After = "the virtual drive is ours by its name", "it has the policy"
	r.writes(&s, func(ctx context.Context, now raidDrive) error {
		over := now.controller.Over(now.drive)
		if over == nil || over.WWN != v.WWN {
			return guard.Refuse(guard.RuleRAID, "the virtual drive over %s is another one than a moment ago", now.drive.Place())
		}
		return now.adapter.SetCache(ctx, now.controller.Index, over.ID, want, now.run)
	}, func(now raidDrive) bool {
		over := now.controller.Over(now.drive)
		return over != nil && want.Holds(over.Cache)
	})
	return s
}

// remove zeroes what is ours, and takes our virtual drive away. A drive that is JBOD stays that.
func (r raidDrive) remove() ([]step.Step, error) {
	if r.level() == raid.JBOD {
		if r.drive.State != raid.AsJBOD {
			return nil, nil
		}
		d, err := r.shown(r.drive.WWN)
		if err != nil {
			return nil, err
		}
		return r.eraseDisk(d)
	}
	over := r.controller.Over(r.drive)
	if over == nil {
		return nil, nil
	}
	if err := r.ours(*over); err != nil {
		if !r.entry.Made {
			return nil, nil // it was never made
		}
		return nil, err
	}
	d, err := r.shown(over.WWN)
	if err != nil {
		return nil, err
	}
	c, err := r.facts.Content(d)
	if err != nil {
		return nil, guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, err)
	}
	// What was on the drive before it was configured is somebody's, and stays.
	if r.entry.Made || r.halfDone(d, c, r.uuids) {
		if steps, err := r.eraseDisk(d); err != nil || len(steps) > 0 {
			return steps, err
		}
	}
	if refusals := guard.Uses(r.facts, d); len(refusals) > 0 {
		return nil, refusals[0]
	}
	return []step.Step{r.delete(*over, d)}, nil
}

func (r raidDrive) delete(v raid.Virtual, d *device.Device) step.Step {
	s := r.step("delete-virtual-drive", r.uuids[0], d)
	s.Alone = append(s.Alone, r.alone()...)
	s.Command, s.Destroys = fmt.Sprintf("%s delete of the virtual drive %s", r.adapter.Name(), r.name), true
	r.writes(&s, nil, func(now raidDrive) bool {
		return now.controller.Over(now.drive) == nil && now.controller.Named(now.name) == nil
	})
	s.Before, s.After = "the guard; the virtual drive is ours by its name, and has the WWN of the device", "the controller has it no more"
	s.Prepare = r.erase(guard.Claim{Device: d, Identity: identityOf(r.facts.Devices, d), Content: anything})
	s.Do = func(ctx context.Context, held io.Closer) error {
		hold, ok := held.(*guard.Erasure)
		if !ok {
			return errNotHeld
		}
		now := r
		if err := errors.Join(hold.Same(), now.look(ctx)); err != nil {
			return err
		}
		over := now.controller.Named(now.name)
		if over == nil || over.WWN != v.WWN {
			return guard.Refuse(guard.RuleRAID, "the virtual drive %s is another one than a moment ago", now.name)
		}
		return now.adapter.Delete(ctx, now.controller.Index, over.ID, now.run)
	}
	return s
}

// alone is the controller, whose programs are run one after the other.
func (r raidDrive) alone() []string {
	return []string{fmt.Sprintf("controller %d", r.controller.Index)}
}
