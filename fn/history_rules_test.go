package fn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/cluster"
)

// broken is a rule that does not hold.
type broken struct {
	rule string
	error
}

func (b broken) Error() string { return b.rule + ": " + b.error.Error() }

// check holds every rule on one render.
func (h *history) check(before []*krm.Object, r Result) error {
	if finding.Failed(r.Findings) {
		if err := h.errorsAreUseful(before, r); err != nil {
			return broken{"errors-are-useful", err}
		}
		return nil
	}
	after := objectsOf(r)
	for _, rule := range []struct {
		name  string
		check func(before, after []*krm.Object) error
	}{
		{"one-use-of-a-disk", h.oneUseOfADisk},
		{"nobody-elses-disk", h.nobodyElsesDisk},
		{"life-is-kept", h.lifeIsKept},
		{"consent-is-the-limit", h.consentIsTheLimit},
		{"pools-follow-their-disks", h.poolsFollowTheirDisks},
		{"fixed-point", h.fixedPoint},
		{"less-facts-lose-nothing", h.lessFactsLoseNothing},
		{"plan-is-not-calm", h.planIsNotCalm},
	} {
		if err := rule.check(before, after); err != nil {
			return broken{rule.name, err}
		}
	}
	h.rememberConsent(before, after)
	return nil
}

// diskUse is what an object in rendered/ uses a disk for.
type diskUse struct{ cluster, host, device, serial, role string }

func (u diskUse) String() string {
	return fmt.Sprintf("%s: %s (%s) is %s on %s", u.cluster, u.device, u.serial, u.role, u.host)
}

// uses lists the uses of disks in rendered/: in pools, then those that are only in storage
// sets.
func (h *history) uses(rendered []*krm.Object) []diskUse {
	var uses []diskUse
	pooled := map[string]bool{}
	for _, o := range rendered {
		if o.Kind != pool.ClusterKind {
			continue
		}
		for _, p := range pool.DecodeCluster(o).Pools {
			for _, name := range p.Disks() {
				uses = append(uses, diskUse{o.Name, p.Hostname, name, h.serial(name), "pooled"})
				pooled[o.Name+" "+name] = true
			}
		}
	}
	for _, o := range rendered {
		if o.Kind != "CStorClusterStorageSet" {
			continue
		}
		name := ownerName(o)
		for _, d := range o.Node.Seq("spec", "blockDevices") {
			device := d.Str("name")
			if !pooled[name+" "+device] || d.Str("role") == "spare" {
				uses = append(uses, diskUse{name, o.Node.Str("spec", "node", "hostname"), device, h.serial(device), d.Str("role")})
			}
		}
	}
	return uses
}

func ownerName(o *krm.Object) string {
	id, _ := krm.ParseOwner(o.Owner())
	return id.Name
}

// oneUseOfADisk: no disk, whatever it is called, is in two pools, or has two roles.
func (h *history) oneUseOfADisk(_, after []*krm.Object) error {
	seen := map[string]diskUse{}
	for _, u := range h.uses(after) {
		if first, twice := seen[u.serial]; twice {
			return fmt.Errorf("one disk has two uses:\n  %v\n  %v", first, u)
		}
		seen[u.serial] = u
	}
	return nil
}

// nobodyElsesDisk: what is newly chosen is nobody's, and fit.
func (h *history) nobodyElsesDisk(before, after []*krm.Object) error {
	had := map[string]bool{}
	for _, u := range h.uses(before) {
		had[u.cluster+" "+u.serial] = true
	}
	for _, s := range h.specs {
		for _, p := range h.evidence(s.Name) {
			for _, serial := range p.serials {
				had[s.Name+" "+serial] = true
			}
		}
	}
	for _, u := range h.uses(after) {
		if had[u.cluster+" "+u.serial] {
			continue
		}
		if why := h.unfit(u); why != "" {
			return fmt.Errorf("a disk is chosen that may not be: %v: %s", u, why)
		}
	}
	return nil
}

