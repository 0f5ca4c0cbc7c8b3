package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
)

// lossSystem is what a table of losses calls the system.
const lossSystem = "cstor"

// Storage implements system.Survivor: the pools that run, and the volumes on them.
func (System) Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage {
	l := &losses{facts: facts, disks: disks, live: pool.LiveOf(facts), pools: map[inventory.Key]*poolLoss{}}
	s := resilience.Storage{VolumeKind: krm.GroupKind{Group: pool.APIGroup, Kind: volume.ConfigKind}}
	for _, i := range l.live.All() {
		p := l.newPool(i)
		l.pools[key(i.Object)] = p
		s.Pools = append(s.Pools, p.item())
		for _, at := range p.slots() {
			for _, v := range at.volumes {
				s.Covered = append(s.Covered, v.Name)
			}
		}
	}
	for _, c := range volume.IndexOf(facts).Sorted {
		switch v := l.newVolume(c); {
		case c.Config == nil:
		case v.isEmpty():
			s.Empty++
		default:
			s.Volumes = append(s.Volumes, v.item())
		}
	}
	for _, v := range facts.Volumes() {
		if v.Driver == cstorDriver {
			s.Covered = append(s.Covered, v.Name)
		}
	}
	return s
}

// losses makes the rules of the pools and volumes among some facts.
type losses struct {
	facts *inventory.Facts
	disks *disk.Ledger
	live  *pool.Live
	pools map[inventory.Key]*poolLoss // by instance
}

// nodeOf is the name of the node with a hostname label; the hostname if there is none, which no node has.
func (l *losses) nodeOf(hostname string) string {
	if nodes := l.facts.Host(hostname); len(nodes) > 0 {
		return nodes[0].Name
	}
	return hostname
}
