package standing

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Cluster is one CStorPoolCluster of a config. Its edits go by themselves, whatever those of the
// others wait for; nodes, disks and consent are the config's.
type Cluster struct {
	Name    string
	Number  int           // from 1, for the one that is called like the config
	Before  *pool.Cluster // as it was rendered, or else is running; nil if there is none yet
	Current *pool.Cluster // that is running, or nil

	begun []record.Step // the steps of its transition, the one that was rendered last at the end
	ends  bool          // none was to come after them
}

// NewCluster is a CStorPoolCluster of which nothing was rendered.
func NewCluster(name string, number int, running *pool.Cluster) *Cluster {
	return &Cluster{Name: name, Number: number, Current: running}
}

// Object is the object that is running, or nil.
func (c *Cluster) Object() *krm.Object {
	if c.Current == nil {
		return nil
	}
	return c.Current.Object
}

// Ref names the CStorPoolCluster.
func (c *Cluster) Ref(namespace string) finding.Ref {
	return finding.Ref{APIVersion: pool.APIGroup + "/v1", Kind: pool.ClusterKind, Namespace: namespace, Name: c.Name}
}

// Begun are the steps of its transition that were rendered, the last at the end, and whether none was
// to come after them.
func (c *Cluster) Begun() (steps []record.Step, ends bool) { return c.begun, c.ends }

// Forget forgets the step that was rendered last and is not any more. One of another kind than those
// that edit the CStorPoolCluster, as a drain is, goes on.
func (c *Cluster) Forget(isOther func(kind string) bool) {
	if i := len(c.begun) - 1; i >= 0 && !isOther(c.begun[i].Kind) {
		c.begun, c.ends = c.begun[:i], false
	}
}

// ForgetAll forgets a transition that is over.
func (c *Cluster) ForgetAll() { c.begun = nil }

// keepSettings gives a CStorPoolCluster and its pools the settings that are running.
func (c *Cluster) keepSettings(pools []*Pool) {
	live, before := c.Current, c.Before
	before.Resources, before.AuxResources, before.Tolerations, before.PriorityClassName = live.Resources, live.AuxResources, live.Tolerations, live.PriorityClassName
	for _, p := range pools {
		if l := live.Host(p.Hostname); l != nil {
			p.Settings = l.Settings
		}
	}
}
