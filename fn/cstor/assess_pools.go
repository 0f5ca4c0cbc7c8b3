package cstor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// pools judges the pools of a CStorPoolCluster that is changed.
func (a assessment) pools() {
	a.poolsAddedAndRemoved()
	a.groups()
	for i := range a.Fields {
		f := &a.Fields[i]
		switch {
		case f.Action == change.Reorder && f.Under("spec.pools") && !f.Under("spec.pools[].poolConfig"):
			a.judge(change.Safe, f, "the operator ignores the order of pools, groups and disks")
		case f.Shape == "spec", f.Shape == "spec.pools", f.Shape == "spec.pools[].poolConfig":
			a.judge(change.Destructive, f, "%s", unheardOf)
		case !f.Under("spec.pools"), f.Shape == "spec.pools[]", f.Shape == groupDevices, isFilledIn(f):
		case f.Under("spec.pools[].poolConfig"):
			a.poolConfig(f)
		case f.Under("spec.pools[].nodeSelector"):
			a.judge(change.Disruptive, f, "the pool moves to another node: its disks must be there and be relabelled, and its I/O pauses until its pod runs there")
		case f.Under("spec.pools[].writeCacheRaidGroups"):
			a.writeCache(f)
		case f.Shape == "spec.pools[].dataRaidGroups[]" && f.Action == change.Remove:
			a.judge(change.Destructive, f, "a RAID group holds data of the pool and cannot be taken out: %s", a.refused(a.poolOf(f.Path), "the data is lost"))
		case f.Shape == "spec.pools[].dataRaidGroups[]" && f.Action == change.Add:
			a.groupAdded(f)
		case f.Under("spec.pools[].dataRaidGroups"):
			a.judge(change.Destructive, f, "%s", unheardOf)
		}
	}
}

const unheardOf = "changes the disks of pools in a way that no rule knows"

// isFilledIn reports whether a field is one of those that the operator may write
// into what was applied; they are never rendered.
func isFilledIn(f *change.Field) bool {
	for _, groups := range []string{"spec.pools[].dataRaidGroups[]", "spec.pools[].writeCacheRaidGroups[]"} {
		if f.Shape == groups+".blockDevices[].capacity" || f.Shape == groups+".blockDevices[].devLink" {
			return true
		}
	}
	return false
}

// groupAdded judges a RAID group that is new in a pool that stays.
func (a assessment) groupAdded(f *change.Field) {
	p := a.poolOf(f.Path)
	risk, problem := a.problem(pool.DecodeGroup(f.New))
	switch raidType := p.RAIDType; {
	case problem != "":
		a.judge(risk, f, "%s", problem)
	case raidType == "":
		a.judge(change.Destructive, f, "%s", unheardOf)
	case raidType == pool.Stripe:
		a.judge(change.Disruptive, f, "the webhook refuses it: a striped pool has exactly one RAID group")
	default:
		a.judge(change.Safe, f, "the pool grows by a RAID group while it is used")
	}
}

// problem says why disks cannot be newly in a pool, and what comes of it; "" if they can.
func (a assessment) problem(names []string) (change.Risk, string) {
	const refused, passes = ": the webhook refuses it, or else what is on it is lost", ": the webhook lets it pass, and what is on it is lost"
	if pooled := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(a.disks, name) }); len(pooled) > 0 {
		return change.Destructive, finding.Names(pooled) + " is in use in the pool cluster already" + refused
	}
	risk, text := change.Safe, ""
	for _, name := range names {
		if a.isRunning(name) {
			continue // what is on it is the pool's own
		}
		held, lost := a.occupied(name), passes
		problems := a.ofDisk[name]
		if slices.ContainsFunc(problems, func(p admission.Problem) bool { return p.Outcome == admission.Refused }) {
			lost = refused
		}
		if held != "" {
			return change.Destructive, name + " " + strings.TrimPrefix(held, "it ") + lost
		}
		for _, p := range problems {
			if p.Rule == "disk-twice" {
				continue
			}
			switch p.Outcome {
			case admission.Ignored:
				risk, text = change.Disruptive, name+" "+p.Text+": the webhook lets it pass, and the operator never carries it out"
			default:
				risk, text = change.Disruptive, name+" "+p.Text+": the webhook refuses it, and the sync stops here"
			}
		}
	}
	return risk, text
}

