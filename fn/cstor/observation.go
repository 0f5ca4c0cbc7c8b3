package cstor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// observation is how often a CStorPoolCluster had changed when facts were taken: the API server
// counts that in metadata.generation, which never goes back while the object has its uid.
type observation struct {
	name, uid  string
	generation int64 // from 1
	gone       bool  // it is no more, or is being deleted
}

// observe reads how often a CStorPoolCluster that lives has changed, where the facts tell.
func (c *poolCluster) observe() (o observation, known bool) {
	live := c.live()
	if live == nil {
		return o, false
	}
	o.name, o.uid = c.name, live.Node.Str("metadata", "uid")
	o.generation, known = live.Node.Get("metadata", "generation").Int()
	o.gone = live.Deleting()
	return o, known && o.uid != "" && o.generation > 0
}

// isOld reports whether the facts are older than others that were rendered from, and warns: one
// of the CStorPoolClusters has changed since, or is not there yet. Nothing that was decided by newer
// facts is undone by such, so that all of the config stays as it is rendered.
func (c *cluster) isOld() bool {
	for _, of := range c.lock.clusters {
		why := c.olderThan(of)
		if why == "" {
			continue
		}
		c.report(finding.Warning, "inventory-old", "", "%s", why)
		for _, node := range c.lock.nodes {
			c.collector.choose(system.NodeRef(node), node, "", place.Held, "the inventory is older than the one that it was rendered from")
		}
		return true
	}
	return false
}

// olderThan says by which CStorPoolCluster the facts are older than those that were rendered from, and
// what to do, or "". One that is rendered, was there and is not may also have been deleted: the
// facts do not tell that apart, and an engine makes it anew, with another uid.
func (c *cluster) olderThan(of *poolCluster) string {
	at := slices.IndexFunc(c.lock.observed, func(o observation) bool { return o.name == of.name })
	if at < 0 {
		return ""
	}
	was, since := c.lock.observed[at], ""
	switch now, known := of.observe(); {
	case known && now.uid == was.uid && was.gone && !now.gone:
		since = "is in it, and was deleted"
	case known && now.uid == was.uid && now.generation < was.generation:
		since = fmt.Sprintf("has metadata.generation %d in it, and had %d", now.generation, was.generation)
	case of.current == nil && !was.gone && of.before != nil && c.facts.Tells(cstorGroup, poolClusterKind, c.namespace):
		return fmt.Sprintf("the inventory is treated as older than the output: it does not have CStorPoolCluster %s, which existed when the output was rendered; the output stays unchanged; refresh the inventory with poolwright inventory, and render again; if the CStorPoolCluster was deleted, first apply what is rendered, which recreates it, or remove spec.observed from CStorClusterPlan %s",
			of.name, c.name)
	default:
		return ""
	}
	return fmt.Sprintf("the inventory is older than the one that the output was rendered from (CStorPoolCluster %s %s): the output stays unchanged; refresh it with poolwright inventory, and render again; if the API server itself was restored from a backup of etcd, first remove spec.observed from CStorClusterPlan %s",
		of.name, since, c.name)
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
	observed, now := f.lock.observed, f.observed()
	if !slices.Equal(now, observed) && (!f.unchanged() || countGone(now) > countGone(observed)) {
		observed = now
	}
	list := d.List()
	for _, o := range observed {
		entry := d.Object(d.F("name", d.Text(o.name)), d.F("uid", d.Text(o.uid)), d.F("generation", d.Int(o.generation)))
		if o.gone {
			entry.Set("gone", d.Bool(true))
		}
		list.Add(entry)
	}
	if len(observed) > 0 {
		f.plan.Node.Get("spec").Set("observed", list)
	}
}

// observed are the CStorPoolClusters by these facts, or as they were known where they do not tell. Of
// facts that show what the output had lost it is not known whether they are old themselves.
func (f *manifests) observed() []observation {
	all := slices.DeleteFunc(slices.Clone(f.lock.observed), func(o observation) bool { return f.lock.clusterNamed(o.name) == nil && !o.gone })
	for _, of := range f.lock.clusters {
		now, known := of.observe()
		at := slices.IndexFunc(all, func(o observation) bool { return o.name == of.name })
		rendered := slices.ContainsFunc(f.all, func(o gitops.Object) bool { return isPoolCluster(o.Object, of.name) })
		takenBack := rendered && !f.lock.adopted && !slices.ContainsFunc(f.spec.Before, func(o *krm.Object) bool { return isPoolCluster(o, of.name) })
		switch {
		case known && takenBack && !now.gone:
			all = slices.DeleteFunc(all, func(o observation) bool { return o.name == of.name && !o.gone })
		case known && at >= 0:
			all[at] = now
		case known:
			all = append(all, now)
		case at >= 0 && !rendered && of.current == nil && f.facts.Tells(cstorGroup, poolClusterKind, f.namespace):
			all[at].gone = true
		}
	}
	slices.SortStableFunc(all, func(a, b observation) int { return cmp.Compare(a.name, b.name) })
	return all
}

// countGone counts the CStorPoolClusters that are no more.
func countGone(observed []observation) (n int) {
	for _, o := range observed {
		if o.gone {
			n++
		}
	}
	return n
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

// readObserved reads the observations of a plan.
func readObserved(list []d.Node) []observation {
	var all []observation
	for i := range list {
		generation, _ := list[i].Get("generation").Int()
		gone, _ := list[i].Get("gone").Bool()
		all = append(all, observation{list[i].Str("name"), list[i].Str("uid"), generation, gone})
	}
	return all
}