// unfit says why the snapshot forbids to choose a disk.
func (h *history) unfit(u diskUse) string {
	s := &h.snapshot
	d, claim := s.Device(u.device), s.Claim(u.device)
	switch {
	case d == nil:
		return "nobody knows it"
	case d.Inactive, d.Partitioned, d.Tagged:
		return fmt.Sprintf("%+v", *d)
	case d.Filesystem != "" && (claim == nil || claim.Cluster != u.cluster):
		return "it has a filesystem: " + d.Filesystem
	case d.Host != u.host:
		return "it is on host " + d.Host
	case claim != nil && claim.Cluster != u.cluster && s.Knows(cluster.Claims):
		return "it is claimed by " + claim.Cluster
	}
	known := *s
	if !s.Knows(cluster.Volumes) {
		known.Volumes = nil
	}
	known.Holders = slices.DeleteFunc(slices.Clone(s.Holders), func(holder cluster.Holder) bool {
		return !s.Knows(map[string]string{"DiskPool": cluster.DiskPools, "CephCluster": cluster.Ceph, "Volume": cluster.RAIDVolumes}[holder.Kind])
	})
	if who := known.Holds(d.Serial); d.Serial != "" && who != "" {
		return "it is in " + who
	}
	for _, other := range h.specs {
		for _, p := range h.evidence(other.Name) {
			if other.Name != u.cluster && slices.Contains(p.serials, u.serial) {
				return "it lives in a pool of " + other.Name
			}
		}
	}
	return ""
}

// What shows a pool.
const (
	poolCluster  = "CStorPoolCluster"
	poolInstance = "CStorPoolInstance"
	deviceClaim  = "BlockDeviceClaim"
)

// livePool is what the snapshot shows of a pool: the CStorPoolCluster, or else its
// instance, or else claims that are bound.
type livePool struct {
	host    string
	by      string
	serials []string
	groups  [][]string // of serials
}

// evidence lists the pools of a cluster that the snapshot shows to live. A claim counts where
// the CStorPoolCluster is not in the snapshot.
func (h *history) evidence(name string) []*livePool {
	s, pools, shown := &h.snapshot, map[string]*livePool{}, map[string]bool{}
	show := func(by, host string, groups pool.Groups) {
		p := pools[host]
		if p == nil {
			p = &livePool{host: host, by: by}
			pools[host] = p
		}
		if p.by != by {
			return // it is shown better
		}
		for _, group := range groups {
			p.groups = append(p.groups, h.serialsOf(group))
		}
		for _, serial := range h.serialsOf(groups.Disks()) {
			p.serials = append(p.serials, serial)
			shown[serial] = true
		}
	}
	if c := s.PoolCluster(name); c != nil && s.Knows(cluster.Clusters) {
		for _, p := range c.Pools {
			show(poolCluster, p.Hostname, p.Data)
		}
	}
	known := len(pools) > 0
	for _, i := range s.Instances {
		if i.Cluster == name && s.Knows(cluster.Instances) {
			show(poolInstance, i.Host, i.Pool.Data)
		}
	}
	for _, claim := range s.Claims {
		d := s.Device(claim.Device)
		if claim.Cluster == name && !known && claim.Bound && claim.Predecessor == "" && d != nil && !shown[h.serial(d.Name)] && s.Knows(cluster.Claims) && s.Knows(cluster.Devices) {
			show(deviceClaim, d.Host, pool.Groups{{d.Name}})
		}
	}
	return slices.SortedFunc(maps.Values(pools), func(a, b *livePool) int { return strings.Compare(a.host, b.host) })
}

func (h *history) serialsOf(devices []string) []string {
	serials := make([]string, len(devices))
	for i, name := range devices {
		serials[i] = h.serial(name)
	}
	return serials
}

