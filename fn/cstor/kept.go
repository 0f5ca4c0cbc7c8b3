package cstor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// describe names a device as a person knows it.
func describe(d *inventory.BlockDevice) string {
	return strings.TrimLeft(d.Path+" "+quantity.Size(d.Capacity)+" "+d.Type().String(), " ")
}

// keepDevices records what stays, and warns of what is not well.
func keepDevices(in *input, node string, r record.Role, names []string) {
	for _, name := range names {
		d, of := in.facts.Device(in.namespace, name), in.standing.Pool(node)
		doubt := ""
		if d != nil {
			doubt = in.doubt(node, name)
		}
		switch {
		case d == nil:
			in.choose(in.deviceRef(name), node, r, place.Held, "it is missing from the inventory")
			in.report(finding.Warning, "device-missing", "", "block device %s of node %s is missing from the inventory; it is held in its place", name, node)
		case of != nil && d.Hostname != of.Hostname:
			in.choose(in.deviceRef(name), node, r, place.Held, "it is on host "+d.Hostname+" now")
		case d.State != "Active":
			in.choose(in.deviceRef(name), node, r, place.Held, "it is "+d.State)
			warnOfInactive(in, node, r, d)
		case doubt != "":
			in.choose(in.deviceRef(name), node, r, place.Held, doubt)
			in.report(finding.Warning, "device-doubtful", "", "block device %s of node %s keeps its place, but %s; if the pool is not made yet, do not apply this: look at the disk", name, node, doubt)
		default:
			in.choose(in.deviceRef(name), node, r, place.Kept, "it is in its place already: "+describe(d))
		}
	}
}

// doubt says why a block device of a node should perhaps not be in its place, or "": what is on it may
// belong to another object, it is another disk than the one that was chosen, or it has changed since. Partitions
// on a device that the cluster has claimed are those that ZFS makes.
func (in *input) doubt(node, name string) string {
	on, want, was := in.disk(name), in.keep(node), in.standing.SetOf(node).Known[name]
	want.MinCapacity = was.Size
	verdict := in.ledger.Verdict(on, want)
	doubt := verdict.Doubt()
	if partitioned := verdict.Of(disk.Partitioned); doubt == "" && partitioned != "" {
		if claim := in.facts.ClaimOf(on.Device); claim == nil || claim.PoolCluster != want.PoolCluster {
			doubt = partitioned
		}
	}
	if doubt == "" && !on.Is(was.Identity) {
		doubt = "it is another disk now, " + on.Known().String() + ", and was " + was.String()
	}
	return cmp.Or(doubt, verdict.Of(disk.TooSmall), in.ledger.Renamed(on, was.Links))
}

// warnOfInactive tells of a device that is not Active and stays, and how one of a pool is
// replaced. What becomes of one that is to be replaced, the replacement tells.
func warnOfInactive(in *input, node string, r record.Role, d *inventory.BlockDevice) {
	p, way := in.standing.Pool(node), ""
	if r == record.Data && p != nil && p.RAIDType != pool.Stripe && in.live.isRunning(p.Pool) {
		if in.cfg.Spec.PoolConfig.AutoReplace || slices.Contains(in.spec.Object.AnnotationList(annotationReplace), d.Name) {
			return
		}
		way = "; to have another one take it, annotate the config with " + annotationReplace + ": " + d.Name
	}
	in.report(finding.Warning, "device-inactive", "", "block device %s of node %s is %s; it keeps its place, look at the disk%s", d.Name, node, d.State, way)
}
