package admission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/document"
)

// Step is what an edit of a CStorPoolCluster changes. The order of pools, groups and
// disks is no change: the operators ignore it.
type Step struct {
	Create   bool
	Added    []*pool.Pool // by host
	Removed  []*pool.Pool // by host
	Moved    []Move       // by the host they come from
	Grown    []Growth     // by host
	Replaced []Replacement
	Reshaped []Reshape // what no pool can follow
	Caches   []string  // hosts whose write cache changes
	Settings bool      // anything else of the pools that stay, or of the whole
}

// Move is a pool that another host takes over with all its disks.
type Move struct{ From, To *pool.Pool }

// Growth is what is new in a pool that stays.
type Growth struct {
	Old    *pool.Pool
	Groups []pool.Group // disks that a stripe gets are one group
}

// Replacement is a disk that takes the place of another in a RAID group.
type Replacement struct {
	Host    string
	Group   pool.Group // as it was
	Out, In string
	Cache   bool // of the write cache
}

// Reshape is a change of a RAID group, or of the type of all, that is none of the above.
type Reshape struct {
	Host  string
	Disk  string // the first by name of the group; "" for the whole pool
	Cache bool   // of the write cache
	Rule  string
	Text  string
	Words string // what the webhook says about it
}

// NewStep compares two values of a CStorPoolCluster. old is nil for a new object.
func NewStep(old, wanted *pool.Cluster) Step {
	if old == nil {
		return Step{Create: true, Added: byHost(wanted.Pools)}
	}
	var s Step
	before, now := index(old.Pools), index(wanted.Pools)
	for _, p := range byHost(old.Pools) {
		if now[p.Hostname] == nil {
			s.Removed = append(s.Removed, p)
		}
	}
	for _, p := range byHost(wanted.Pools) {
		if before[p.Hostname] == nil {
			s.Added = append(s.Added, p)
		} else if now[p.Hostname] == p {
			s.compare(before[p.Hostname], p)
		}
	}
	s.pairMoves()
	for _, m := range s.Moved {
		s.Settings = s.Settings || !sameConfig(m.From, m.To)
	}
	s.Settings = s.Settings || old.AllowedTags != wanted.AllowedTags || old.PriorityClassName != wanted.PriorityClassName ||
		!same(old.Resources, wanted.Resources) || !same(old.AuxResources, wanted.AuxResources) || !same(old.Tolerations, wanted.Tolerations)
	return s
}

// Empty reports whether nothing changes.
func (s Step) Empty() bool {
	return !s.Create && !s.Settings && len(s.Added)+len(s.Removed)+len(s.Moved)+len(s.Grown)+len(s.Replaced)+len(s.Reshaped)+len(s.Caches) == 0
}

// pairMoves tells a pool that moves from one that goes and another that comes.
func (s *Step) pairMoves() {
	s.Removed = slices.DeleteFunc(s.Removed, func(p *pool.Pool) bool {
		i := slices.IndexFunc(s.Added, func(q *pool.Pool) bool {
			return len(p.Disks()) > 0 && p.RAIDType == q.RAIDType && p.Data.Same(q.Data) && p.Cache.Same(q.Cache)
		})
		if i < 0 {
			return false
		}
		s.Moved = append(s.Moved, Move{p, s.Added[i]})
		s.Added = slices.Delete(s.Added, i, i+1)
		return true
	})
}

// compare finds what changes in a pool that stays.
func (s *Step) compare(old, p *pool.Pool) {
	s.Settings = s.Settings || !sameConfig(old, p)
	if old.CacheType != p.CacheType || !old.Cache.Same(p.Cache) {
		s.Caches = append(s.Caches, p.Hostname)
	}
	if old.CacheType != p.CacheType && old.CacheType != "" && old.RAIDType == p.RAIDType {
		s.Reshaped = append(s.Reshaped, Reshape{Host: p.Hostname, Cache: true, Rule: "raid-type", Words: notModified,
			Text: "the RAID type of its write cache changes from " + old.CacheType + " to " + cmp.Or(p.CacheType, "none")})
	} else if old.RAIDType == p.RAIDType {
		s.compareGroups(old, old.CacheType, old.Cache, p.Cache, true)
	}
	if old.RAIDType != p.RAIDType {
		s.Reshaped = append(s.Reshaped, Reshape{Host: p.Hostname, Rule: "raid-type", Words: notModified,
			Text: "its RAID type changes from " + old.RAIDType + " to " + p.RAIDType})
		return
	}
	if grown := s.compareGroups(old, old.RAIDType, old.Data, p.Data, false); len(grown) > 0 {
		s.Grown = append(s.Grown, Growth{Old: old, Groups: grown})
	}
}

// What the webhook says about RAID groups that it refuses.
const (
	notModified  = "raidgroup can't be modified"
	noGroupGoes  = "raid group validation failed: removing raid group from pool spec is invalid operation"
	noDiskGoes   = "raid group validation failed: removing block device from %s raid group is not valid operation"
	noDiskComes  = "raid group validation failed: adding block devices to existing %s raid group is not valid operation"
	noneOfStripe = "cannot replace  blockdevice in stripe raid group"
	oneOfGroup   = "cannot replace more than one blockdevice in a raid group"
)

