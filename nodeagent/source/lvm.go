package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
	"github.com/poolwright/poolwright/nodeagent/probe"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// lvmState is what LVM has on the node.
func (j *job) lvmState(ctx context.Context) (*lvm.State, error) {
	state, err := j.facts.LVM(ctx)
	switch {
	case errors.Is(err, host.ErrMissing):
		return nil, guard.Refuse(guard.RuleTool, "%v", err)
	case err != nil:
		return nil, guard.Refuse(guard.RuleTool, "LVM's state is not known: %v", err)
	}
	return state, nil
}

// answering refuses where one of the devices does not answer: LVM does not look at it, so that what it does not
// have may be there.
func (j *job) answering(devices []*device.Device) error {
	for _, d := range j.facts.Stuck() {
		if slices.Contains(devices, d) {
			return guard.Refuse(guard.RuleUnread, "%s cannot be read: %v", d.Path, apart.ErrStuck)
		}
	}
	return nil
}

// lvmCommand is one run of LVM on a group, or on a logical volume in it.
type lvmCommand struct {
	*job
	// group is the group as it was planned on, without a UUID where it is to be made.
	group lvm.Group
	// volume is the same of a logical volume; nil where it is the group that changes.
	volume *lvm.LV
	// take are the devices that become the group's, which are held empty meanwhile.
	take []*device.Device
	// grown is the physical volume of the group whose device has become larger, or nil.
	grown *lvm.PV
	args  []string
	// right says whether group and volume, each nil where it is not there, are as they should be
	// afterwards.
	right func(*lvm.Group, *lvm.LV) bool
}

// step makes a step of it. LVM takes names: that they mean what they meant is looked at before and after.
func (c lvmCommand) step(kind, uuid string) step.Step {
	var on *device.Device
	claims := c.claims()
	if len(claims) > 0 {
		on = claims[0].Device
	}
	s := c.job.step(kind, uuid, on)
	s.Target, s.Alone = "group "+c.group.Name, []string{"group " + c.group.Name}
	s.Before = "the group is the one meant, by its UUID"
	if c.volume != nil {
		s.Entry.Disk = c.entry.Disk
		s.Target = fmt.Sprintf("%s/%s (group %s)", c.group.Name, c.volume.Name, c.group.UUID)
		s.Before = "group and volume are those meant, by their UUIDs"
	}
	for _, claim := range claims {
		s.Target += ", " + target(c.facts.Devices, claim.Device)
		s.Alone = append(s.Alone, c.facts.Devices.Whole(claim.Device).Name)
		s.Before = "the group is the one meant, by its UUID; the guard for each device, which is empty"
		if c.grown != nil {
			s.Before = "the group is the one meant, by its UUID; the guard for the device, which has the physical volume"
		}
	}
	s.Destroys = len(c.take) > 0
	s.Command, s.After = "lvm "+strings.Join(c.args, " "), "LVM reports it"
	s.Prepare, s.Do, s.Check = c.prepare, c.run, c.check
	return s
}

// claims are the devices that LVM is handed, and what has to hold for them.
func (c lvmCommand) claims() []guard.Claim {
	var claims []guard.Claim
	for _, d := range c.take {
		claims = append(claims, guard.Claim{Device: d, Identity: identityOf(c.facts.Devices, d), Content: empty(d)})
	}
	if c.grown == nil {
		return claims
	}
	d := c.physical(*c.grown)
	// Its logical volumes are in use: what counts is whose it is.
	return append(claims, guard.Claim{Device: d, Identity: identityOf(c.facts.Devices, d), Shared: true, Content: func(content probe.Content) error {
		if content.PV == c.grown.UUID {
			return nil
		}
		return guard.Refuse(guard.RuleContent, "%s has %s on it, and not the physical volume %s", d.Path, strings.Join(content.Kinds, ", "), c.grown.UUID)
	}})
}

// look is what group and volume are now. Another group of the name is refused.
func (c lvmCommand) look(ctx context.Context) (*lvm.Group, *lvm.LV, error) {
	now, err := c.again() // a device may have stopped answering meanwhile
	if err != nil {
		return nil, nil, err
	}
	state, err := now.LVM(ctx)
	if err != nil {
		return nil, nil, err
	}
	named := state.Named(c.group.Name)
	switch {
	case len(named) == 0:
		return nil, nil, nil
	case len(named) > 1, c.group.UUID != "" && named[0].UUID != c.group.UUID:
		return nil, nil, c.another()
	case c.volume == nil:
		return named[0], nil, nil
	}
	return named[0], named[0].Find(c.volume.Name), nil
}

