package source

import (
	"strings"

	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/guard"
)

// disk finds the one device that is declared: by identity, or by a link. A kernel name is
// taken as well, for Volumes of MetalK8s, and is safe as far as the disk's own identity is in
// the journal from the first write on.
func (j *job) disk(id device.Identity, path string) (*device.Device, error) {
	if path != "" {
		d, err := j.linked(path)
		if err != nil {
			return nil, err
		}
		if err := id.Differs(j.facts.Devices.Whole(d)); err != nil {
			return nil, guard.Refuse(guard.RuleIdentity, "%s is not the disk that is declared: %v", d.Path, err)
		}
		return d, nil
	}
	if !id.Known() {
		return nil, guard.Refuse(guard.RuleIdentity, "neither wwn nor serial is declared")
	}
	found := j.facts.Devices.Candidates(id)
	switch len(found) {
	case 1:
		return j.known(found[0])
	case 0:
		return nil, guard.Refuse(guard.RuleNotFound, "no disk of this node has %s", id)
	}
	return nil, guard.Refuse(guard.RuleTwin, "%s and %s both have %s", found[0], found[1], id)
}

func (j *job) linked(path string) (*device.Device, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/dev/" + path
	}
	d := j.facts.Devices.At(path)
	if d == nil {
		d = j.facts.Devices.Named(device.ReadLink(j.Host, path))
	}
	if d == nil {
		return nil, guard.Refuse(guard.RuleNotFound, "%s is not on this node", path)
	}
	if !d.Settled {
		return nil, guard.Refuse(guard.RuleUnsettled, "udev has not finished with %s", d.Path)
	}
	return j.known(d)
}

// known refuses another disk than the journal has for the object, and a path of a multipath
// map: the map is the disk.
func (j *job) known(d *device.Device) (*device.Device, error) {
	if j.facts.Devices.Whole(d).Kind == device.Loop {
		return nil, guard.Refuse(guard.RuleIdentity, "%s is a loop device, whose name says nothing: use sparseLoopDevice", d.Path)
	}
	if refusals := guard.Identified(j.facts.Devices, d); len(refusals) > 0 {
		return nil, refusals[0]
	}
	if refusals := guard.Twin(j.facts, j.facts.Devices.Whole(d)); len(refusals) > 0 {
		return nil, refusals[0]
	}
	now, was := j.record(d), j.entry.Disk
	if j.entry.Made && (now.WWN != was.WWN || now.Serial != was.Serial) && (was.WWN != "" || was.Serial != "") {
		return nil, guard.Refuse(guard.RuleIdentity, "%s is another disk than that of this object, which had wwn %q and serial %q", d, was.WWN, was.Serial)
	}
	return d, nil
}
