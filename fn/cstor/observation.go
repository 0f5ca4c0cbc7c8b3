package cstor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// isOld reports whether the facts are older than others that were rendered from, and warns: one
// of the CStorPoolClusters has changed since, or is not there yet. Nothing that was decided by newer
// facts is undone by such, so that all of the config stays as it is rendered.
func (c *cluster) isOld() bool {
	for _, of := range c.standing.Clusters() {
		why := c.olderThan(of)
		if why == "" {
			continue
		}
		c.report(finding.Warning, "inventory-old", "", "%s", why)
		for _, node := range c.standing.Nodes() {
			c.collector.choose(system.NodeRef(node), node, "", place.Held, "the inventory is older than the one that it was rendered from")
		}
		return true
	}
	return false
}

// olderThan says by which CStorPoolCluster the facts are older than those that were rendered from, and
// what to do, or "". One that is rendered, was there and is not may also have been deleted: the
// facts do not tell that apart, and an engine makes it anew, with another uid.
func (c *cluster) olderThan(of *standing.Cluster) string {
	at := slices.IndexFunc(c.standing.Observed(), func(o record.Observation) bool { return o.Name == of.Name })
	if at < 0 {
		return ""
	}
	was, since := c.standing.Observed()[at], ""
	switch now, known := record.Observe(of.Current); {
	case known && now.UID == was.UID && was.Gone && !now.Gone:
		since = "is in it, and was deleted"
	case known && now.UID == was.UID && now.Generation < was.Generation:
		since = fmt.Sprintf("has metadata.generation %d in it, and had %d", now.Generation, was.Generation)
	case of.Current == nil && !was.Gone && of.Before != nil && c.facts.Tells(cstorGroup, poolClusterKind, c.namespace):
		return fmt.Sprintf("the inventory is treated as older than the output: it does not have CStorPoolCluster %s, which existed when the output was rendered; the output stays unchanged; refresh the inventory with poolwright inventory, and render again; if the CStorPoolCluster was deleted, first apply what is rendered, which recreates it, or remove spec.observed from CStorClusterPlan %s",
			of.Name, c.name)
	default:
		return ""
	}
	return fmt.Sprintf("the inventory is older than the one that the output was rendered from (CStorPoolCluster %s %s): the output stays unchanged; refresh it with poolwright inventory, and render again; if the API server itself was restored from a backup of etcd, first remove spec.observed from CStorClusterPlan %s",
		of.Name, since, c.name)
}

// asRendered are objects as they were rendered.
func asRendered(before []*krm.Object) []gitops.Object {
	objects := make([]gitops.Object, len(before))
	for i, o := range before {
		objects[i].Object = o
	}
	return objects
}

// observe writes into the plan what the output was made from. Where the output is what it was, or has only
// lost what is over, that stays, too: a cluster in which nothing is to be done changes no file.
func (f *manifests) observe() {
	observed, now := f.standing.Observed(), f.observed()
	if !slices.Equal(now, observed) && (!f.unchanged() || record.CountGone(now) > record.CountGone(observed)) {
		observed = now
	}
	if len(observed) > 0 {
		f.plan.Node.Get("spec").Set("observed", record.ObservedNode(observed))
	}
}

// observed are the CStorPoolClusters by these facts, or as they were known where they do not tell. Of
// facts that show what the output had lost it is not known whether they are old themselves.
func (f *manifests) observed() []record.Observation {
	all := slices.DeleteFunc(slices.Clone(f.standing.Observed()), func(o record.Observation) bool { return f.standing.Cluster(o.Name) == nil && !o.Gone })
	for _, of := range f.standing.Clusters() {
		now, known := record.Observe(of.Current)
		at := slices.IndexFunc(all, func(o record.Observation) bool { return o.Name == of.Name })
		rendered := slices.ContainsFunc(f.all, func(o gitops.Object) bool { return isPoolCluster(o.Object, of.Name) })
		takenBack := rendered && !f.standing.IsAdopted() && !slices.ContainsFunc(f.spec.Before, func(o *krm.Object) bool { return isPoolCluster(o, of.Name) })
		switch {
		case known && takenBack && !now.Gone:
			all = slices.DeleteFunc(all, func(o record.Observation) bool { return o.Name == of.Name && !o.Gone })
		case known && at >= 0:
			all[at] = now
		case known:
			all = append(all, now)
		case at >= 0 && !rendered && of.Current == nil && f.facts.Tells(cstorGroup, poolClusterKind, f.namespace):
			all[at].Gone = true
		}
	}
	slices.SortStableFunc(all, func(a, b record.Observation) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func isPoolCluster(o *krm.Object, name string) bool {
	return o.Kind == poolClusterKind && o.Name == name
}

// unchanged reports whether everything but the observations, and but what is over, is as it was rendered last.
func (f *manifests) unchanged() bool {
	kinds := map[string]system.Kind{}
	for _, k := range ownKinds() {
		kinds[k.Kind] = k
	}
	before := make(map[krm.ID]*krm.Object, len(f.spec.Before))
	for _, o := range f.spec.Before {
		before[o.ID()] = o
	}
	for _, o := range f.all {
		was, kind := before[o.ID()], kinds[o.Kind]
		if was == nil || was.Retained() != o.Retained {
			return false
		}
		if left := kind.Without(was.Node, o.Node); !d.Equal(withoutObserved(o.Kind, &left), o.Node.Get("spec")) {
			return false
		}
		delete(before, o.ID())
	}
	for _, was := range before {
		if kind := kinds[was.Kind]; !kind.Passes {
			return false
		}
	}
	return true
}

// withoutObserved is the spec of an object without observations.
func withoutObserved(kind string, o *d.Node) *d.Node {
	spec := o.Get("spec")
	if kind != clusterPlanKind || spec.Get("observed") == nil {
		return spec
	}
	rest := d.Object(slices.DeleteFunc(slices.Clone(spec.Fields()), func(f d.Field) bool { return f.Key == "observed" })...)
	return &rest
}
