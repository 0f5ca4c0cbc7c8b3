// Package pool holds a CStorPoolCluster and what the operators make of it as typed
// values (cstor.openebs.io/v1, as the CRDs of OpenEBS cStor 3.6 have it). An object
// is decoded once, when it is read, judged as a value, and encoded once, at the end.
//
// Source: openebs/api, definitions of cstor.openebs.io/v1, 3.6.0.
package pool

import (
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Cluster is a CStorPoolCluster.
type Cluster struct {
	Object      *krm.Object // as it was read; nil for one that is being made
	Namespace   string
	Name        string
	AllowedTags string // the annotation openebs.io/allowed-bd-tags, as it stands
	Pools       []*Pool

	// What all pools share, as it stands in the object; nil where it is not set.
	Resources    *document.Node
	AuxResources *document.Node
	Tolerations  *document.Node

	PriorityClassName string
}

// Pool is one pool of a cluster.
type Pool struct {
	Hostname string // of the node selector; "" if it does not name one
	Labels   Labels // the other labels of the node selector
	Data     Groups
	Cache    Groups
	Config
}

// Labels are labels of a node that a selector asks for, with their values.
type Labels map[string]string

// String lists them, as kubectl takes them.
func (l Labels) String() string {
	all := make([]string, 0, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		all = append(all, key+"="+l[key])
	}
	return strings.Join(all, ",")
}

// Config is the poolConfig of a pool. What is not set is empty or nil.
type Config struct {
	RAIDType  string // stripe, mirror, raidz, raidz2
	CacheType string
	Settings
}

// Settings are what can be changed of a pool without its disks.
type Settings struct {
	Compression      string
	ThickProvision   *bool
	ROThresholdLimit *int64 // percent

	// In the place of those of the cluster, as they stand in the object.
	Resources   *document.Node
	Tolerations *document.Node
}

// DecodeCluster reads a CStorPoolCluster. A field of a wrong type is as one that is
// not set.
func DecodeCluster(o *krm.Object) *Cluster {
	spec := o.Node.Get("spec")
	c := &Cluster{
		Object: o, Namespace: o.Namespace, Name: o.Name,
		AllowedTags:       o.Annotation(AnnotationAllowedTags),
		Resources:         given(spec.Get("resources")),
		AuxResources:      given(spec.Get("auxResources")),
		Tolerations:       given(spec.Get("tolerations")),
		PriorityClassName: spec.Str("priorityClassName"),
	}
	items := spec.Seq("pools")
	for i := range items {
		c.Pools = append(c.Pools, DecodePool(&items[i]))
	}
	return c
}

// given is a setting, nil where the object has it empty, which is the same as not at all.
func given(n *document.Node) *document.Node {
	if n == nil || n.Kind() == document.Null || n.Kind() != document.Scalar && len(n.Fields())+len(n.Items()) == 0 {
		return nil
	}
	return n
}

// DecodePool reads an item of spec.pools, or the spec of a CStorPoolInstance, which has
// the same fields but for the selector.
func DecodePool(n *document.Node) *Pool {
	p := &Pool{
		Hostname: n.Str("nodeSelector", inventory.LabelHostname),
		Data:     decodeGroups(n.Seq("dataRaidGroups")),
		Cache:    decodeGroups(n.Seq("writeCacheRaidGroups")),
		Config: Config{
			RAIDType:  n.Str("poolConfig", "dataRaidGroupType"),
			CacheType: n.Str("poolConfig", "writeCacheGroupType"),
			Settings: Settings{
				Compression: n.Str("poolConfig", "compression"),
				Resources:   given(n.Get("poolConfig", "resources")),
				Tolerations: given(n.Get("poolConfig", "tolerations")),
			},
		},
	}
	for _, f := range n.Get("nodeSelector").Fields() {
		if f.Key != inventory.LabelHostname {
			if p.Labels == nil {
				p.Labels = Labels{}
			}
			p.Labels[f.Key] = f.Value.Value()
		}
	}
	if thick, ok := n.Get("poolConfig", "thickProvision").Bool(); ok {
		p.ThickProvision = &thick
	}
	if limit, ok := n.Get("poolConfig", "roThresholdLimit").Int(); ok {
		p.ROThresholdLimit = &limit
	}
	return p
}

// Clone copies a cluster and its pools, so that either may be edited; RAID groups are never
// edited in place.
func (c *Cluster) Clone() *Cluster {
	clone := *c
	clone.Pools = make([]*Pool, len(c.Pools))
	for i, p := range c.Pools {
		one := *p
		one.Data, one.Cache = slices.Clone(p.Data), slices.Clone(p.Cache)
		clone.Pools[i] = &one
	}
	return &clone
}

// Disks lists the block devices of a pool: data, then write cache.
func (p *Pool) Disks() []string {
	if len(p.Cache) == 0 {
		return p.Data.Disks()
	}
	return append(p.Data.Disks(), p.Cache.Disks()...)
}

// Disks lists the block devices of all pools, in order.
func (c *Cluster) Disks() []string {
	n := 0
	for _, p := range c.Pools {
		n += len(p.Data) + len(p.Cache)
	}
	groups := make(Groups, 0, n)
	for _, p := range c.Pools {
		groups = append(append(groups, p.Data...), p.Cache...)
	}
	return groups.Disks()
}

// Has reports which block devices are in any pool; none are in a cluster that is nil.
func (c *Cluster) Has() map[string]bool {
	if c == nil {
		return nil
	}
	disks := c.Disks()
	has := make(map[string]bool, len(disks))
	for _, name := range disks {
		has[name] = true
	}
	return has
}

// Host returns the pool that selects a host, or nil.
func (c *Cluster) Host(hostname string) *Pool {
	if c == nil {
		return nil
	}
	for _, p := range c.Pools {
		if p.Hostname == hostname {
			return p
		}
	}
	return nil
}

// ByHost indexes pools by the host that they select.
func ByHost(pools []*Pool) map[string]*Pool {
	index := make(map[string]*Pool, len(pools))
	for _, p := range pools {
		index[p.Hostname] = p
	}
	return index
}

// Same reports whether two pools have the same disks in the same groups, in any order.
func (p *Pool) Same(other *Pool) bool {
	return p.Data.Same(other.Data) && p.Cache.Same(other.Cache)
}

// Shares reports whether two pools have a disk in common.
func (p *Pool) Shares(other *Pool) bool {
	disks := other.Disks()
	return slices.ContainsFunc(p.Disks(), func(name string) bool { return slices.Contains(disks, name) })
}

// Encode makes the object again.
func (c *Cluster) Encode() *krm.Object {
	pools := make([]document.Node, len(c.Pools))
	for i, p := range c.Pools {
		pools[i] = p.encode()
	}
	spec := document.Object(document.F("pools", document.List(pools...)))
	for _, f := range []struct {
		key   string
		value *document.Node
	}{{"resources", c.Resources}, {"auxResources", c.AuxResources}, {"tolerations", c.Tolerations}} {
		if f.value != nil {
			spec.Set(f.key, *f.value)
		}
	}
	if c.PriorityClassName != "" {
		spec.Set("priorityClassName", document.Text(c.PriorityClassName))
	}
	o := krm.Make(apiVersion, ClusterKind, c.Namespace, c.Name, document.F("spec", spec))
	if c.AllowedTags != "" {
		o.SetAnnotation(AnnotationAllowedTags, c.AllowedTags)
	}
	return o
}

func (p *Pool) encode() document.Node {
	config := document.Object(document.F("dataRaidGroupType", document.Text(p.RAIDType)))
	n := document.Object(
		document.F("nodeSelector", document.Object(document.F(inventory.LabelHostname, document.Text(p.Hostname)))),
		document.F("dataRaidGroups", p.Data.encode()),
	)
	if len(p.Cache) > 0 {
		n.Set("writeCacheRaidGroups", p.Cache.encode())
		config.Set("writeCacheGroupType", document.Text(p.CacheType))
	}
	if p.Compression != "" {
		config.Set("compression", document.Text(p.Compression))
	}
	if p.ThickProvision != nil {
		config.Set("thickProvision", document.Bool(*p.ThickProvision))
	}
	if p.ROThresholdLimit != nil {
		config.Set("roThresholdLimit", document.Int(*p.ROThresholdLimit))
	}
	if p.Resources != nil {
		config.Set("resources", *p.Resources)
	}
	if p.Tolerations != nil {
		config.Set("tolerations", *p.Tolerations)
	}
	n.Set("poolConfig", config)
	return n
}