// compareGroups finds what changes in the data or the write cache of a pool that stays, and
// returns the groups that come; disks that a stripe gets are one.
func (s *Step) compareGroups(p *pool.Pool, raidType string, old, groups pool.Groups, cache bool) []pool.Group {
	if old.Equal(groups) {
		return nil // as nearly all are
	}
	what := ""
	if cache {
		what = "write cache: "
	}
	grown := unmatched(old, groups)
	for _, m := range match(old, groups) {
		reshape := func(rule, text, words string) {
			s.Reshaped = append(s.Reshaped, Reshape{Host: p.Hostname, Disk: slices.Min(m.old), Cache: cache, Rule: rule, Text: what + text, Words: words})
		}
		switch {
		case m.new == nil:
			reshape("group-gone", "the RAID group of "+slices.Min(m.old)+" is gone", noGroupGoes)
		case raidType == pool.Stripe && len(m.out) > 0 && len(m.new) < len(m.old):
			reshape("stripe-disk", "a disk of a stripe cannot be taken out or replaced", fmt.Sprintf(noDiskGoes, raidType))
		case raidType == pool.Stripe && len(m.out) > 0:
			reshape("stripe-disk", "a disk of a stripe cannot be taken out or replaced", noneOfStripe)
		case raidType == pool.Stripe:
			if len(m.in) > 0 {
				grown = append(grown, m.in)
			}
		case len(m.new) < len(m.old):
			reshape("group-size", "a RAID group changes its size", fmt.Sprintf(noDiskGoes, raidType))
		case len(m.new) > len(m.old):
			reshape("group-size", "a RAID group changes its size", fmt.Sprintf(noDiskComes, raidType))
		case len(m.in) != len(m.out): // a disk is in it twice, which is said of that
			reshape("group-size", "a RAID group changes its size", "")
		case len(m.out) > 1:
			reshape("replaced-twice", "more than one disk of a RAID group is replaced at once", oneOfGroup)
		case len(m.out) == 1:
			s.Replaced = append(s.Replaced, Replacement{Host: p.Hostname, Group: m.old, Out: m.out[0], In: m.in[0], Cache: cache})
		}
	}
	return grown
}

// matched is a RAID group that was there and what became of it.
type matched struct {
	old, new pool.Group // new is nil if no group has a disk of it any more
	in, out  []string
}

// match finds what became of each RAID group: it is the same, to the webhook, as the one
// that keeps a disk of it; of several, the one that keeps most.
func match(old, groups pool.Groups) []matched {
	var all []matched
	for _, group := range old {
		if len(group) == 0 {
			continue // nothing can be lost of it
		}
		m, most := matched{old: group}, 0
		for _, candidate := range groups {
			common := len(group) - len(pool.Without(group, candidate))
			if common > most || common == most && common > 0 && slices.Compare(sorted(candidate), sorted(m.new)) < 0 {
				m.new, most = candidate, common
			}
		}
		m.out, m.in = pool.Without(group, m.new), pool.Without(m.new, group)
		all = append(all, m)
	}
	return all
}

// unmatched lists the groups that keep no disk of any that was there.
func unmatched(old, groups pool.Groups) []pool.Group {
	had := old.Disks()
	var added []pool.Group
	for _, group := range groups {
		if len(group) > 0 && len(pool.Without(group, had)) == len(group) {
			added = append(added, group)
		}
	}
	return added
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// index finds pools by host; where two have one, the first of byHost.
func index(pools []*pool.Pool) map[string]*pool.Pool {
	at := make(map[string]*pool.Pool, len(pools))
	for _, p := range byHost(pools) {
		if at[p.Hostname] == nil {
			at[p.Hostname] = p
		}
	}
	return at
}

func byHost(pools []*pool.Pool) []*pool.Pool {
	return slices.SortedStableFunc(slices.Values(pools), func(a, b *pool.Pool) int {
		if a.Hostname != b.Hostname {
			return cmp.Compare(a.Hostname, b.Hostname)
		}
		return slices.Compare(sorted(a.Disks()), sorted(b.Disks()))
	})
}

// sameConfig compares the settings of pools. The operator writes thickProvision: false
// where nothing was said.
func sameConfig(a, b *pool.Pool) bool {
	thick := func(p *pool.Pool) bool { return p.ThickProvision != nil && *p.ThickProvision }
	limit := func(p *pool.Pool) int64 {
		if p.ROThresholdLimit == nil {
			return -1
		}
		return *p.ROThresholdLimit
	}
	return a.Compression == b.Compression && thick(a) == thick(b) && limit(a) == limit(b) &&
		same(a.Resources, b.Resources) && same(a.Tolerations, b.Tolerations)
}

// same compares two settings; nothing, null and what is empty are the same.
func same(a, b *document.Node) bool {
	empty := func(n *document.Node) bool {
		return n == nil || n.Kind() == document.Null || n.Kind() != document.Scalar && len(n.Fields())+len(n.Items()) == 0
	}
	return empty(a) && empty(b) || document.Equal(a, b)
}
