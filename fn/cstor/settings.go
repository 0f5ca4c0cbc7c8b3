package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
)

// askForSettings asks that the pools get the settings of the spec, in one step. Where they
// mean the same, as with what the operators fill in, or live already, they get them at once.
// Which tags disks may have is no setting: it goes along with whatever needs it.
func askForSettings(s *steps, from *pool.Cluster) {
	if s.lacksSettings(from) && (!s.told() || s.lacksSettings(s.of.Current)) {
		s.ask(step{kind: stepSettings, what: settingsChange, edit: s.setSettings})
	} else {
		s.setSettings(from)
	}
}

// lacksSettings reports whether the settings of the spec mean something else than those of a cluster.
func (in *input) lacksSettings(c *pool.Cluster) bool {
	wanted := c.Clone()
	in.setSettings(wanted)
	return admission.NewStep(c, wanted).Settings
}

// setSettings gives a cluster and its pools the settings of the spec.
func (in *input) setSettings(c *pool.Cluster) {
	in.cfg.setShared(c)
	for _, p := range c.Pools {
		in.settingsOn(p.Hostname).set(p)
	}
}

// setShared gives a cluster the settings that all of its pools share.
func (c *config) setShared(cluster *pool.Cluster) {
	cluster.Resources, cluster.AuxResources, cluster.Tolerations = c.resources, c.auxResources, c.podTolerations
	cluster.PriorityClassName = c.Spec.PoolConfig.PriorityClassName
}