// occupied says what a device may hold that a pool cluster which gets it newly would
// destroy, or "".
func (a assessment) occupied(name string) string {
	d := a.ledger.Device(a.Ref.Namespace, name)
	return a.ledger.Verdict(d, disk.Want{
		Mine: a.mine, Namespace: a.Ref.Namespace, PoolCluster: a.Ref.Name,
		Volumes: func(v *inventory.Volume) bool { return a.renders(v.Claim, d.Node) },
	}).Occupied()
}

// isRunning reports whether a device is in a live pool of the pool cluster.
func (a assessment) isRunning(name string) bool {
	return slices.ContainsFunc(a.ledger.Device(a.Ref.Namespace, name).Holders(), func(h *disk.Holder) bool {
		return h.Source == disk.Live && a.mine(*h)
	})
}

// mine reports whether a hold is one of the pool cluster, or one that loses nothing: what
// a storage set in the lock only reserves, as a spare disk, has nothing on it.
func (a assessment) mine(h disk.Holder) bool {
	reserved := h.Source == disk.Lock && (h.Object.Kind == clusterConfigKind || h.Object.Kind == autoKind) && h.Role != ""
	switch {
	case h.Owner != "" && h.Owner == a.Owner(), reserved:
		return true
	case h.Object.Namespace != a.Ref.Namespace:
		return false
	case h.Object.Kind == poolInstanceKind:
		return slices.ContainsFunc(a.instances(), func(i *pool.Instance) bool { return i.Name == h.Object.Name })
	}
	return h.Object.Kind == poolClusterKind && h.Object.Name == a.Ref.Name
}

// renders reports whether a claim is one that is rendered for a cloud disk of the pool
// cluster.
func (a assessment) renders(claim inventory.Key, hostname string) bool {
	live := a.facts.Object(krm.ID{Kind: volumeClaimKind, Namespace: claim.Namespace, Name: claim.Name})
	if live != nil && live.Owner() != "" && live.Owner() == a.Owner() {
		return true
	}
	config := a.Ref.Name
	if owner, ok := krm.ParseOwner(a.Owner()); ok {
		config = owner.Name // of which this may be one of several pool clusters
	}
	const most = 100 // disks of a role on one node
	for _, n := range a.facts.Host(hostname) {
		for _, r := range []record.Role{record.Data, record.Cache, record.Spare} {
			for i := range most {
				if claim == (inventory.Key{Namespace: a.Ref.Namespace, Name: record.StorageName(config, n.Name, r, i)}) {
					return true
				}
			}
		}
	}
	return false
}

// claimedOutside lists the disks that the pool cluster has claimed and that are not
// among these.
func (a assessment) claimedOutside(names []string) []string {
	var outside []string
	for _, d := range pool.LiveOf(a.facts).ClaimedBy(a.Ref.Namespace, a.Ref.Name) {
		if !slices.Contains(names, d.Name) {
			outside = append(outside, d.Name)
		}
	}
	return outside
}

// counted counts disks, which are free only if the inventory knows that of each.
func (a assessment) counted(names []string) string {
	for _, name := range names {
		if device := a.facts.Device(a.Ref.Namespace, name); device == nil || device.ClaimState != "Unclaimed" {
			return finding.Count(len(names), "block device")
		}
	}
	return finding.Count(len(names), "free block device")
}

const groupDevices = "spec.pools[].dataRaidGroups[].blockDevices[]"

