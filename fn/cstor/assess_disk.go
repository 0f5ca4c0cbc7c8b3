package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

// replacement judges one disk of a redundant RAID group that is replaced: what is
// on it must be elsewhere. Where that cannot be told, it is taken to be nowhere.
func (a assessment) replacement(p *pool.Pool, out string) (change.Risk, string) {
	well := func(name string) bool { return isWell(a.facts.Device(a.Ref.Namespace, name)) }
	if !p.Survives(out, well) {
		return change.Destructive, "what is on it cannot be rebuilt from the rest of its RAID group: " + finding.Names(a.unwell(p, out)) + "; bring that back first"
	}
	const rebuilt = "the pool rebuilds it (resilver), and has less redundancy until that is done"
	phase, rebuilding := a.phase(p.Hostname)
	switch upper := strings.ToUpper(phase); {
	case rebuilding: // a pool stays ONLINE while a disk that is well is replaced
		return change.Destructive, "the pool is " + phase + " and rebuilds another disk, for which it may need this one; wait until the replacement is done"
	case upper == "ONLINE":
		return change.Disruptive, rebuilt
	case phase == "":
		return change.Disruptive, rebuilt + "; the inventory does not show whether the pool is ONLINE"
	case upper == "DEGRADED" && explained(a.facts, a.Ref.Namespace, p, out):
		return change.Disruptive, rebuilt
	}
	return change.Destructive, "the pool is " + phase + ", and the inventory does not show which disk it lacks: if it is another, what is on this one is lost"
}

// phase is the state of the pool on a host, "" if it is not known, and whether it
// rebuilds a disk.
func (a assessment) phase(hostname string) (phase string, rebuilding bool) {
	for _, i := range a.instances() {
		if i.RunsOn == hostname {
			return i.Phase, i.Rebuilds()
		}
	}
	return "", false
}

// unwell says what is wrong with the other disks of the RAID group of a disk.
func (a assessment) unwell(p *pool.Pool, disk string) []string {
	var faults []string
	for _, group := range p.Data {
		if !slices.Contains(group, disk) {
			continue
		}
		for _, name := range group {
			switch device := a.facts.Device(a.Ref.Namespace, name); {
			case name == disk, isWell(device):
			case device == nil:
				faults = append(faults, "block device "+name+" is not in the inventory")
			default:
				faults = append(faults, "block device "+name+" is "+device.State)
			}
		}
	}
	return faults
}

func isWell(d *inventory.BlockDevice) bool { return d != nil && d.State == "Active" }

// explained reports whether a pool is degraded by a disk that is known: the one
// that goes, or another that failed.
func explained(facts *inventory.Facts, namespace string, p *pool.Pool, out string) bool {
	return slices.ContainsFunc(p.Disks(), func(name string) bool {
		device := facts.Device(namespace, name)
		return !isWell(device) && (name == out || device != nil)
	})
}
