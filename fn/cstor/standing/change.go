package standing

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

func (s *Standing) addNode(name string) {
	if name != "" && !s.known[name] {
		s.known[name] = true
		s.nodes = append(s.nodes, name)
	}
}

// addPool makes a pool that of its node.
func (s *Standing) addPool(p *Pool) {
	s.pools = append(s.pools, p)
	s.poolOf[p.Node] = p
	s.hosts[p.Node] = p.Hostname
	s.pool(p.Disks())
}

// pool notes that disks are in a pool.
func (s *Standing) pool(disks []string) {
	for _, name := range disks {
		s.pooled[name] = true
	}
}

// Open adds a further CStorPoolCluster.
func (s *Standing) Open(c *Cluster) {
	s.clusters = append(s.clusters, c)
	slices.SortFunc(s.clusters, func(a, b *Cluster) int { return cmp.Compare(a.Number, b.Number) })
}

// Plan says in which CStorPoolCluster the pool of a node comes.
func (s *Standing) Plan(node string, c *Cluster) { s.planned[node] = c }

// AdoptNode adds a node to the plan of which something is running.
func (s *Standing) AdoptNode(node string) {
	s.addNode(node)
	s.reasons[node] = Adopted
}

// RestorePool makes a running pool that of its node again, in the place that it has there among the
// others: another order is an edit, too, and the webhook may refuse any.
func (s *Standing) RestorePool(p *Pool) {
	restored := *p.Pool // which is that of the running CStorPoolCluster
	p.Pool = &restored
	s.AdoptNode(p.Node)
	s.addPool(p)
	if p.Of.Current == nil {
		return
	}
	live := p.Of.Current.Pools
	at := slices.IndexFunc(live, func(other *pool.Pool) bool { return other.Hostname == p.Hostname })
	if at < 0 {
		return
	}
	for _, next := range live[at+1:] {
		if i := slices.IndexFunc(s.pools, func(known *Pool) bool { return known.Of == p.Of && known.Hostname == next.Hostname }); i >= 0 {
			s.pools = slices.Insert(s.pools[:len(s.pools)-1], i, p)
			return
		}
	}
}

// RemovePool gives a pool up; its node stays.
func (s *Standing) RemovePool(p *Pool) {
	s.pools = slices.DeleteFunc(s.pools, func(o *Pool) bool { return o == p })
	delete(s.poolOf, p.Node)
	s.Unpool(p.Disks())
	for _, other := range s.pools { // a person may have put a disk into two
		s.pool(other.Disks())
	}
}

// Unpool notes that disks are in no pool any more.
func (s *Standing) Unpool(disks []string) {
	for _, name := range disks {
		delete(s.pooled, name)
	}
}

// HoldDisk keeps a disk of a pool that was released, and is still running.
func (s *Standing) HoldDisk(name string) { s.pooled[name] = true }

// Unreserve takes disks out of the storage set of a node.
func (s *Standing) Unreserve(node string, disks []string) {
	if set, found := s.sets[node]; found {
		s.sets[node] = set.Without(disks)
	}
}

// Regroup gives a pool other RAID groups. Disks that are new in it are in a pool then, and those that
// go are not.
func (s *Standing) Regroup(p *Pool, groups pool.Groups) {
	s.Unpool(pool.Without(p.Data.Disks(), groups.Disks()))
	s.pool(pool.Without(groups.Disks(), p.Data.Disks()))
	p.Data = groups
}

// RestoreGroups gives a pool what the running one has and it lacks.
func (s *Standing) RestoreGroups(p *Pool, data, cache pool.Groups, cacheType string) {
	p.Data, p.Cache, p.CacheType = data, cache, cacheType
	s.pool(p.Disks())
}

// RestoreType gives a pool the RAID type that it is running with.
func (s *Standing) RestoreType(p *Pool, raidType string) { p.RAIDType = raidType }

// RestoreSettings gives a CStorPoolCluster and its pools the settings that are running.
func (s *Standing) RestoreSettings(c *Cluster) { c.keepSettings(s.PoolsOf(c)) }

