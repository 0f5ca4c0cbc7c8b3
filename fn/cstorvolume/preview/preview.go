// Package preview says what the operators of cStor will make of claims, before they do:
// the objects of each chain, the pools of its replicas, and what is left of these.
package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

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

// Chain is what becomes of one claim.
type Chain struct {
	Claim      finding.Ref
	Objects    []*krm.Object // in the order in which they hang on each other, the claim first
	Candidates []string      // the pool instances that the operator chooses from at random; none where it has no choice
}

// Pool is a pool instance before and after.
type Pool struct {
	Instance  finding.Ref
	Node      string
	Zone      string
	Phase     string
	Replicas  int   // that it has
	Sure      int   // that it gets
	Possible  int   // that it may get
	Free      int64 // bytes that it has free; -1 where that is not known
	SureBytes int64 // that these may come to take
	MostBytes int64 // that all of them may come to take
}

// Of previews claims: of the package, as they are rendered, or among the facts. A claim of
// another driver has no preview. The findings say what the operators will not make.
func Of(facts *inventory.Facts, rendered, claims []*krm.Object) (Preview, []finding.Finding) {
	v := &viewer{facts: facts, rendered: map[krm.ID]*krm.Object{}, live: pool.LiveOf(facts), gets: map[inventory.Key]*Pool{}}
	for _, o := range rendered {
		v.rendered[o.ID()] = o
	}
	v.replicas = map[string][]*krm.Object{}
	for _, o := range facts.Objects(pool.APIGroup, pool.ReplicaKind) {
		name := o.Label("cstorvolume.openebs.io/name")
		v.replicas[name] = append(v.replicas[name], o)
	}
	var p Preview
	for _, claim := range claims {
		if c, ok := v.chain(claim); ok {
			p.Chains = append(p.Chains, c)
		}
	}
	for _, key := range v.clusters {
		for _, i := range v.live.Instances(key.Namespace, key.Name) {
			p.Pools = append(p.Pools, *v.pool(i))
		}
	}
	slices.SortFunc(p.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Instance.Namespace, b.Instance.Namespace), cmp.Compare(a.Instance.Name, b.Instance.Name))
	})
	return p, v.findings
}

// viewer makes previews.
type viewer struct {
	facts    *inventory.Facts
	rendered map[krm.ID]*krm.Object
	live     *pool.Live
	replicas map[string][]*krm.Object // by volume
	clusters []inventory.Key          // that volumes are on
	gets     map[inventory.Key]*Pool
	findings []finding.Finding
}

// find finds an object as it will be: as it is rendered, or else lives.
func (v *viewer) find(id krm.ID) *krm.Object {
	if o := v.rendered[id]; o != nil {
		return o
	}
	return v.facts.Object(id)
}

func (v *viewer) report(claim *krm.Object, rule, format string, args ...any) {
	v.findings = append(v.findings, finding.Finding{Severity: finding.Error, Rule: rule, Object: claim.Ref, Message: fmt.Sprintf(format, args...)})
}

// chain is what becomes of one claim.
func (v *viewer) chain(claim *krm.Object) (Chain, bool) {
	c := Chain{Claim: claim.Ref, Objects: []*krm.Object{claim}}
	o := v.find(class.ID(claim.Node.Str("spec", "storageClassName")))
	if o == nil {
		v.report(claim, "class-missing", "its StorageClass %q is neither in the package nor among the facts, so that nothing is made", claim.Node.Str("spec", "storageClassName"))
		return c, true
	}
	sc := class.Read(o)
	if sc.Provisioner != volume.Driver {
		return c, false
	}
	vol := v.volume(claim, &sc)
	bindTo(claim, &c, vol.Name)
	cluster := inventory.Key{Namespace: vol.Namespace, Name: vol.Cluster}
	if !slices.Contains(v.clusters, cluster) {
		v.clusters = append(v.clusters, cluster)
	}
	var pins []string
	if vol.Policy != "" {
		policy := v.find(krm.ID{Group: pool.APIGroup, Kind: chain.PolicyKind, Namespace: vol.Namespace, Name: vol.Policy})
		if policy == nil {
			v.report(claim, "policy-missing", "the operators refuse its volume: CStorVolumePolicy %s/%s, which its class names, is not found", vol.Namespace, vol.Policy)
			c.Objects = append(c.Objects, vol.Pending()...)
			return c, true
		}
		vol.Settings = policy.Node.Get("spec")
		for _, p := range vol.Settings.Seq("replicaPoolInfo") {
			pins = append(pins, p.Str("poolName"))
		}
	}
	v.place(claim, &c, vol, pins)
	return c, true
}

