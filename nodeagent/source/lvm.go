package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
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

// lvmCommand is one run of LVM on a group, or on a logical volume in it.
type lvmCommand struct {
	*job
	// group is the group as it was planned on, without a UUID where it is to be made.
	group lvm.Group
	// volume is the same of a logical volume; nil where it is the group that changes.
	volume *lvm.LV
	// take are the devices that become the group's, which are held empty meanwhile.
	take []*device.Device
	args []string
	// right says whether group and volume, each nil where it is not there, are as they should be
	// afterwards.
	right func(*lvm.Group, *lvm.LV) bool
}

// step makes a step of it. LVM takes names: that they mean what they meant is looked at before and after.
func (c lvmCommand) step(kind, uuid string) step.Step {
	var on *device.Device
	if len(c.take) > 0 {
		on = c.take[0]
	}
	s := c.job.step(kind, uuid, on)
	s.Target = "group " + c.group.Name
	s.Before = "the group is the one meant, by its UUID"
	if c.volume != nil {
		s.Entry.Disk = c.entry.Disk
		s.Target = fmt.Sprintf("%s/%s (group %s)", c.group.Name, c.volume.Name, c.group.UUID)
		s.Before = "group and volume are those meant, by their UUIDs"
	}
	for _, d := range c.take {
		s.Target += ", " + target(c.facts.Devices, d)
		s.Before = "the group is the one meant, by its UUID; the guard for each device, which is empty"
	}
	s.Destroys = len(c.take) > 0
	s.Command, s.After = "lvm "+strings.Join(c.args, " "), "LVM reports it"
	s.Prepare, s.Do, s.Check = c.prepare, c.run, c.check
	return s
}

// look is what group and volume are now. Another group of the name is refused.
func (c lvmCommand) look(ctx context.Context) (*lvm.Group, *lvm.LV, error) {
	state, err := lvm.Read(ctx, c.Host.Tools)
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
	var held holds
	for _, d := range c.take {
		hold, err := guard.Acquire(ctx, c.Host, guard.Claim{Device: d, Identity: identityOf(c.facts.Devices, d), Content: empty(d)})
		if err != nil {
			return nil, errors.Join(err, held.Close())
		}
		held = append(held, hold)
	}
	return held, nil
}

func (c lvmCommand) run(ctx context.Context, held io.Closer) error {
	devices, _ := held.(holds)
	if err := devices.same(); err != nil {
		return err
	}
	if err := c.program(ctx, "lvm", nil, c.args...); err != nil {
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

// holds are several devices that are held together.
type holds []*guard.Hold

func (h holds) same() error {
	for _, one := range h {
		if err := one.Same(); err != nil {
			return err
		}
	}
	return nil
}

// Close gives all of them free.
func (h holds) Close() error {
	var err error
	for _, one := range h {
		err = errors.Join(err, one.Close())
	}
	return err
}