func (c lvmCommand) another() error {
	return guard.Refuse(guard.RuleGroup, "the volume group %s is another one than a moment ago", c.group.Name)
}

func (c lvmCommand) prepare(ctx context.Context) (io.Closer, error) {
	g, lv, err := c.look(ctx)
	switch {
	case err != nil:
		return nil, err
	case c.group.UUID == "" && g != nil:
		return nil, guard.Refuse(guard.RuleContent, "there is a volume group %s now", c.group.Name)
	case c.group.UUID != "" && g == nil:
		return nil, c.another()
	case c.volume != nil && (c.volume.UUID == "" && lv != nil || c.volume.UUID != "" && (lv == nil || lv.UUID != c.volume.UUID)):
		return nil, guard.Refuse(guard.RuleGroup, "%s/%s is not what it was a moment ago", c.group.Name, c.volume.Name)
	}
	return c.hold(ctx, g)
}

// hold locks the disks that the group is on, and holds those that it takes.
func (c lvmCommand) hold(ctx context.Context, g *lvm.Group) (io.Closer, error) {
	var held holds
	var names []string
	for _, claim := range c.claims() {
		hold, err := guard.Acquire(ctx, c.Host, claim)
		if err != nil {
			return nil, errors.Join(err, held.Close())
		}
		held.taken = append(held.taken, hold)
		names = append(names, c.facts.Devices.Whole(claim.Device).Name)
	}
	for _, d := range c.under(g) {
		if whole := c.facts.Devices.Whole(d); !slices.Contains(names, whole.Name) {
			names = append(names, whole.Name)
			lock, err := guard.Lock(ctx, c.Host, whole)
			if err != nil {
				return nil, errors.Join(err, held.Close())
			}
			held.locks = append(held.locks, lock)
		}
	}
	return held, nil
}

func (c lvmCommand) run(ctx context.Context, held io.Closer) error {
	devices, _ := held.(holds)
	if err := devices.same(); err != nil {
		return err
	}
	now, err := c.again()
	if err != nil {
		return err
	}
	args, err := now.Hidden().Command(ctx, c.Host.Tools, c.args...)
	if err != nil {
		return err
	}
	if err := c.program(ctx, "lvm", devices.files(), args...); err != nil {
		return err
	}
	return devices.same()
}

func (c lvmCommand) check(ctx context.Context) error {
	g, lv, err := c.look(ctx)
	switch {
	case err != nil:
		return err
	case c.volume != nil && g == nil:
		return c.another()
	case !c.right(g, lv):
		return fmt.Errorf("lvm reports %+v, %+v", g, lv)
	}
	return nil
}

// under are the devices that a group is on.
func (j *job) under(g *lvm.Group) []*device.Device {
	var devices []*device.Device
	if g == nil {
		return nil
	}
	for _, pv := range g.PVs {
		if d := j.physical(pv); d != nil {
			devices = append(devices, d)
		}
	}
	return devices
}

// physical is the device of a physical volume, or nil where it is missing.
func (j *job) physical(pv lvm.PV) *device.Device {
	if d := j.facts.Devices.At(pv.Path); d != nil {
		return d
	}
	return j.facts.Devices.Named(device.ReadLink(j.Host, pv.Path))
}

// holds are devices that are held together, and locks of disks.
type holds struct {
	taken []*guard.Hold
	locks []*os.File
}

// files are what LVM inherits, so that its disks are locked until it ends.
func (h holds) files() []*os.File {
	files := slices.Clone(h.locks)
	for _, one := range h.taken {
		files = append(files, one.Files()...)
	}
	return files
}

func (h holds) same() error {
	for _, one := range h.taken {
		if err := one.Same(); err != nil {
			return err
		}
	}
	return nil
}

// Close gives all of them free.
func (h holds) Close() error {
	var err error
	for _, one := range h.taken {
		err = errors.Join(err, one.Close())
	}
	for _, lock := range h.locks {
		err = errors.Join(err, lock.Close())
	}
	return err
}