// bindTo shows the claim with the volume that it will be bound to.
func bindTo(claim *krm.Object, c *Chain, name string) {
	node := claim.Node.Copy()
	spec := node.Get("spec").Copy()
	spec.Set("volumeName", document.Text(name))
	node.Set("spec", spec)
	c.Objects[0] = krm.NewObject(nil, &node)
}

// volume is the volume of a claim.
func (v *viewer) volume(claim *krm.Object, sc *class.Class) *chain.Volume {
	vol := &chain.Volume{
		Name:      "pvc-" + chain.Hole("uid of the claim"),
		Cluster:   sc.Parameters["cstorPoolCluster"],
		Claim:     inventory.Key{Namespace: claim.Namespace, Name: claim.Name},
		Class:     sc.Name,
		Reclaim:   sc.ReclaimPolicy,
		FSType:    cmp.Or(sc.Parameters["csi.storage.k8s.io/fstype"], "ext4"),
		Size:      claim.Node.Str("spec", "resources", "requests", "storage"),
		Policy:    sc.Parameters["cstorVolumePolicy"],
		Namespace: v.namespaceOf(sc.Parameters["cstorPoolCluster"], claim),
	}
	vol.Replicas, _ = strconv.Atoi(sc.Parameters["replicaCount"])
	if live := v.facts.Object(claim.ID()); live != nil {
		if uid := live.Node.Str("metadata", "uid"); uid != "" {
			vol.Name = "pvc-" + uid
		}
		vol.Name = cmp.Or(live.Node.Str("spec", "volumeName"), vol.Name)
	}
	vol.Version = v.version(vol)
	vol.Source = v.source(claim)
	return vol
}

// namespaceOf is where the operators run: where the spec of the class is, or else where
// the pools are.
func (v *viewer) namespaceOf(cluster string, claim *krm.Object) string {
	if owner, ok := krm.ParseOwner(claim.Owner()); ok && owner.Namespace != "" {
		return owner.Namespace
	}
	for _, c := range v.live.Clusters {
		if c.Name == cluster {
			return c.Namespace
		}
	}
	for _, i := range v.live.All() {
		if i.Cluster().Name == cluster {
			return i.Cluster().Namespace
		}
	}
	return chain.Hole("namespace of the operators")
}

// version is that of the operators.
func (v *viewer) version(vol *chain.Volume) string {
	if o := v.facts.Object(krm.ID{Group: "apps", Kind: "Deployment", Namespace: vol.Namespace, Name: "cvc-operator"}); o != nil {
		if version := o.Label("openebs.io/version"); version != "" {
			return version
		}
	}
	if c := v.live.Cluster(vol.Namespace, vol.Cluster); c != nil {
		if version := c.Object.Node.Str("versionDetails", "status", "current"); version != "" {
			return version
		}
	}
	return chain.Hole("version of the operators")
}

// source is <volume>@<snapshot> of a clone.
func (v *viewer) source(claim *krm.Object) string {
	from := claim.Node.Get("spec", "dataSource")
	name := from.Str("name")
	switch from.Str("kind") {
	case "VolumeSnapshot":
		of := chain.Hole("volume of VolumeSnapshot %s", name)
		if o := v.facts.Object(krm.ID{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot", Namespace: claim.Namespace, Name: name}); o != nil {
			of = v.volumeName(claim.Namespace, o.Node.Str("spec", "source", "persistentVolumeClaimName"))
		}
		return of + "@" + chain.Hole("handle of VolumeSnapshot %s", name)
	case "PersistentVolumeClaim":
		return v.volumeName(claim.Namespace, name) + "@" + chain.Hole("snapshot for the clone")
	}
	return ""
}

func (v *viewer) volumeName(namespace, claim string) string {
	if o := v.facts.Object(krm.ID{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: claim}); o != nil && o.Node.Str("spec", "volumeName") != "" {
		return o.Node.Str("spec", "volumeName")
	}
	return chain.Hole("volume of claim %s", claim)
}

func parseBytes(text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.Value()
}