// writeCache judges an edit of a write cache, which the operator accepts and
// does not carry out.
func (a assessment) writeCache(f *change.Field) {
	for _, p := range a.problems {
		if p.Outcome == admission.Refused && p.Cache && p.Host == a.poolOf(f.Path).Hostname {
			a.judge(change.Disruptive, f, "the webhook refuses it, and the sync stops here: %s%s", p.Text, p.Quoted())
			return
		}
	}
	if f.Action == change.Remove {
		a.judge(change.Disruptive, f, "the operator does not carry this out: the disks stay in the pool, and must not be used for anything else")
		return
	}
	a.judge(change.Safe, f, "the operator does not carry this out: the write cache of a pool that is there stays as it is")
}

const moves = "the pool on %s moves to %s with all its disks: they must be there and be relabelled, and its I/O pauses until its pod runs there"

// poolConfig judges a setting of one pool.
func (a assessment) poolConfig(f *change.Field) {
	setting := strings.TrimPrefix(f.Shape, "spec.pools[].poolConfig.")
	if end := strings.IndexAny(setting, ".["); end > 0 {
		setting = setting[:end]
	}
	switch setting {
	case "writeCacheGroupType":
		a.writeCache(f)
	case "dataRaidGroupType":
		a.judge(change.Destructive, f, "a pool cannot change its RAID type: %s", a.refused(a.poolOf(f.Path), "the operator lists every disk twice"))
	case "compression":
		a.judge(change.Safe, f, "compression is for what is written from now on; what is there stays as it is")
	case "thickProvision":
		a.judge(change.Safe, f, "thickProvision is for volumes that are made from now on")
	case "roThresholdLimit":
		was, is := threshold(f.Old), threshold(f.New)
		if is < was {
			a.judge(change.Disruptive, f, "a pool that is fuller than %d %% becomes read-only", is)
			return
		}
		a.judge(change.Safe, f, "pools stay writable for longer")
	case "resources", "auxResources", "tolerations", "priorityClassName":
		a.restart(f)
	}
}

// threshold is a roThresholdLimit in percent; the operator's default is 85.
func threshold(n *d.Node) int {
	if limit, err := strconv.Atoi(n.Str()); err == nil {
		return limit
	}
	return 85
}

// poolsAddedAndRemoved tells a pool that moves, with all its disks, from one that
// goes and another that comes.
func (a assessment) poolsAddedAndRemoved() {
	type pooled struct {
		*pool.Pool
		field *change.Field
	}
	var added, removed []pooled
	for i := range a.Fields {
		f := &a.Fields[i]
		switch {
		case f.Shape != "spec.pools[]":
		case f.Action == change.Add:
			added = append(added, pooled{a.resolved(f.New), f})
		case f.Action == change.Remove:
			removed = append(removed, pooled{a.resolved(f.Old), f})
		}
	}
	for _, p := range removed {
		i := slices.IndexFunc(added, func(q pooled) bool {
			return len(p.Disks()) > 0 && p.RAIDType == q.RAIDType && p.Same(q.Pool)
		})
		if i >= 0 && p.Hostname == added[i].Hostname {
			for _, f := range []*change.Field{p.field, added[i].field} {
				a.judge(change.Disruptive, f, "the pool stays on %s, whose node it selects by other labels; its pod may restart, and its I/O pauses until then", p.Hostname)
			}
			added = slices.Delete(added, i, i+1)
			continue
		}
		if i >= 0 {
			a.judge(change.Disruptive, p.field, moves, p.Hostname, added[i].Hostname)
			a.judge(change.Disruptive, added[i].field, moves, p.Hostname, added[i].Hostname)
			added = slices.Delete(added, i, i+1)
			continue
		}
		a.judge(change.Destructive, p.field, "the pool on %s goes, with what is on it; %s", p.Hostname, a.replicasOn(p.Hostname))
		if len(added) > 0 {
			a.judge(change.Disruptive, p.field, "the operator ignores an edit that removes a pool and adds another; apply one after the other")
		}
	}
	for _, p := range added {
		if len(p.Disks()) > 0 && !slices.ContainsFunc(p.Disks(), func(name string) bool { return !a.isRunning(name) }) {
			a.judge(change.Safe, p.field, "the pool on %s exists already; nothing changes for it", p.Hostname)
			continue
		}
		if risk, problem := a.problem(p.Disks()); problem != "" {
			a.judge(risk, p.field, "%s", problem)
			continue
		}
		a.judge(change.Safe, p.field, "a new pool on %s, of %s; the others go on", p.Hostname, a.counted(p.Disks()))
	}
}

