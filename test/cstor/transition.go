package cstor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// transition is what an edit of a CStorPoolCluster changes.
type transition struct {
	added, removed, moved []string // hosts
	grown, replaced       []string // hosts
	settings              bool
}

func newTransition(old, wanted *PoolClusterSpec) transition {
	var t transition
	for i := range old.Pools {
		was := &old.Pools[i]
		now := wanted.on(was.host())
		if now != nil {
			t.compare(was, now)
			continue
		}
		follows := false
		for j := range wanted.Pools {
			follows = follows || common(was.disks(), wanted.Pools[j].disks()) > 0
		}
		if follows {
			t.moved = append(t.moved, was.host())
		} else {
			t.removed = append(t.removed, was.host())
		}
	}
	for i := range wanted.Pools {
		p := &wanted.Pools[i]
		if old.on(p.host()) == nil && common(p.disks(), old.disks()) == 0 {
			t.added = append(t.added, p.host())
		}
	}
	a, b := *old, *wanted
	a.Pools, b.Pools = nil, nil
	t.settings = t.settings || !reflect.DeepEqual(clone(a), clone(b))
	return t
}

func (t *transition) compare(was, now *Pool) {
	t.settings = t.settings || !reflect.DeepEqual(was.Config, now.Config)
	out, in := minus(was.disks(), now.disks()), minus(now.disks(), was.disks())
	if len(out) > 0 {
		t.replaced = append(t.replaced, was.host())
	}
	if len(in) > len(out) {
		t.grown = append(t.grown, was.host())
	}
}

// kinds names the kinds of changes.
func (t *transition) kinds() []string {
	var kinds []string
	for _, k := range []struct {
		name  string
		hosts []string
	}{{"adds", t.added}, {"removes", t.removed}, {"moves", t.moved}, {"grows", t.grown}, {"replaces disks of", t.replaced}} {
		if len(k.hosts) > 0 {
			kinds = append(kinds, k.name+" "+strings.Join(k.hosts, ", "))
		}
	}
	if t.settings {
		kinds = append(kinds, "changes settings")
	}
	return kinds
}

// illegal says why no step may be this one: it does two things at once, or the last one is
// not done. "" is legal.
func (t *transition) illegal(a *API, known View, old, wanted *PoolCluster) string {
	kinds := t.kinds()
	switch len(kinds) {
	case 0: // another order
		return ""
	case 1:
	default:
		return "one edit " + strings.Join(kinds, " and ")
	}
	if len(t.removed) > 1 && !known.lost(a, t.removed) {
		return "one edit " + kinds[0]
	}
	if t.takesBack(a, known, wanted) {
		return ""
	}
	if why := a.unfinished(old); why != "" && len(t.removed)+len(t.moved)+len(t.replaced) == 0 {
		return fmt.Sprintf("an edit %s, and %s", kinds[0], why)
	}
	return ""
}

// takesBack reports whether all that comes are pools whose removal the operator has not begun, as
// far as the facts show: it counts pools and instances, and where these are as many again it does
// nothing.
func (t *transition) takesBack(a *API, known View, wanted *PoolCluster) bool {
	for _, host := range t.added {
		p := wanted.Spec.on(host)
		lives := slices.ContainsFunc(a.instancesOf(wanted.Name), func(i *Instance) bool {
			return i.selects() == host && !i.going() && slices.Equal(i.Spec.disks(), p.disks())
		})
		if !lives && !slices.Equal(known.stays[host], p.disks()) {
			return false
		}
	}
	return len(t.added) > 0
}

// unfinished says what of the last edit is not done yet, "" for nothing.
func (a *API) unfinished(c *PoolCluster) string {
	instances := a.instancesOf(c.Name)
	for _, i := range instances {
		if i.going() {
			return "instance " + i.Name + " is going"
		}
	}
	if len(instances) != len(c.Spec.Pools) {
		return fmt.Sprintf("%d instances are there of %d pools", len(instances), len(c.Spec.Pools))
	}
	for i := range c.Spec.Pools {
		p := &c.Spec.Pools[i]
		instance := of(p, instances)
		if instance == nil || len(minus(p.disks(), instance.Spec.disks())) > 0 {
			return "the pool on " + p.host() + " has no instance with its disks"
		}
	}
	for _, claim := range sorted(a.BlockDeviceClaims) {
		if claim.Labels[labelCluster] == c.Name && claim.Annotations[predecessor] != "" {
			return "disk " + claim.Spec.BlockDeviceName + " is still taking over"
		}
	}
	return ""
}
