package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/finding"
)

// poolLoss is what a pool can lose.
//
// Source: OpenZFS, vdev_mirror.c and vdev_raidz.c (a data group survives while enough of its disks do), 2.1.
type poolLoss struct {
	*pool.Instance
	node   string // that it runs on
	groups [][]slot
	known  bool // the facts have block devices
	rule   *resilience.Rule
}

// slot is the place of a disk in a data group.
type slot struct {
	name    string // of the block device
	disk    *disk.Disk
	node    string              // that has the disk
	bad     bool                // already
	volumes []*inventory.Volume // that the disk is, of a cloud
	zones   []string            // that have those
}

func (l *losses) newPool(i *pool.Instance) *poolLoss {
	p := &poolLoss{Instance: i, node: l.nodeOf(i.RunsOn), known: l.facts.Tells(deviceGroup, blockDeviceKind, i.Object.Namespace)}
	r := &resilience.Rule{Nodes: []string{p.node}, Pools: []krm.ID{i.Object.ID()}, Judge: p.judge}
	for _, group := range i.Pool.Data {
		var slots []slot
		for _, name := range group {
			s := l.newSlot(i, name)
			slots = append(slots, s)
			r.Disks = append(r.Disks, s.disk)
			r.Zones = append(r.Zones, s.zones...)
			if !slices.Contains(r.Nodes, s.node) {
				r.Nodes = append(r.Nodes, s.node)
			}
		}
		p.groups = append(p.groups, slots)
	}
	p.rule = r
	return p
}

// newSlot is the place of a block device. While that takes the place of another one, the pool reads the other one.
//
// Source: OpenZFS, vdev_replacing_ops (a replaced disk stays until the new one has all data), 2.1.
func (l *losses) newSlot(i *pool.Instance, name string) slot {
	s := slot{name: name}
	d := l.facts.Device(i.Object.Namespace, name)
	if d != nil {
		if claim := l.facts.ClaimOf(d); claim != nil && claim.Predecessor != "" {
			s.name = claim.Predecessor
			d = l.facts.Device(i.Object.Namespace, s.name)
		}
	}
	s.disk, s.node = l.disks.Device(i.Object.Namespace, s.name), l.nodeOf(i.RunsOn)
	if s.bad = d == nil || d.State == "Inactive"; d == nil {
		return s
	}
	if d.Hostname != "" {
		s.node = l.nodeOf(d.Hostname)
	}
	for _, v := range s.disk.Volumes() {
		if v.Driver != "" && v.Driver != cstorDriver {
			s.volumes = append(s.volumes, v)
			s.zones = append(s.zones, l.facts.ZonesOf(v)...)
		}
	}
	return s
}

// isBad reports whether the data of the disk are gone. A disk of a cloud survives its node, not its zone.
//
// Source: Kubernetes, PersistentVolume (nodeAffinity), 1.36: a volume of a cloud can be attached to any node of its zones.
func (s *slot) isBad(at *resilience.Situation) bool {
	switch {
	case s.bad, at.IsLost(s.disk):
		return true
	case len(s.volumes) == 0:
		return at.Node(s.node) == resilience.Gone
	}
	return len(s.zones) > 0 && !slices.ContainsFunc(s.zones, func(zone string) bool { return at.Zone(zone) != resilience.Gone })
}

func (p *poolLoss) slots() []slot { return slices.Concat(p.groups...) }

// judge is the state of the pool.
func (p *poolLoss) judge(at *resilience.Situation) resilience.Verdict {
	named, total, left := at.Pool(p.Object.ID()), len(p.slots()), 0
	if named == resilience.Gone {
		return resilience.Verdict{State: resilience.Lost, Worst: resilience.Lost}
	}
	if !p.known {
		return resilience.Unclear()
	}
	state, readable := resilience.Safe, true
	for _, group := range p.groups {
		bad, away := 0, 0
		for i := range group {
			switch s := &group[i]; {
			case s.isBad(at):
				bad++
			case s.node != p.node:
				away++
			}
		}
		left += len(group) - bad
		if spare := p.Pool.Spare(len(group)); bad > spare {
			state = resilience.Lost
		} else if bad+away > spare {
			readable = false
		}
	}
	if left < total {
		state = resilience.Worse(state, resilience.Degraded)
	}
	switch {
	case at.Node(p.node) != resilience.Up, named == resilience.Stopped, !p.Serves(), !readable:
		state = resilience.Worse(state, resilience.Stops)
	case p.Phase == "DEGRADED":
		state = resilience.Worse(state, resilience.Degraded)
	}
	return resilience.Verdict{State: state, Worst: state, Left: left}
}

// item is the pool in a table of losses.
func (p *poolLoss) item() resilience.Item {
	need := 0
	for _, group := range p.groups {
		need += len(group) - p.Pool.Spare(len(group))
	}
	return resilience.Item{System: lossSystem, Object: p.Object.Ref, Want: len(p.slots()), Need: need, Rule: p.rule, Advise: p.advise}
}

// advise is what to do about the pool.
func (p *poolLoss) advise(at *resilience.Situation, v resilience.Verdict) resilience.Advice {
	var bad []string
	bytes := int64(0)
	for _, s := range p.slots() {
		if s.isBad(at) {
			bad = append(bad, s.name)
			bytes += s.disk.Size()
		}
	}
	switch v.State {
	case resilience.Lost:
		return resilience.Advice{Remedy: "give the pool up, and add one on another node: poolwright render names the consent", Rebuild: resilience.Nothing()}
	case resilience.Stops:
		return resilience.Advice{Remedy: p.revive(at), Rebuild: resilience.Nothing()}
	case resilience.Degraded:
		if len(bad) == 0 {
			return resilience.Advice{Remedy: "wait until ZFS has filled its disks, or run zpool status in the pod of the pool", Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: resilience.None}}
		}
		return resilience.Advice{Remedy: "replace " + finding.Names(bad) + ": poolwright render takes a spare or free disk", Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
	}
	return resilience.Advice{Remedy: "add blockdevices to the inventory", Rebuild: resilience.Unsure()}
}

// revive says how a pool serves again that only stopped.
func (p *poolLoss) revive(at *resilience.Situation) string {
	if at.Node(p.node) == resilience.Gone {
		return "attach the cloud disks to another node, and move the pool there"
	}
	if at.Node(p.node) != resilience.Up {
		return "bring back node " + p.node
	}
	return fmt.Sprintf("start the pool: kubectl -n %s describe cspi %s", p.Object.Namespace, p.Name)
}
