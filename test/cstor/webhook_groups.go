package cstor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// removed judges the pools that are gone from a CStorPoolCluster. One of which another has
// a disk has moved.
func (r *poolReview) removed() error {
	var gone []*Instance
	for i := range r.old.Spec.Pools {
		p := &r.old.Spec.Pools[i]
		if slices.ContainsFunc(r.wanted.Spec.Pools, func(q Pool) bool {
			return maps.Equal(p.NodeSelector, q.NodeSelector) || common(p.disks(), q.disks()) > 0
		}) {
			continue
		}
		r.ask(pathInstances)
		at := slices.IndexFunc(sorted(r.api.Instances), func(i *Instance) bool { return i.cluster() == r.old.Name && i.host() == p.host() })
		if at < 0 {
			return errPanic
		}
		gone = append(gone, sorted(r.api.Instances)[at])
	}
	for _, instance := range gone {
		r.ask(pathReplicas)
		if len(r.api.replicasOn(instance.Name)) > 0 {
			return fmt.Errorf("volume still exists on pool %s", instance.Name)
		}
	}
	return nil
}

// pairs finds the pools that stay: by the name of the old node, which it takes for a hostname,
// or, where that is gone, by a data disk.
func (r *poolReview) pairs() [][2]*Pool {
	var pairs [][2]*Pool
	for i := range r.old.Spec.Pools {
		old := &r.old.Spec.Pools[i]
		nodes := r.nodes(old.NodeSelector)
		for j := range r.wanted.Spec.Pools {
			p := &r.wanted.Spec.Pools[j]
			if len(nodes) == 0 && common(namesOf(old.Data), namesOf(p.Data)) > 0 ||
				len(nodes) == 1 && r.nodes(p.NodeSelector)[0].Labels[labelHostname] == nodes[0].Name {
				pairs = append(pairs, [2]*Pool{old, p})
				break
			}
		}
	}
	return pairs
}

// changed judges the RAID groups of the pools that stay.
func (r *poolReview) changed() error {
	for _, pair := range r.pairs() {
		if old, p := pair[0], pair[1]; !same(old.disks(), p.disks()) || old.Config != p.Config {
			if err := r.poolChanged(old, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// replacement is a disk that takes the place of another.
type replacement struct{ out, in string }

func (r *poolReview) poolChanged(old, p *Pool) error {
	if old.Config.DataRAIDGroupType != p.Config.DataRAIDGroupType ||
		old.Config.WriteCacheType != "" && old.Config.WriteCacheType != p.Config.WriteCacheType {
		return errors.New("raidgroup can't be modified")
	}
	var replaced []replacement
	for _, groups := range []struct {
		old, now []RAIDGroup
		raidType string
	}{{old.Data, p.Data, old.Config.DataRAIDGroupType}, {old.Cache, p.Cache, old.Config.WriteCacheType}} {
		for _, group := range groups.old {
			one, err := r.sameGroup(group, groups.now, groups.raidType)
			if err != nil {
				return err
			}
			replaced = append(replaced, one...)
		}
	}
	r.growth(old, p)
	for _, one := range replaced {
		r.ask(pathDevices)
		r.ask(pathClaims)
		r.ask(pathClaims)
		r.api.claim(r.wanted, one.in, one.out)
	}
	return nil
}

// sameGroup judges what became of a RAID group: it is the one that has most of its disks.
func (r *poolReview) sameGroup(group RAIDGroup, groups []RAIDGroup, raidType string) ([]replacement, error) {
	before := group.names()
	var now []string
	for _, candidate := range groups {
		if names := candidate.names(); common(before, names) > common(before, now) {
			now = names
		}
	}
	out, in := minus(before, now), minus(now, before)
	invalid := func(text string) error { return errors.New("raid group validation failed: " + text) }
	switch {
	case now == nil:
		return nil, invalid("removing raid group from pool spec is invalid operation")
	case raidType == "stripe" && len(out) > 0 && len(in) > 0:
		return nil, errors.New("cannot replace  blockdevice in stripe raid group")
	case len(now) < len(before):
		return nil, invalid(fmt.Sprintf("removing block device from %s raid group is not valid operation", raidType))
	case raidType == "stripe":
		return nil, nil
	case len(now) > len(before):
		return nil, invalid(fmt.Sprintf("adding block devices to existing %s raid group is not valid operation", raidType))
	case len(out) > 1:
		return nil, errors.New("cannot replace more than one blockdevice in a raid group")
	case len(out) == 1:
		return []replacement{{out[0], in[0]}}, r.replaced(before, out[0], in[0])
	}
	return nil, nil
}

// claimOf lists all claims, to find that of a disk.
func (r *poolReview) claimOf(disk string) *BlockDeviceClaim {
	r.ask(pathClaims)
	return r.api.claimOf(disk)
}

// replaced judges a disk that takes the place of another.
func (r *poolReview) replaced(group []string, out, in string) error {
	if slices.Contains(r.old.Spec.disks(), in) {
		return errors.New("the new blockdevice intended to use for replacement is already a part of the current cspc")
	}
	for _, name := range group {
		if claim := r.claimOf(name); claim != nil && claim.Annotations[predecessor] != "" {
			return fmt.Errorf("cannot replace blockdevice as a background replacement may be in progress in the raid group: %v", group)
		}
	}
	r.claimOf(in)
	r.predecessors()
	r.ask(pathDevices)
	r.ask(pathDevices)
	was, d := r.api.BlockDevices[out], r.api.BlockDevices[in]
	if was == nil {
		return errors.New("the new blockdevice intended to use for replacement in invalid")
	}
	if d.Spec.Capacity.Storage < was.Spec.Capacity.Storage {
		return fmt.Errorf("error: capacity of replacing block device {%s:%d} should be greater than or equal to existing block device {%s:%d}",
			in, d.Spec.Capacity.Storage, out, was.Spec.Capacity.Storage)
	}
	return nil
}

// predecessors looks for the disks of which replacements are under way.
func (r *poolReview) predecessors() {
	for _, name := range r.old.Spec.disks() {
		r.claimOf(name)
	}
}

// growth looks at the new disks, of data and write cache in random order: what is looked at last
// forgets the others, but for a stripe.
func (r *poolReview) growth(old, p *Pool) {
	data, cache := growing(old.Config.DataRAIDGroupType, old.Data, p.Data), growing(old.Config.WriteCacheType, old.Cache, p.Cache)
	checked := data
	if r.api.random.IntN(2) == 0 {
		if old.Config.WriteCacheType != "stripe" {
			checked = nil
		}
		checked = append(checked, cache...)
	} else {
		if checked = cache; old.Config.DataRAIDGroupType != "stripe" {
			checked = nil
		}
		checked = append(checked, data...)
	}
	for _, name := range checked {
		r.claimOf(name)
		r.predecessors()
	}
}

// growing lists the disks by which groups grow.
func growing(raidType string, old, groups []RAIDGroup) []string {
	var names []string
	for _, group := range groups {
		if raidType == "stripe" || common(group.names(), namesOf(old)) == 0 {
			names = append(names, minus(group.names(), namesOf(old))...)
		}
	}
	return names
}

func common(a, b []string) int { return len(a) - len(minus(a, b)) }

func same(a, b []string) bool { return len(a) == len(b) && common(a, b) == len(a) }

func minus(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