// lifeIsKept: what the snapshot shows to live is in the output, unless consent names it,
// or a person has put one disk of a group in the place of another. An instance whose pool
// the CStorPoolCluster has lost, too, may be a warning. Claims alone do not stand against a
// rendered pool of other disks on the host, nor for a disk that is in another node now.
func (h *history) lifeIsKept(before, after []*krm.Object) error {
	pooled := map[string]bool{}
	for _, u := range h.uses(after) {
		if u.role == "pooled" {
			pooled[u.cluster+"/"+u.serial] = true
		}
	}
	for _, s := range h.specs {
		for _, p := range h.evidence(s.Name) {
			for _, serial := range p.serials {
				if p.by == deviceClaim && h.contradicted(before, s.Name, p, serial) || p.by == poolInstance && says(h.last, "instance-lost") {
					continue
				}
				if pooled[s.Name+"/"+serial] || h.allows(s.Name, p.host) || h.going[s.Name+"/"+p.host] || h.replaced(before, s.Name, p, serial) {
					continue
				}
				return fmt.Errorf("%s lives in the pool of %s on %s (as the %s shows), and is not in the output", serial, s.Name, p.host, p.by)
			}
		}
	}
	return h.volumesAreKept(after)
}

// volumesAreKept: a claim that the snapshot shows to be bound is in the output with its node,
// unless consent names it.
func (h *history) volumesAreKept(after []*krm.Object) error {
	if !h.snapshot.Knows(cluster.CloudClaims) {
		return nil
	}
	kept := map[string]bool{}
	for _, o := range after {
		kept[o.Kind+" "+o.Name] = true
	}
	for _, d := range h.snapshot.Cloud {
		owner, _ := krm.ParseOwner(d.Owner)
		set := owner.Name + "-" + d.Selected
		if !kept["PersistentVolumeClaim "+d.Name] && !h.allowsCluster(owner.Name) && !h.consents(owner.Name, "CStorClusterStorageSet/"+set) {
			return fmt.Errorf("PersistentVolumeClaim %s is bound, and is not in the output", d.Name)
		}
	}
	return nil
}

// contradicted reports whether rendered/ has other disks in the pool of a host, or has a disk
// of it in the pool of another.
func (h *history) contradicted(rendered []*krm.Object, name string, live *livePool, serial string) bool {
	return slices.ContainsFunc(h.uses(rendered), func(u diskUse) bool {
		return u.cluster == name && u.role == "pooled" && (u.serial == serial) != (u.host == live.host)
	})
}

// replaced reports whether rendered/ has one other disk in the place of a live one.
func (h *history) replaced(rendered []*krm.Object, name string, live *livePool, serial string) bool {
	for _, o := range rendered {
		if o.Kind != pool.ClusterKind || o.Name != name {
			continue
		}
		p := pool.DecodeCluster(o).Host(live.host)
		if p == nil {
			continue
		}
		for _, was := range live.groups {
			for _, group := range p.Data {
				now := h.serialsOf(group)
				kept := len(slices.DeleteFunc(slices.Clone(was), func(s string) bool { return !slices.Contains(now, s) }))
				if slices.Contains(was, serial) && len(now) == len(was) && kept > 0 && kept == len(was)-1 {
					return true
				}
			}
		}
	}
	return false
}

// allows reports whether consent names the pool of a host.
func (h *history) allows(name, host string) bool {
	return h.allowsCluster(name) || slices.ContainsFunc(h.hosts[host], func(node string) bool {
		return h.consents(name, "CStorClusterStorageSet/"+name+"-"+node)
	})
}

func (h *history) allowsCluster(name string) bool { return h.consents(name, "CStorPoolCluster/"+name) }

func (h *history) consents(name, entry string) bool {
	i := slices.IndexFunc(h.specs, func(s clusterSpec) bool { return s.Name == name })
	return i >= 0 && slices.Contains(h.specs[i].Consent, entry) || h.remembered[entry]
}

// rememberedConsent lists the consent that the plans in rendered/ remember: it may be taken out
// once the removal is rendered.
func rememberedConsent(rendered []*krm.Object) map[string]bool {
	entries := map[string]bool{}
	for _, o := range rendered {
		for _, n := range o.Node.Seq("spec", "removing") {
			entries["CStorClusterStorageSet/"+o.Name+"-"+n.Str("name")] = true
		}
	}
	return entries
}

