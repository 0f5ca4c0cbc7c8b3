package cstor

import (
	"errors"
	"fmt"
	"slices"
)

// removed judges the pools that are gone from a CStorPoolCluster. One of which another has
// a disk has moved.
func (r *poolReview) removed() error {
	for i := range r.old.Spec.Pools {
		p := &r.old.Spec.Pools[i]
		if r.wanted.Spec.on(p.host()) != nil || r.moved(p) != nil {
			continue
		}
		at := slices.IndexFunc(sorted(r.api.Instances), func(i *Instance) bool { return i.cluster() == r.old.Name && i.host() == p.host() })
		if at < 0 {
			return errPanic
		}
		instance := sorted(r.api.Instances)[at]
		if len(r.api.replicasOn(instance.Name)) > 0 {
			return fmt.Errorf("volume still exists on pool %s", instance.Name)
		}
	}
	return nil
}

// moved is the pool on a new host that has a disk of another, or nil.
func (r *poolReview) moved(old *Pool) *Pool {
	for i := range r.wanted.Spec.Pools {
		p := &r.wanted.Spec.Pools[i]
		if r.old.Spec.on(p.host()) == nil && common(old.disks(), p.disks()) > 0 {
			return p
		}
	}
	return nil
}

// changed judges the RAID groups of the pools that stay.
func (r *poolReview) changed() error {
	for i := range r.old.Spec.Pools {
		old := &r.old.Spec.Pools[i]
		p := r.wanted.Spec.on(old.host())
		if p == nil {
			p = r.moved(old)
		}
		if p == nil || !r.checks(p.host()) {
			continue
		}
		if err := r.groups(old, p); err != nil {
			return err
		}
		if err := r.growth(old, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *poolReview) groups(old, p *Pool) error {
	if old.Config.DataRAIDGroupType != p.Config.DataRAIDGroupType {
		return errors.New("raidgroup can't be modified")
	}
	for _, group := range old.Data {
		if err := r.sameGroup(group, p.Data, p.Config.DataRAIDGroupType); err != nil {
			return err
		}
	}
	return nil
}

// sameGroup judges what became of a RAID group: it is the one that has most of its disks.
func (r *poolReview) sameGroup(group RAIDGroup, groups []RAIDGroup, raidType string) error {
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
		return invalid("removing raid group from pool spec is invalid operation")
	case raidType == "stripe" && len(out) > 0 && len(in) > 0:
		return errors.New("cannot replace  blockdevice in stripe raid group")
	case len(now) < len(before):
		return invalid(fmt.Sprintf("removing block device from %s raid group is not valid operation", raidType))
	case raidType == "stripe":
		return nil
	case len(now) > len(before):
		return invalid(fmt.Sprintf("adding block devices to existing %s raid group is not valid operation", raidType))
	case len(out) > 1:
		return errors.New("cannot replace more than one blockdevice in a raid group")
	case len(out) == 1:
		return r.replaced(before, out[0], in[0])
	}
	return nil
}

// replaced judges a disk that takes the place of another, and claims it.
func (r *poolReview) replaced(group []string, out, in string) error {
	if slices.Contains(r.old.Spec.disks(), in) {
		return errors.New("the new blockdevice intended to use for replacement is already a part of the current cspc")
	}
	for _, name := range group {
		if claim := r.api.claimOf(name); claim != nil && claim.Annotations[predecessor] != "" {
			return fmt.Errorf("cannot replace blockdevice as a background replacement may be in progress in the raid group: %v", group)
		}
	}
	was, d := r.api.BlockDevices[out], r.api.BlockDevices[in]
	if was == nil {
		return errors.New("the new blockdevice intended to use for replacement in invalid")
	}
	if d.Spec.Capacity.Storage < was.Spec.Capacity.Storage {
		return fmt.Errorf("error: capacity of replacing block device {%s:%d} should be greater than or equal to existing block device {%s:%d}",
			in, d.Spec.Capacity.Storage, out, was.Spec.Capacity.Storage)
	}
	r.api.claim(r.wanted, in, out)
	// Measured: 3n+g+5 requests in all, for n disks of which the new one is not claimed.
	return r.ask(len(r.old.Spec.disks()) + len(group) + 6)
}

// growth is slow where the webhook looks at the new disks before it looks at those that
// were there: with a write cache always, else by chance.
func (r *poolReview) growth(old, p *Pool) error {
	added := 0
	for _, group := range p.Data {
		if names := group.names(); common(names, old.disks()) == 0 || p.Config.DataRAIDGroupType == "stripe" {
			added += len(minus(names, old.disks()))
		}
	}
	cached := len(old.Cache) > 0 && old.Config.WriteCacheType == "stripe"
	if added == 0 || !cached && r.api.random.IntN(2) == 0 {
		return nil
	}
	return r.ask(added * (1 + len(r.old.Spec.disks())))
}

func common(a, b []string) int { return len(a) - len(minus(a, b)) }

func minus(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
