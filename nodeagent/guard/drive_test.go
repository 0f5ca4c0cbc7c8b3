package guard_test

import (
	"testing"

	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/raid"
)

// TestDrive: a drive is taken that is known, good, in no configuration, and behind a controller that has nothing foreign.
func TestDrive(t *testing.T) {
	good := raid.Drive{Slot: 4, Serial: "S1", WWN: "0x5000c500a1b2c3d4", State: raid.Unconfigured, Said: "UGood"}
	with := func(change func(*raid.Controller, *raid.Drive)) (raid.Controller, raid.Drive) {
		c, d := raid.Controller{Index: 1}, good
		change(&c, &d)
		c.Drives = append(c.Drives, d)
		return c, d
	}
	for want, change := range map[string]func(*raid.Controller, *raid.Drive){
		"": func(*raid.Controller, *raid.Drive) {},
		"rule identity: the drive :4 of the controller 1 has neither a WWN nor a serial number, so that it cannot be known again": func(_ *raid.Controller, d *raid.Drive) {
			d.WWN, d.Serial = "", ""
		},
		"rule twin: the drives :3 and :4 of controller 1 have the same identity": func(c *raid.Controller, _ *raid.Drive) {
			twin := good
			twin.Slot = 3
			c.Drives = append(c.Drives, twin)
		},
		"rule raid: a drive of the controller 1 has a foreign configuration, which the agent never clears: import or clear it yourself": func(c *raid.Controller, _ *raid.Drive) {
			c.Foreign = true
		},
		"rule raid: the drive :4 of the controller 1 is JBOD: only one that is good and unconfigured is taken, and none is turned from JBOD into RAID or back": func(_ *raid.Controller, d *raid.Drive) {
			d.State, d.Said = raid.AsJBOD, "JBOD"
		},
	} {
		got := ""
		if refusals := guard.Drive(with(change)); len(refusals) > 0 {
			got = refusals[0].Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// reader reports controllers, and changes nothing with them.
type reader struct{ raid.Reader }

func (reader) Name() string { return "ssacli" }

// TestAdapter: a controller that is only read is not written to.
func TestAdapter(t *testing.T) {
	const want = "rule source: the agent reads the controller 2 with ssacli, and changes nothing with it"
	if _, err := guard.Adapter(reader{}, 2); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