// rememberConsent notes the pools whose removal was allowed: they live on for a while.
func (h *history) rememberConsent(_, after []*krm.Object) {
	there := map[string]bool{}
	for _, u := range h.uses(after) {
		there[u.cluster+"/"+u.host] = true
	}
	for _, s := range h.specs {
		for host := range h.hosts {
			at := s.Name + "/" + host
			h.going[at] = !there[at] && (h.going[at] || h.allows(s.Name, host))
		}
	}
}

// consentIsTheLimit: a rendered pool goes only where consent names it, or where it is
// known not to live; so do claims and attachments.
func (h *history) consentIsTheLimit(before, after []*krm.Object) error {
	kept := map[string]bool{}
	for _, u := range h.uses(after) {
		kept[u.cluster+"/"+u.serial] = true
	}
	for _, u := range h.uses(before) {
		if u.role != "pooled" || kept[u.cluster+"/"+u.serial] || h.allows(u.cluster, u.host) {
			continue
		}
		if !h.knowsPools(u.cluster) {
			return fmt.Errorf("%v: it went without consent, and the snapshot does not know whether it lives", u)
		}
	}
	return h.claimsStay(before, after)
}

// claimsStay: claims and attachments of cloud disks go only with consent, but for the
// attachment of a volume that gets another one, whose pool has gone to another node.
func (h *history) claimsStay(before, after []*krm.Object) error {
	kept := map[krm.ID]bool{}
	attached := map[string]bool{}
	for _, o := range after {
		kept[o.ID()] = true
		attached[o.Node.Str("spec", "source", "persistentVolumeName")] = true
	}
	for _, o := range before {
		node := ""
		switch o.Kind {
		case "PersistentVolumeClaim":
			if !h.snapshot.Knows(cluster.CloudClaims) || h.boundClaim(o.Name) {
				node = o.Annotation("volume.kubernetes.io/selected-node")
			}
		case "VolumeAttachment":
			if !attached[o.Node.Str("spec", "source", "persistentVolumeName")] {
				node = o.Node.Str("spec", "nodeName")
			}
		}
		name := ownerName(o)
		if node == "" || kept[o.ID()] || h.allowsCluster(name) || h.consents(name, "CStorClusterStorageSet/"+name+"-"+node) {
			continue
		}
		return fmt.Errorf("%s went without consent", o.Ref)
	}
	return nil
}

func (h *history) boundClaim(name string) bool {
	return slices.ContainsFunc(h.snapshot.Cloud, func(d cluster.CloudDisk) bool { return d.Name == name })
}

// poolsFollowTheirDisks: a disk of a pool is rendered on another host only if it is there, or
// the snapshot has it there; and where the pool was on the old host, whose node is still the one that the
// lock knows, only with consent.
func (h *history) poolsFollowTheirDisks(before, after []*krm.Object) error {
	was := map[string]diskUse{}
	for _, u := range h.uses(before) {
		was[u.cluster+"/"+u.serial] = u
	}
	for _, u := range h.uses(after) {
		old, known := was[u.cluster+"/"+u.serial]
		if !known || u.role != "pooled" || old.role != "pooled" || old.host == u.host {
			continue
		}
		livesOn := func(host string) bool {
			return slices.ContainsFunc(h.evidence(u.cluster), func(p *livePool) bool { return p.host == host && slices.Contains(p.serials, u.serial) })
		}
		if livesOn(u.host) {
			continue
		}
		if d := h.snapshot.Device(u.device); d == nil || d.Host != u.host {
			return fmt.Errorf("%v: it was on %s, and the snapshot has it at %+v", u, old.host, d)
		}
		node, uid := plannedOn(before, u.cluster, old.host)
		if n := h.snapshot.Host(old.host); livesOn(old.host) && n != nil && n.UID == uid && !h.allowsMove(u.cluster, node) {
			return fmt.Errorf("%v: it left %s, whose node is still there, without consent", u, old.host)
		}
	}
	return nil
}