// Rename calls a disk of a pool by another name.
func (s *Standing) Rename(p *Pool, from, to string) {
	renamed := func(groups pool.Groups) pool.Groups {
		groups = slices.Clone(groups)
		for i, group := range groups {
			if at := slices.Index(group, from); at >= 0 {
				groups[i] = slices.Clone(group)
				groups[i][at] = to
			}
		}
		return groups
	}
	p.Data, p.Cache = renamed(p.Data), renamed(p.Cache)
	delete(s.pooled, from)
	s.pooled[to] = true
}

// RememberGrowth notes that a pool of cloud disks has grown, whose storage set does not know it: it
// has more of them than the spec gives a new pool. It grows again once it was seen below the threshold.
func (s *Standing) RememberGrowth(p *Pool, minCount int) {
	set, have := s.sets[p.Node], len(p.Data.Disks())
	if have <= max(minCount, set.Grown.Disks) {
		return
	}
	set.Grown = record.Grown{Count: set.Grown.Count + 1, Disks: have, Level: set.Grown.Level}
	s.sets[p.Node] = set
}

// ForgetGrowth forgets that a pool has grown by itself, where the disks are not in it any more:
// it grows again as soon as it may.
func (s *Standing) ForgetGrowth(p *Pool) {
	set, have := s.sets[p.Node], len(p.Data.Disks())
	if set.Grown.Disks <= have {
		return
	}
	if set.Grown.Count--; set.Grown.Count == 0 {
		set.Grown = record.Grown{}
	} else {
		set.Grown.Disks, set.Grown.Below = have, true
	}
	s.sets[p.Node] = set
}

// RestoreVolume adds a claim or an attachment that the output has lost.
func (s *Standing) RestoreVolume(o *krm.Object) {
	node := record.NodeOfVolume(o)
	s.objects[o.ID()] = o
	s.volumes[node] = append(slices.Clone(s.volumes[node]), o)
	s.restored = append(s.restored, o)
}

// Move makes a pool that of another node, with everything that is known of its disks. Its claims keep
// their names, since they are bound; it returns the attachments to the old node.
func (s *Standing) Move(namespace string, p *Pool, to *inventory.Node) (left []krm.ID) {
	from := p.Node
	attached := map[string]krm.ID{} // by claim
	for _, o := range s.volumes[from] {
		if o.Kind == record.ClaimKind {
			attached[o.Name] = s.AttachmentID(namespace, o.Name, from)
		}
	}
	s.move(p, to)
	if from == to.Name {
		return nil
	}
	for claim, id := range attached {
		old := s.objects[id]
		if old == nil {
			continue
		}
		left = append(left, id)
		// It shows what was bound, whichever node's attachment is looked for.
		s.objects[s.AttachmentID(namespace, claim, from)] = old
		s.objects[s.AttachmentID(namespace, claim, to.Name)] = old
	}
	return left
}

// MoveBack makes a pool that of the host again where it is running.
func (s *Standing) MoveBack(p *Pool, host string) {
	s.move(p, &inventory.Node{Name: p.Node, Hostname: host})
}

func (s *Standing) move(p *Pool, to *inventory.Node) {
	from, moved := p.Node, *p.Pool // which may be that of the record
	s.called[p.Hostname] = slices.DeleteFunc(s.called[p.Hostname], func(name string) bool { return name == from })
	moved.Hostname = to.Hostname
	p.Pool, p.Node = &moved, to.Name
	set := s.sets[from]
	set.Hostname = to.Hostname
	if from != to.Name {
		s.nodes = slices.DeleteFunc(s.nodes, func(name string) bool { return name == from || name == to.Name })
		s.nodes = append(s.nodes, to.Name)
		for _, of := range []map[string]string{s.hosts, s.uids, s.reasons} {
			delete(of, from)
		}
		if s.volumes[to.Name] = s.volumes[from]; len(s.volumes[to.Name]) > 0 {
			set.VolumesOf = cmp.Or(set.VolumesOf, from)
		}
		if set.VolumesOf == to.Name {
			set.VolumesOf = ""
		}
		delete(s.volumes, from)
		delete(s.known, from)
		delete(s.sets, from)
		delete(s.poolOf, from)
		s.uids[to.Name], s.reasons[to.Name] = to.UID, Moved
		s.cameFrom[to.Name] = from
	}
	s.known[to.Name], s.hosts[to.Name], s.sets[to.Name], s.poolOf[to.Name] = true, to.Hostname, set, p
	s.called[to.Hostname] = []string{to.Name}
}
