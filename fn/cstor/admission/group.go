package admission

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/quantity"
)

// groups checks the RAID groups of the pools that stay.
func (r *review) groups() {
	for _, c := range r.Reshaped {
		otherwise := Broken
		if c.Cache {
			otherwise = Ignored
		}
		p := Problem{Outcome: r.unchecked(c.Host, otherwise), Rule: c.Rule, Host: c.Host, Cache: c.Cache, Text: c.Text, Words: c.Words}
		if c.Rule == "raid-type" && p.Outcome == Broken {
			p.Text += ", and the operator would list every disk twice"
		}
		r.add(p)
	}
	for _, replaced := range r.Replaced {
		if !replaced.Cache {
			r.replacement(replaced)
		}
	}
}

// predecessorRemedy is what to do about a disk that is the predecessor of a claim.
const predecessorRemedy = "wait until that replacement is done and the claim has lost the annotation, or delete the claim if the replacement was refused; or take another disk"

// replacement checks one disk that takes the place of another.
func (r *review) replacement(c Replacement) {
	p := Problem{Outcome: Refused, Host: c.Host, Disk: c.In}
	out, in := r.Facts.Device(r.wanted.Namespace, c.Out), r.Facts.Device(r.wanted.Namespace, c.In)
	if !r.Checks(c.Host) {
		p.Outcome, p.Rule = Ignored, "replacement-hostname"
		p.Text = "cannot take the place of " + c.Out + ": the hostname label of the node is not its name, so that the new disk is never claimed, and the operator waits for that for ever"
		p.Remedy = "give the node its own name as hostname label"
		r.add(p)
		return
	}
	if under := r.underWay(c); under != "" {
		p.Rule = "replacement-under-way"
		p.Text = "cannot take the place of " + c.Out + ": a replacement in its RAID group is under way, which the claim of " + under + " shows (openebs.io/bd-predecessor)"
		p.Remedy = "wait until it is done"
		r.add(p)
	}
	switch {
	case slices.Contains(r.old.Disks(), c.In):
		p.Rule, p.Remedy = "replacement-in-use", ""
		p.Text = "cannot take the place of " + c.Out + ": it is in the cluster already, and nothing is claimed for it"
	case r.Facts.SuccessorOf(r.wanted.Namespace, c.In) != nil:
		claim := r.Facts.SuccessorOf(r.wanted.Namespace, c.In).Name
		p.Rule, p.Remedy = "replacement-predecessor", predecessorRemedy
		p.Text = "cannot take the place of " + c.Out + ": BlockDeviceClaim " + claim + " names it as its predecessor (openebs.io/bd-predecessor), so another disk is taking its place"
	case out == nil && r.knows(deviceGroup, blockDeviceKind):
		p.Rule, p.Remedy = "replacement-unknown", "bring the BlockDevice back"
		p.Text = "cannot take the place of " + c.Out + ": that is gone, and the webhook cannot compare their sizes"
	case out != nil && in != nil && in.Capacity < out.Capacity:
		p.Rule, p.Remedy = "replacement-smaller", "take one that is as large"
		p.Text = fmt.Sprintf("cannot take the place of %s: it is smaller, %s and not %s", c.Out, quantity.Size(in.Capacity), quantity.Size(out.Capacity))
	default:
		return
	}
	r.add(p)
}

// underWay is a disk of the group whose claim says that it replaces another, or "".
func (r *review) underWay(c Replacement) string {
	for _, name := range slices.Sorted(slices.Values(c.Group)) {
		d := r.Facts.Device(r.wanted.Namespace, name)
		if d == nil {
			continue
		}
		if claim := r.Facts.ClaimOf(d); claim != nil && claim.Predecessor != "" {
			return name
		}
	}
	return ""
}

// caches says of write caches that they stay as they are, where the webhook lets the edit pass.
func (r *review) caches() {
	for _, host := range r.Caches {
		if slices.ContainsFunc(r.Reshaped, func(c Reshape) bool { return c.Cache && c.Host == host }) {
			continue
		}
		r.add(Problem{Outcome: Ignored, Rule: "write-cache", Host: host, Text: "its write cache stays as it is"})
	}
}

// Claims lists the disks that the webhook may claim while it looks at an edit, also in a
// dry run: what comes into a RAID group in the place of others. What is in the cluster
// already, such as disks that swap places, it refuses and does not claim.
func Claims(old, wanted *pool.Cluster) []string {
	before, inUse := index(old.Pools), old.Has()
	var names []string
	for _, p := range wanted.Pools {
		o := before[p.Hostname]
		if o == nil {
			continue
		}
		for _, m := range append(match(o.Data, p.Data), match(o.Cache, p.Cache)...) {
			for _, name := range m.in {
				if m.new != nil && len(m.out) > 0 && !inUse[name] {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
