package source

import (
	"testing"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/raid"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// TestRAIDSaid: what is reported of a drive whose controller or virtual drive is not as it has to be, without any
// of it being there.
func TestRAIDSaid(t *testing.T) {
	const lost = "; restore it, or delete the Volume"
	good := raid.Drive{Slot: 4, Serial: "S1", WWN: "0x5000c500a1b2c3d4", State: raid.Unconfigured, Said: "UGood"}
	over := func(name, level, said string) []raid.Virtual {
		return []raid.Virtual{{ID: 7, Name: name, Level: level, Said: said, Places: []string{":4"}}}
	}
	for _, c := range []struct {
		write   string
		jbod    bool
		made    bool
		virtual []raid.Virtual
		said    string // of the drive
		want    string
	}{
		{write: "wb", want: "rule raid: the controller 1 has no battery that is well: with the write cache wb a power failure would lose what was written; use wt"},
		{made: true, want: "rule not-found: the virtual drive of this Volume is gone from the controller 1: it is not recreated" + lost},
		{made: true, jbod: true, want: "rule not-found: the drive :4 is UGood, and was JBOD: it is not turned again" + lost},
		{virtual: over("other", raid.RAID0, "Optl"), want: `rule held: the drive :4 is in the virtual drive 7 (raid0, "other") of the controller 1, which is not of this Volume`},
		{virtual: over("ours", "raid1", "Optl"), want: `rule held: the drive :4 is in the virtual drive 7 (raid1, "ours") of the controller 1, which is not of this Volume`},
		{virtual: over("ours", raid.RAID0, "OfLn"), want: "rule raid: the virtual drive 7 of the controller 1 is OfLn"},
		{virtual: over("ours", raid.RAID0, "Optl"), want: "rule identity: the drive :4 has no WWN, by which its device could be known"},
		{virtual: []raid.Virtual{{Name: "ours", Places: []string{":9"}}}, want: "rule twin: the controller 1 has a virtual drive ours of another drive, which is the mark of this Volume"},
	} {
		v := &api.Volume{Spec: api.VolumeSpec{RAID: &api.RAIDDAS{Controller: 1}}}
		v.Spec.RAID.CachePolicy.Write = c.write
		r := raidDrive{
			volume: volume{job: &job{facts: &facts.Facts{Devices: &device.Devices{}}, entry: step.Entry{Made: c.made}}, request: Request{Volume: v}, uuids: []string{"u"}},
			drive:  good, name: "ours", controller: raid.Controller{Index: 1, Drives: []raid.Drive{good}, Virtual: c.virtual},
		}
		plan := r.virtualDrive
		if c.jbod {
			plan = r.asJBOD
		}
		if _, _, err := plan(); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}