// resolved is a pool with the host of the node that it selects.
func (a assessment) resolved(n *d.Node) *pool.Pool {
	return a.state.Resolve(&pool.Cluster{Pools: []*pool.Pool{pool.DecodePool(n)}}).Pools[0]
}

// poolOf is the pool, as it was, in which a field lies; without a RAID type if it
// cannot be told.
func (a assessment) poolOf(path string) *pool.Pool {
	label, _, _ := strings.Cut(strings.TrimPrefix(path, "spec.pools["), "]")
	for term := range strings.SplitSeq(label, ",") {
		if hostname, found := strings.CutPrefix(term, inventory.LabelHostname+"="); found && a.hosts[hostname] != nil {
			return a.hosts[hostname]
		}
	}
	for _, p := range a.hosts {
		if len(p.Labels) > 0 && p.Labels.String() == label {
			return p
		}
	}
	return &pool.Pool{}
}

// groups judges the disks that come and go in the RAID groups that stay.
func (a assessment) groups() {
	type group struct {
		in, out []string
		fields  []*change.Field
	}
	groups := map[string]*group{}
	var order []string
	for i := range a.Fields {
		f := &a.Fields[i]
		if f.Shape != groupDevices {
			continue
		}
		key := f.Path[:strings.LastIndex(f.Path, ".blockDevices[")]
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
			order = append(order, key)
		}
		g.fields = append(g.fields, f)
		if f.Action == change.Add {
			g.in = append(g.in, f.New.Str("blockDeviceName"))
		} else {
			g.out = append(g.out, f.Old.Str("blockDeviceName"))
		}
	}
	for _, key := range order {
		g := groups[key]
		risk, text := a.group(a.poolOf(key), g.in, g.out)
		for _, f := range g.fields {
			a.judge(risk, f, "%s", text)
		}
	}
}

// group judges the disks that come into a RAID group of a pool and go out of it.
func (a assessment) group(p *pool.Pool, in, out []string) (change.Risk, string) {
	risk, problem := a.problem(in)
	switch {
	case risk == change.Destructive, problem != "" && len(out) == 0:
		return risk, problem
	case len(out) == 0 && p.RAIDType == pool.Stripe:
		return change.Safe, "the pool grows by " + finding.Names(in) + " while it is used"
	case len(out) == 0:
		return change.Disruptive, "disks cannot be added to a RAID group, only groups to a pool: " + a.refused(p, "it goes wrong")
	case p.RAIDType == "":
		return change.Destructive, unheardOf
	case p.RAIDType == pool.Stripe:
		return change.Destructive, "a striped pool has no redundancy: " + a.refused(p, "what is on "+finding.Names(out)+" is lost, and the pool with it")
	case len(out) > 1:
		return change.Destructive, "more than one disk of a RAID group at once: " + a.refused(p, "what is on "+finding.Names(out)+" cannot be rebuilt from the rest")
	case len(in) != 1:
		return change.Destructive, "block device " + out[0] + " cannot be taken out of its RAID group, only be replaced with one other: " + a.refused(p, "its data is lost")
	}
	loss, text := a.replacement(p, out[0])
	switch {
	case problem != "" && loss == change.Disruptive:
		text = problem // so that nothing is rebuilt
	case problem != "":
		text += "; but " + problem
	}
	return loss, "block device " + out[0] + " is replaced with " + in[0] + ": " + text
}
