// Package preview says what the operators of cStor will make of claims, before they do:
// the objects of each chain, the pools of its replicas, and what is left of these.
//
// Source: cstor-csi and cstor-operators, 3.6.0, measured.
package preview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/chain"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Preview is the chains of some claims, and the pools that they are on.
type Preview struct {
	Chains []Chain
	Pools  []Pool // by namespace and name
}

// Chain is what becomes of one claim, or of a CStorVolumeConfig that no claim asked for.
type Chain struct {
	Claim      finding.Ref   // zero where there is none
	Objects    []*krm.Object // in the order in which they hang on each other, the claim first
	Placement  string        // how the pools of its replicas are found; "" where there are no replicas
	Candidates []string      // the pool instances that the operator chooses from at random; none where it has no choice
	On         []string      // the pool instances whose replicas are or will be there for sure
}

// Pool is a pool instance before and after.
type Pool struct {
	*pool.Instance
	Zone      string
	Node      string
	Replicas  int   // that it has
	Sure      int   // that it gets
	Possible  int   // that it may get
	Free      int64 // bytes that it has free; -1 where that is not known
	SureBytes int64 // that these may come to take
	MostBytes int64 // that all of them may come to take
}

// Of previews claims: of the package, as they are rendered, or among the facts, and
// CStorVolumeConfigs among the facts. A claim of another driver has no preview. The findings
// say what the operators will not make.
func Of(facts *inventory.Facts, rendered, claims []*krm.Object) (Preview, []finding.Finding) {
	v := newViewer(facts, rendered)
	var p Preview
	for _, o := range claims {
		if c, ok := v.chain(o); ok {
			p.Chains = append(p.Chains, c)
		}
	}
	for _, key := range v.clusters {
		for _, i := range v.live.Instances(key.Namespace, key.Name) {
			p.Pools = append(p.Pools, *v.pool(i))
		}
	}
	slices.SortFunc(p.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return p, v.findings
}

// viewer makes previews.
type viewer struct {
	facts    *inventory.Facts
	rendered map[krm.ID]*krm.Object
	live     *pool.Live
	replicas map[string][]*krm.Object // by volume
	budgets  map[string]string        // PodDisruptionBudgets by the pools that they are for
	clusters []inventory.Key          // that volumes are on
	gets     map[inventory.Key]*Pool
	findings []finding.Finding
}

func newViewer(facts *inventory.Facts, rendered []*krm.Object) *viewer {
	v := &viewer{
		facts: facts, live: pool.LiveOf(facts),
		rendered: map[krm.ID]*krm.Object{}, replicas: map[string][]*krm.Object{}, budgets: budgetsOf(facts), gets: map[inventory.Key]*Pool{},
	}
	for _, o := range rendered {
		v.rendered[o.ID()] = o
	}
	for _, o := range facts.Objects(pool.APIGroup, pool.ReplicaKind) {
		name := volume.Of(o)
		v.replicas[name] = append(v.replicas[name], o)
	}
	return v
}

// find finds an object as it will be: as it is rendered, or else as it is in the cluster.
func (v *viewer) find(id krm.ID) *krm.Object {
	if o := v.rendered[id]; o != nil {
		return o
	}
	return v.facts.Object(id)
}

func (v *viewer) report(about finding.Ref, rule, format string, args ...any) {
	v.findings = append(v.findings, finding.Finding{Severity: finding.Error, Rule: rule, Object: about, Message: fmt.Sprintf(format, args...)})
}

// chain is what becomes of a claim or of a CStorVolumeConfig; false for a claim of which
// the operators know nothing.
func (v *viewer) chain(o *krm.Object) (Chain, bool) {
	if o.Kind == volume.ConfigKind {
		r := request{viewer: v, about: o.Ref, config: o, vol: &chain.Volume{}}
		v.make(&r)
		return r.chain, true
	}
	r := request{viewer: v, about: o.Ref, chain: Chain{Claim: o.Ref, Objects: []*krm.Object{o}}}
	sc := v.classOf(o)
	switch name := o.Node.Str("spec", "storageClassName"); {
	case sc == nil && name == "":
		r.refuse("class-missing", "names no StorageClass, and none is the default, so that nothing is made")
	case sc == nil:
		r.refuse("class-missing", "its StorageClass %q is neither in the package nor among the facts, so that nothing is made", name)
	case sc.Provisioner != volume.Driver:
		return r.chain, false
	default:
		r.vol = v.volume(o, sc)
		r.config = v.facts.Object(krm.ID{Group: pool.APIGroup, Kind: volume.ConfigKind, Namespace: r.vol.Namespace, Name: r.vol.Name})
		if r.refusedByDriver(o, sc) {
			break
		}
		r.chain.Objects[0] = bound(o, r.vol.Name)
		v.make(&r)
	}
	return r.chain, true
}

// make adds what is made of a volume.
func (v *viewer) make(r *request) {
	if r.config != nil {
		r.vol = v.configured(r.vol, r.config)
	}
	cluster := inventory.Key{Namespace: r.vol.Namespace, Name: r.vol.Cluster}
	if r.vol.Cluster != "" && !slices.Contains(v.clusters, cluster) {
		v.clusters = append(v.clusters, cluster)
	}
	stage := r.stage()
	if stage >= chain.Unbound {
		r.settle()
	}
	r.chain.Objects = append(r.chain.Objects, r.vol.Objects(stage)...)
}

// bound is a claim with the volume that it will be bound to.
func bound(claim *krm.Object, name string) *krm.Object {
	node := claim.Node.Copy()
	spec := document.Object()
	if was := node.Get("spec"); was.Kind() == document.Map {
		spec = was.Copy()
	}
	spec.Set("volumeName", document.Text(name))
	node.Set("spec", spec)
	return krm.NewObject(nil, &node)
}

// classOf is the class of a claim, as it is rendered, or as it is in the cluster; nil where there is none.
func (v *viewer) classOf(claim *krm.Object) *class.Class {
	if claim.Node.Get("spec", "storageClassName") == nil {
		return v.defaultClass()
	}
	if o := v.find(class.ID(claim.Node.Str("spec", "storageClassName"))); o != nil {
		sc := class.Read(o)
		return &sc
	}
	return nil
}

// defaultClass is that of claims that name none, or nil.
func (v *viewer) defaultClass() *class.Class {
	kind := class.Kind()
	objects := v.facts.Objects(kind.Group, kind.Kind)
	for _, o := range v.rendered {
		if o.GroupKind() == kind && v.facts.Object(o.ID()) == nil {
			objects = append(objects, o)
		}
	}
	slices.SortFunc(objects, func(a, b *krm.Object) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range objects {
		if sc := class.Read(v.find(o.ID())); sc.Default {
			return &sc
		}
	}
	return nil
}