// plannedOn is the node that rendered/ has on a host for a cluster, and its uid.
func plannedOn(rendered []*krm.Object, name, host string) (node, uid string) {
	for _, o := range rendered {
		if o.Kind == "CStorClusterStorageSet" && ownerName(o) == name && o.Node.Str("spec", "node", "hostname") == host {
			return o.Node.Str("spec", "node", "name"), o.Node.Str("spec", "node", "uid")
		}
	}
	return "", ""
}

func (h *history) allowsMove(name, node string) bool {
	i := slices.IndexFunc(h.specs, func(s clusterSpec) bool { return s.Name == name })
	return i >= 0 && slices.Contains(h.specs[i].Moves, "CStorClusterStorageSet/"+name+"-"+node)
}

// fixedPoint: to render again, with the facts in another order, changes nothing; nor does
// the order matter the first time.
func (h *history) fixedPoint(before, _ []*krm.Object) error {
	shuffled := slices.Clone(h.facts())
	rand.New(rand.NewPCG(1, uint64(h.turn))).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	first := h.last
	if h.turn%4 == 0 {
		if again := h.renderFacts(shuffled, before); text(again) != text(first) {
			return fmt.Errorf("the order of the facts matters:\n%s\nthen:\n%s", difference(text(first), text(again)), findings(again))
		}
	}
	again := h.renderFacts(shuffled, reread(h.t, first))
	if text(again) != text(first) {
		return fmt.Errorf("to render again changes the output:\n%s\nthen:\n%s", difference(text(first), text(again)), findings(again))
	}
	return nil
}

// says reports whether a render has a finding of a rule.
func says(r Result, rule string) bool {
	return slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Rule == rule })
}

// lessFactsLoseNothing: without a kind among the facts, no pool, claim or attachment goes
// that stays with it.
func (h *history) lessFactsLoseNothing(before, after []*krm.Object) error {
	kinds := cluster.Kinds()
	kind := kinds[h.turn%len(kinds)]
	if !h.snapshot.Knows(kind) {
		return nil
	}
	less := h.renderFacts(h.read.Without(kind), before)
	if finding.Failed(less.Findings) {
		return nil
	}
	had := h.losable(before)
	h.forgetWhatDoesNotLive(had)
	with, without := h.losable(after), h.losable(objectsOf(less))
	for thing := range had {
		if with[thing] && !without[thing] {
			return fmt.Errorf("without %s in the snapshot this is lost: %s\n%s", kind, thing, findings(less))
		}
	}
	return nil
}

// forgetWhatDoesNotLive leaves out the disks of pools that are known not to live, which are
// free to change.
func (h *history) forgetWhatDoesNotLive(things map[string]bool) {
	lives := map[string]bool{}
	for _, s := range h.specs {
		for _, p := range h.evidence(s.Name) {
			for _, serial := range p.serials {
				lives[pooledDisk(s.Name, serial)] = true
			}
		}
	}
	maps.DeleteFunc(things, func(thing string, _ bool) bool {
		_, name, pooled := strings.Cut(thing, " in a pool of ")
		return pooled && h.knowsPools(name) && !lives[thing]
	})
}

func pooledDisk(name, serial string) string { return "disk " + serial + " in a pool of " + name }

// knowsPools reports whether the snapshot has the CStorPoolCluster, or every kind that would
// show a pool.
func (h *history) knowsPools(name string) bool {
	s := &h.snapshot
	if s.PoolCluster(name) != nil && s.Knows(cluster.Clusters) {
		return true
	}
	return s.Knows(cluster.Clusters) && s.Knows(cluster.Instances) && s.Knows(cluster.Claims)
}

