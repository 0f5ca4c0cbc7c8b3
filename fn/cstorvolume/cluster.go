package cstorvolume

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// cluster is the pool cluster of a class.
type cluster struct {
	inventory.Key
	pools  int           // that there are or will be
	broken bool          // its config has errors, so that nothing is known
	config *krm.Object   // that it is made from, nil for none in the package
	wanted *pool.Cluster // as it is rendered, nil where it is not
}

// leaves says what becomes of the pool of an instance that goes, or "". node is its node.
func (c *cluster) leaves(i *pool.Instance, node string) string {
	switch {
	case c.config == nil:
		return ""
	case c.wanted != nil && c.wanted.Host(i.Hostname) == nil:
		return fmt.Sprintf("%s %s removes its pool on node %s", c.config.Kind, c.config.Name, node)
	case slices.Contains(c.config.AnnotationList(pool.AnnotationDrain), node):
		return fmt.Sprintf("%s %s drains its pool on node %s", c.config.Kind, c.config.Name, node)
	}
	return ""
}

// clustersOf lists the CStorPoolClusters of a config, as it is rendered.
func clustersOf(config system.Followed) []string {
	plan := krm.GroupKind{Group: pool.ConfigGroup, Kind: pool.PlanKind}
	for _, o := range config.Objects {
		if o.GroupKind() == plan {
			return pool.Planned(o.Object)
		}
	}
	for _, o := range config.Before {
		if o.GroupKind() == plan {
			return pool.Planned(o)
		}
	}
	return []string{config.Spec.Object.Name}
}

// findCluster finds the cluster of a class and counts its pools: those that are rendered,
// that live, or that its config promises.
func (r *rendering) findCluster(v *volumeClass) {
	c := &v.cluster
	c.Key = inventory.Key{Namespace: v.Object.Namespace, Name: v.cfg.Spec.Cluster}
	found := false
	count := func(pools int) { found, c.pools = true, max(c.pools, pools) }
	look := func(o *krm.Object) {
		if pools, known := pool.Expected(o, c.Key); known {
			count(pools)
		}
	}
	var names []string
	for _, other := range r.others {
		spec := other.Object
		if !pool.IsConfig(spec.GroupKind()) || spec.Namespace != c.Namespace {
			continue
		}
		all := clustersOf(other)
		names = append(names, all...)
		if !slices.Contains(all, c.Name) {
			continue
		}
		if len(all) == 1 {
			count(pool.Promised(other.Completed))
		} else {
			v.Report(finding.Info, "one-of-clusters", "spec.cluster",
				"is one of the CStorPoolClusters of %s %s, which has %s: volumes of this class are on the pools of %s alone; make a class for each of the others",
				pool.ConfigKind, spec.Name, finding.Names(all), c.Name)
		}
		c.config = spec
		c.broken = other.Unsound && !other.IsRendered() || finding.Failed(other.Findings)
		for _, o := range other.Objects {
			look(o.Object)
			if o.GroupKind() == (krm.GroupKind{Group: pool.APIGroup, Kind: pool.ClusterKind}) && o.Name == c.Name {
				c.wanted = pool.DecodeCluster(o.Object)
			}
		}
	}
	for _, o := range r.in.Held {
		look(o)
	}
	live := pool.LiveOf(r.in.Facts)
	for _, lives := range live.Clusters {
		if names = append(names, lives.Name); lives.Namespace == c.Namespace && lives.Name == c.Name {
			count(len(lives.Pools))
		}
	}
	if found {
		count(len(live.Instances(c.Namespace, c.Name)))
		return
	}
	v.Report(finding.Error, "no-cluster", "spec.cluster",
		"no %s %s exists in namespace %s of the package, and the inventory contains no %s of that name; correct it%s, or refresh the inventory",
		pool.ConfigKind, c.Name, c.Namespace, pool.ClusterKind, schema.DidYouMean(c.Name, names))
}
