// Package guard is the one place that says whether a device may be written. It is the same
// for every source and every mode. One doubt is enough: nothing is written.
package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/probe"
)

// Rule is the name of a rule, as it stands in messages and in docs/node-agent.md.
type Rule string

// The rules, in the order in which they are reported.
const (
	RuleNotFound  Rule = "not-found"  // no disk has the declared identity
	RuleIdentity  Rule = "identity"   // it is another disk than declared, or has no identity
	RuleTwin      Rule = "twin"       // another disk has the same identity, or the same mark
	RuleUnsettled Rule = "unsettled"  // udev has not finished with it
	RuleReadOnly  Rule = "read-only"  // it cannot be written
	RuleSystem    Rule = "system"     // the machine itself runs on it
	RuleMounted   Rule = "mounted"    // it or a part of it is mounted
	RuleSwap      Rule = "swap"       // it is swapped on
	RuleHeld      Rule = "held"       // the kernel says that something is on it
	RuleExported  Rule = "exported"   // a loop device, or an NVMe target, is over it
	RuleClaimed   Rule = "claimed"    // somebody has it open for himself (O_EXCL)
	RuleLocked    Rule = "locked"     // somebody has it locked (flock)
	RulePartition Rule = "partitions" // it has partitions
	RuleContent   Rule = "content"    // something is on it that is not ours
	RuleUnread    Rule = "unreadable" // what is on it is not known
	RuleSpace     Rule = "space"      // it has not the room
	RuleGroup     Rule = "group"      // the volume group is not whole, or not the one meant
	RuleRAID      Rule = "raid"       // the RAID controller or the drive is not as it has to be
	RuleTool      Rule = "tool"       // a program is missing, or does not answer
	RuleAdopt     Rule = "adopt"      // it is ours, and was given up: taking it over needs a word
	RuleForget    Rule = "forget"     // a disk is to be given up that may still be there
	RuleSource    Rule = "source"     // the agent does not carry out this source
)

// Refusal says why a device may not be written.
type Refusal struct {
	Rule Rule
	Text string
}

// Error is the rule and the reason.
func (r Refusal) Error() string { return fmt.Sprintf("rule %s: %s", r.Rule, r.Text) }

// Refuse is a refusal with a formatted text.
func Refuse(rule Rule, format string, args ...any) Refusal {
	return Refusal{Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// Reason is that of the condition Ready for the rule.
func (r Refusal) Reason() api.Reason {
	switch r.Rule {
	case RuleNotFound, RuleUnsettled, RuleLocked, RuleReadOnly, RuleGroup, RuleRAID, RuleForget:
		return api.ReasonUnavailable
	case RuleIdentity, RuleTwin:
		return api.ReasonIdentity
	case RuleSpace:
		return api.ReasonNoSpace
	case RuleTool:
		return api.ReasonToolMissing
	case RuleSource:
		return api.ReasonCreationError
	}
	return api.ReasonForeignData
}

// Uses are the rules that a device breaks by being in use, whatever is on it. Partitions
// are judged by content, because a disk may be ours for the sake of its partitions.
func Uses(f *facts.Facts, d *device.Device) []Refusal {
	var out []Refusal
	refuse := func(rule Rule, format string, args ...any) { out = append(out, Refuse(rule, format, args...)) }
	if !d.Settled {
		refuse(RuleUnsettled, "udev has not finished with %s", d.Path)
	}
	if d.ReadOnly {
		refuse(RuleReadOnly, "%s is read-only", d.Path)
	}
	if why := f.Devices.System[d.Name]; why != "" {
		refuse(RuleSystem, "%s is of the system: %s", d.Path, why)
	}
	for _, one := range append([]*device.Device{d}, f.Devices.Partitions(d)...) {
		if len(one.Mounts) > 0 {
			refuse(RuleMounted, "%s is mounted at %s", one.Path, strings.Join(one.Mounts, ", "))
		}
		if one.Swap {
			refuse(RuleSwap, "%s is swapped on", one.Path)
		}
		if len(one.Holders) > 0 {
			refuse(RuleHeld, "%s is held by %s", one.Path, strings.Join(HolderNames(f.Devices, one), ", "))
		}
		for _, over := range exports(f, one) {
			refuse(RuleExported, "%s is under %s", one.Path, over)
		}
	}
	for _, name := range f.Devices.Below(d) {
		// What is over its disk is over a partition as well.
		if under := f.Devices.Named(name); under != d {
			for _, over := range exports(f, under) {
				refuse(RuleExported, "%s, which %s is on, is under %s", under.Path, d.Path, over)
			}
		}
	}
	return out
}

// HolderNames are what holds a device, by the names that device mapper gives.
func HolderNames(ds *device.Devices, d *device.Device) []string {
	var names []string
	for _, name := range d.Holders {
		if h := ds.Named(name); h != nil && h.Mapped != "" {
			name = h.Mapped
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// exports are loop devices and NVMe targets over a device. They open it without O_EXCL, and
// the kernel does not count them among its holders.
func exports(f *facts.Facts, d *device.Device) []string {
	paths := append([]string{d.Path}, d.Links...)
	var over []string
	for _, o := range f.Devices.All {
		if o.Backing != nil && o.Backing.Over(d) {
			over = append(over, o.Path)
		}
	}
	targets, _ := filepath.Glob(f.Host.Path("/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path"))
	for _, target := range targets {
		data, err := os.ReadFile(target)
		if path := strings.TrimSpace(string(data)); err == nil && (slices.Contains(paths, path) || f.Devices.At(path) == d) {
			over = append(over, "an NVMe target")
		}
	}
	return over
}

// Twin is the rule that another disk has the same identity.
func Twin(f *facts.Facts, d *device.Device) []Refusal {
	if twins := f.Devices.Twins(d); len(twins) > 0 {
		return []Refusal{Refuse(RuleTwin, "%s and %s have the same identity", d, twins[0])}
	}
	return nil
}

// Identified is the rule that a device can be known again: by WWN, serial number, or the
// UUID of a logical volume.
func Identified(ds *device.Devices, d *device.Device) []Refusal {
	whole := ds.Whole(d)
	if whole.WWN != "" || whole.Serial != "" || strings.HasPrefix(whole.UUID, "LVM-") || whole.Kind == device.Loop {
		return nil
	}
	return []Refusal{Refuse(RuleIdentity, "%s has neither a WWN nor a serial number, so that it cannot be known again", whole.Path)}
}

// Content is the rule that nothing is on a device.
func Content(f *facts.Facts, d *device.Device) []Refusal {
	c, err := f.Content(d)
	switch {
	case err != nil:
		return []Refusal{Refuse(RuleUnread, "%s cannot be read: %v", d.Path, err)}
	case !c.Empty():
		return []Refusal{Refuse(RuleContent, "%s has %s on it", d.Path, describe(c))}
	}
	if parts := f.Devices.Partitions(d); len(parts) > 0 {
		return []Refusal{Refuse(RulePartition, "%s has the partition %s", d.Path, parts[0].Path)}
	}
	return nil
}

func describe(c probe.Content) string {
	if len(c.Kinds) == 1 && c.Kinds[0] == "data" {
		return "data of an unknown kind"
	}
	text := strings.Join(c.Kinds, ", ")
	if c.Filesystem != nil {
		text += " (UUID " + c.Filesystem.UUID + ")"
	}
	return text
}

// Fresh are all rules for taking a whole device that nobody has.
func Fresh(f *facts.Facts, d *device.Device) []Refusal {
	return slices.Concat(Identified(f.Devices, d), Twin(f, d), Uses(f, d), Content(f, d))
}