// losable lists the disks in pools, the claims and the attachments.
func (h *history) losable(rendered []*krm.Object) map[string]bool {
	things := map[string]bool{}
	for _, u := range h.uses(rendered) {
		if u.role == "pooled" {
			things[pooledDisk(u.cluster, u.serial)] = true
		}
	}
	for _, o := range rendered {
		if o.Kind == "PersistentVolumeClaim" || o.Kind == "VolumeAttachment" {
			things[o.Ref.String()] = true
		}
	}
	return things
}

// planIsNotCalm: no change is called safe after which a disk is no longer in a pool that
// exists.
func (h *history) planIsNotCalm(before, after []*krm.Object) error {
	lives := map[string]bool{}
	for _, s := range h.specs {
		for _, p := range h.evidence(s.Name) {
			for _, serial := range p.serials {
				lives[s.Name+"/"+serial] = true
			}
		}
	}
	kept := map[string]bool{}
	for _, u := range h.uses(after) {
		kept[u.cluster+"/"+u.serial] = true
	}
	for _, c := range poolwright().Assess(Package{Output: before}, h.last.Facts, change.Between(before, after)) {
		if c.Ref.Kind != pool.ClusterKind || c.Old == nil || c.Risk != change.Safe {
			continue
		}
		for _, name := range pool.DecodeCluster(c.Old).Disks() {
			if disk := c.Ref.Name + "/" + h.serial(name); lives[disk] && !kept[disk] {
				return fmt.Errorf("plan calls the %s of %s safe, and %s goes: %v", c.Action, c.Ref, name, c.Reasons)
			}
		}
	}
	return nil
}

// errorsAreUseful: an error names something that a person can find, and nothing is written.
func (h *history) errorsAreUseful(before []*krm.Object, r Result) error {
	if r.Objects != nil {
		return fmt.Errorf("there are errors, and there is output")
	}
	named := map[string]bool{}
	for _, s := range h.specs {
		named[s.Name] = true
	}
	for _, o := range slices.Concat(before, h.facts()) {
		named[o.Name] = true
	}
	for _, f := range r.Findings {
		if f.Severity == finding.Error && (!named[f.Object.Name] || f.Message == "" || f.Rule == "") {
			return fmt.Errorf("an error names nothing that there is: %+v", f)
		}
	}
	return nil
}

// settle lets the cluster come to rest: rendering then changes nothing any more, or says
// what it waits for.
func (h *history) settle() error {
	const rounds = 8
	for h.turn = range rounds {
		h.told = append(h.told, "at rest: applied, carried out, read, rendered")
		h.apply()
		h.cluster.ClaimDisks()
		h.cluster.Reconcile()
		h.refresh()
		before := h.rendered
		if err := h.step(); err != nil {
			return err
		}
		if finding.Failed(h.last.Findings) {
			h.Waiting++
			return nil
		}
		if textOf(before) == textOf(h.rendered) {
			return h.atRest()
		}
	}
	return broken{"comes-to-rest", fmt.Errorf("after %d rounds without events rendering still changes:\n%s", rounds, findings(h.last))}
}

// atRest: what is rendered exists, or a finding explains it.
func (h *history) atRest() error {
	for _, o := range h.rendered {
		if o.Kind != pool.ClusterKind {
			continue
		}
		live := h.cluster.PoolCluster(o.Name)
		for _, p := range pool.DecodeCluster(o).Pools {
			h.Pools++
			if i := h.cluster.Instance(o.Name, p.Hostname); live != nil && i != nil && i.Pool.Same(p) {
				continue
			}
			if !slices.ContainsFunc(h.last.Findings, func(f finding.Finding) bool { return f.Severity != finding.Info && f.Object.Name == o.Name }) {
				return broken{"comes-to-rest", fmt.Errorf("the pool of %s on %s never comes to live, and nothing is said: %v\n%s", o.Name, p.Hostname, h.apply(), findings(h.last))}
			}
		}
	}
	h.Converged++
	return nil
}

func textOf(objects []*krm.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.Write(o.Raw)
	}
	return b.String()
}
