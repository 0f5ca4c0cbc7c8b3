package guard

import (
	"github.com/poolwright/poolwright/nodeagent/raid"
)

// Adapter is the program with which a controller is changed, or the refusal where it only reads.
func Adapter(by raid.Reader, controller int) (raid.Adapter, error) {
	adapter, writes := by.(raid.Adapter)
	if !writes {
		return nil, Refuse(RuleSource, "the agent reads the controller %d with %s, and changes nothing with it", controller, by.Name())
	}
	return adapter, nil
}

// Drive are all rules for taking a drive behind a RAID controller. What is on it is not among them:
// nobody can read that before the controller shows the drive.
func Drive(c raid.Controller, d raid.Drive) []Refusal {
	var out []Refusal
	refuse := func(rule Rule, format string, args ...any) { out = append(out, Refuse(rule, format, args...)) }
	if d.WWN == "" && d.Serial == "" {
		refuse(RuleIdentity, "the drive %s of the controller %d has neither a WWN nor a serial number, so that it cannot be known again", d.Place(), c.Index)
	} else if _, err := c.Drive(d.WWN, d.Serial); err != nil {
		refuse(RuleTwin, "%v", err)
	}
	if c.Foreign {
		refuse(RuleRAID, "a drive of the controller %d has a foreign configuration, which the agent never clears: import or clear it yourself", c.Index)
	}
	if d.State != raid.Unconfigured {
		refuse(RuleRAID, "the drive %s of the controller %d is %s: only one that is good and unconfigured is taken, and none is turned from JBOD into RAID or back", d.Place(), c.Index, d.Said)
	}
	return out
}
