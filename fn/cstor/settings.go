package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// askForSettings asks that the pools get the settings of the spec, in one step. Where they
// mean the same, as with what the operators fill in, they get them at once. Which tags disks
// may have is no setting: it goes along with whatever needs it.
func askForSettings(s *steps, from *pool.Cluster) {
	set := func(c *pool.Cluster) {
		s.cfg.setShared(c)
		for _, p := range c.Pools {
			s.settingsOn(p.Hostname).set(p)
		}
	}
	wanted := from.Clone()
	set(wanted)
	if admission.NewStep(from, wanted).Settings {
		s.ask(step{kind: stepSettings, what: settingsChange, edit: set})
	} else {
		set(from)
	}
}

// setShared gives a cluster the settings that all of its pools share.
func (c *config) setShared(cluster *pool.Cluster) {
	cluster.Resources, cluster.AuxResources, cluster.Tolerations = c.resources, c.auxResources, c.podTolerations
	cluster.PriorityClassName = c.Spec.PoolConfig.PriorityClassName
}
