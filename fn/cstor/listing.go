package cstor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// listedField is the part of the spec that lists pools node by node.
const listedField = "spec.pools"

// listedPool is an entry of spec.pools, completed. What it leaves out is nil or empty.
type listedPool struct {
	Node         string `json:"node"`
	NodeSelector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"nodeSelector"`
	RAIDType            string              `json:"raidType"`
	MinCount            int                 `json:"minCount"`
	GroupSize           int                 `json:"groupSize"`
	MinCapacity         string              `json:"minCapacity"`
	BlockDeviceSelector *deviceSelector     `json:"blockDeviceSelector"`
	ExternalProvisioner *record.Provisioner `json:"externalProvisioner"`
	WriteCache          *writeCache         `json:"writeCache"`
	Spare               *int                `json:"spare"`
	Compression         string              `json:"compression"`
	ThickProvision      *bool               `json:"thickProvision"`
	ROThresholdLimit    *int64              `json:"roThresholdLimit"`
	Tolerations         tolerations         `json:"tolerations"`
	ComputeResources    json.RawMessage     `json:"computeResources"`
}

// listing is which node each entry of spec.pools is about.
type listing struct {
	of   map[string]*settings // by node of the plan
	kept map[string]*settings // of pools whose entries were taken out, by node of the plan
}

// readListing finds the nodes of the entries. Where one has none, or two have the same, it
// says so.
func (in *input) readListing() {
	in.listed = listing{of: map[string]*settings{}, kept: map[string]*settings{}}
	if len(in.facts.Nodes) == 0 {
		return // which is an error of its own
	}
	var without []unmatched
	for i := range in.cfg.listed {
		s := in.cfg.listed[i]
		node, none := in.listedNode(s)
		other := in.listed.of[node]
		switch {
		case none != nil:
			without = append(without, *none)
			continue
		case node == "":
			continue
		case other != nil:
			in.report(finding.Error, "listed-twice", s.place(), "is the pool of node %s, as %s is, and a node has one pool of a cluster; remove one of them", node, in.written(other.entry))
			continue
		}
		in.listed.of[node] = s
	}
	in.tellUnmatched(without)
	in.keepUnlisted()
}

// unmatched is an entry that is about no node.
type unmatched struct {
	*settings
	rule, why string
}

// listedNode is the node of an entry, by its name in the plan; "" for none.
func (in *input) listedNode(s *settings) (string, *unmatched) {
	if s.node != "" {
		if in.standing.Knows(s.node) {
			return s.node, nil
		}
		n := in.facts.Node(s.node)
		if to := in.followedTo(s, n); to != "" {
			return to, nil
		}
		if n == nil {
			var names []string
			for _, n := range in.facts.Nodes {
				names = append(names, n.Name)
			}
			return "", &unmatched{s, "no-such-node", fmt.Sprintf("%q is not a node of the inventory%s; correct it, refresh the inventory, or remove the entry", s.node, schema.DidYouMean(s.node, names))}
		}
		return in.plannedAs(n), nil
	}
	term := selector.Term{MatchLabels: s.labels}
	nodes := slices.DeleteFunc(slices.Clone(in.facts.Nodes), func(n *inventory.Node) bool { return !selector.MatchesAny([]selector.Term{term}, n.Object) })
	switch len(nodes) {
	case 1:
		return cmp.Or(in.followedTo(s, nodes[0]), in.plannedAs(nodes[0])), nil
	case 0:
		// A node that is missing from the snapshot is not gone.
		for _, name := range in.standing.Nodes() {
			if in.facts.Node(name) == nil && in.standing.Listed(name) == s.listedBy {
				return name, nil
			}
		}
		if to := in.followedTo(s, nil); to != "" {
			return to, nil
		}
		all := system.ObjectsOf(in.facts.Nodes, func(n *inventory.Node) *krm.Object { return n.Object })
		return "", &unmatched{s, "listed-selector", selector.Nothing([]selector.Term{term}, all, "node") + "; write labels that one node has, write node, or remove the entry"}
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	slices.Sort(names)
	in.report(finding.Error, "listed-selector", s.place(), "matches %s (%s), wanted one; write more labels, or node", finding.Count(len(names), "node"), finding.Names(names))
	return "", nil
}

// waiting is how grave it is that an entry has no node: what is rendered goes on while it waits, since nodes
// are cordoned, and lost.
func (in *input) waiting() finding.Severity {
	if in.standing.IsBegun() {
		return finding.Warning
	}
	return finding.Error
}

// tellUnmatched tells of entries without a node: they wait, unless nothing is begun. Where a node of
// the plan has no entry any more one of them is meant to be about it, most likely.
func (in *input) tellUnmatched(entries []unmatched) {
	severity := in.waiting()
	unlisted := func(name string) bool { return in.standing.Listed(name) != "" && in.listed.of[name] == nil }
	if slices.ContainsFunc(in.standing.Nodes(), unlisted) {
		severity = finding.Error
	}
	for _, e := range entries {
		in.report(severity, e.rule, e.place(), "%s", e.why)
	}
}

// followedTo is the node to which the pool of an entry has followed its disks in an earlier run, and
// that it is about since then, or "". n is the node that the entry names, if that is there: it has
// a pool of its own, unless it lacks the names of the claims, by which the other is still called.
func (in *input) followedTo(s *settings, n *inventory.Node) string {
	i := slices.IndexFunc(in.standing.Nodes(), func(name string) bool {
		return in.standing.Listed(name) == s.listedBy && in.standing.Reason(name) == standing.Moved &&
			(n == nil || n.Name != name && n.Name == in.standing.VolumesOf(name)) &&
			!slices.ContainsFunc(in.cfg.listed, func(other *settings) bool { return other.node == name })
	})
	if i < 0 {
		return ""
	}
	in.report(finding.Warning, "listed-moved", s.place(), "the pool of this entry has followed its disks to node %s, which the entry is about now; write that node", in.standing.Nodes()[i])
	return in.standing.Nodes()[i]
}

// entryFollows reports whether the entry of a node goes with its pool to another, which has none: the
// node is gone, or can have no pool of its own while its claims are those of the other.
func (in *input) entryFollows(from, to string) bool {
	return in.listed.of[from] != nil && in.listed.of[to] == nil && (in.facts.Node(from) == nil || len(in.standing.Volumes(from)) > 0)
}

// plannedAs is what the plan calls a node: one whose name has changed stays under the old one.
func (e *existing) plannedAs(n *inventory.Node) string {
	if e.standing.Knows(n.Name) {
		return n.Name
	}
	for _, name := range e.standing.Called(n.Hostname) {
		if e.standing.Knows(name) && e.facts.Node(name) == nil {
			return name
		}
	}
	return n.Name
}

// allows reports whether a node may carry a pool: it is listed, or may be without that.
func (in *input) allows(n *inventory.Node, name string) bool {
	return in.listed.of[name] != nil || in.listed.kept[name] == nil && in.selects(n, name)
}

// notAllowed says behind the name of a node why it may not carry a pool, and which field it is about.
func (in *input) notAllowed(name string) (field, why string) {
	switch {
	case in.listed.kept[name] != nil:
		return listedField, "has no entry in " + in.written(listedField) + " any more"
	case in.cfg.Spec.OnlyListed:
		return listedField, "is not in " + in.written(listedField) + ", which allows no other"
	}
	return selectorField, "is no longer selected"
}

// keepUnlisted finds the pools whose entries were taken out: where the settings of all pools
// do not fit one, or its node is not allowed by itself, it is kept as it was rendered.
func (in *input) keepUnlisted() {
	for _, p := range in.standing.Pools() {
		if in.standing.Listed(p.Node) == "" || in.listed.of[p.Node] != nil {
			continue
		}
		if n := in.facts.Node(p.Node); n != nil && in.selects(n, p.Node) && in.fits(in.cfg.general, p) {
			continue
		}
		in.listed.kept[p.Node] = in.asRendered(p)
	}
}

// fits reports whether a pool could have been made with some settings, or grown to them.
func (in *input) fits(s *settings, p *standing.Pool) bool {
	return p.RAIDType == s.raidType && s.minCount >= len(p.Data.Disks()) && s.external() == (pooledVolumes(in, p) > 0) &&
		(s.raidType == pool.Stripe || !slices.ContainsFunc(p.Data, func(group pool.Group) bool { return len(group) != s.groupSize }))
}

// asRendered are the settings that a pool was rendered with, as far as the lock tells.
func (in *input) asRendered(p *standing.Pool) *settings {
	set, s := in.standing.SetOf(p.Node), *in.cfg.general
	s.entry, s.listedBy = listedField, in.standing.Listed(p.Node)
	s.raidType, s.minCount, s.groupSize = p.RAIDType, len(p.Data.Disks()), len(p.Data.Disks())
	if s.raidType != pool.Stripe && len(p.Data) > 0 {
		s.groupSize = len(p.Data[0])
	}
	if size := quantity.Bytes(set.Capacity); size > 0 {
		s.capacity, s.minCapacity = set.Capacity, size
	}
	s.provisioner, s.spare = set.Provisioner, len(set.Devices[record.Spare])
	for i := 0; s.external(); i++ {
		name := in.storage(p.Node, record.Spare, i)
		if in.standing.Object(in.storageID(name)) == nil {
			break
		}
		if claim := in.standing.Object(in.claimID(name)); claim == nil || !in.inPool(claim) { // else it has taken the place of a disk
			s.spare++
		}
	}
	s.writeCache = nil
	if n := len(p.Cache.Disks()); n > 0 {
		s.writeCache = &writeCache{Local: &local{}, Count: n, RAIDType: p.CacheType}
		if o := in.standing.Object(in.claimID(in.storage(p.Node, record.Cache, 0))); o != nil {
			s.writeCache.ExternalProvisioner = &record.Provisioner{StorageClassName: o.Node.Str("spec", "storageClassName")}
			s.writeCache.Capacity = o.Node.Str("spec", "resources", "requests", "storage")
			s.writeCache.Local = nil
			if a := in.standing.Object(in.standing.AttachmentID(in.namespace, o.Name, p.Node)); a != nil {
				s.writeCache.ExternalProvisioner.CSIAttacherName = a.Node.Str("spec", "attacher")
			}
		}
	}
	s.pool = p.Settings
	return &s
}

// readListed makes settings of the entries of spec.pools: what an entry leaves out is that of
// all pools.
func (c *config) readListed(written func(i int) map[string]bool) error {
	for i := range c.Spec.Pools {
		l, s := &c.Spec.Pools[i], *c.general
		s.entry, s.given, s.node, s.labels = fmt.Sprintf("%s[%d]", listedField, i), written(i), l.Node, l.NodeSelector.MatchLabels
		s.listedBy = l.Node
		if l.Node == "" {
			s.listedBy = formatLabels(s.labels)
		}
		s.raidType, s.minCount, s.groupSize = l.RAIDType, l.MinCount, l.GroupSize
		if l.MinCapacity != "" {
			var err error
			if s.capacity, s.minCapacity, err = readCapacity(s.field("minCapacity"), l.MinCapacity); err != nil {
				return err
			}
		}
		if l.BlockDeviceSelector != nil {
			s.provisioner, s.selector = nil, l.BlockDeviceSelector.SelectorTerms
		}
		if l.ExternalProvisioner != nil {
			s.provisioner, s.selector = l.ExternalProvisioner, nil
		}
		if l.WriteCache != nil {
			s.writeCache = l.WriteCache.orNone()
		}
		if l.Spare != nil {
			s.spare = *l.Spare
		}
		if l.Compression != "" {
			s.pool.Compression = l.Compression
		}
		if l.ThickProvision != nil {
			s.pool.ThickProvision = l.ThickProvision
		}
		if l.ROThresholdLimit != nil {
			s.pool.ROThresholdLimit = l.ROThresholdLimit
		}
		if err := s.readPodSettings(l); err != nil {
			return err
		}
		c.listed = append(c.listed, &s)
	}
	return nil
}

// readPodSettings reads what the pod of a listed pool has in the place of what the pods of
// all pools have.
func (s *settings) readPodSettings(l *listedPool) (err error) {
	if len(l.Tolerations) > 0 {
		s.tolerations = l.Tolerations.list()
		if s.pool.Tolerations, err = l.Tolerations.node(s.field("tolerations")); err != nil {
			return err
		}
	}
	s.pool.Resources, err = jsonNode(s.field("computeResources"), l.ComputeResources)
	return err
}

// formatLabels writes labels as kubectl does: key=value, sorted.
func formatLabels(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ",")
}
