package cstor

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Convert implements system.Converter: a CStorPoolCluster becomes the config of its name, and
// so does a CSPCAuto.
func (System) Convert(facts *inventory.Facts, objects []*krm.Object) []system.Conversion {
	var conversions []system.Conversion
	for _, o := range objects {
		if o.Group() == cstorGroup && o.Kind == poolClusterKind {
			c := conversion{Reading: system.NewReading(facts, o), facts: facts}
			conversions = append(conversions, c.run())
		}
		if o.Group() == daoGroup && o.Kind == autoKind {
			conversions = append(conversions, convertAuto(facts, o))
		}
	}
	return conversions
}

// conversion is a CStorPoolCluster that becomes a config.
type conversion struct {
	*system.Reading
	facts *inventory.Facts
	pools []*converted
	from  d.Field // where most pools have their data disks from
}

// converted is a pool, and what the spec has to say of it: fields of diskConfig and of
// poolConfig, in this order, and those that only a listed pool has.
type converted struct {
	*pool.Pool
	disk, config, own []d.Field
	source            d.Field // of its data disks: externalProvisioner, or local
}

func (c *conversion) run() system.Conversion {
	items := c.Node.Seq("spec", "pools")
	for i := range items {
		if p := c.read(&items[i], "spec.pools["+strconv.Itoa(i)+"]"); p != nil {
			c.pools = append(c.pools, p)
		}
	}
	if len(items) == 0 {
		c.Report(finding.Error, "not-sayable", c.Node.Get("spec"), "spec.pools", "has no pools, so that there is nothing to say")
	}
	if len(c.pools) > 0 {
		c.from = most(c.pools, func(p *converted) ([]d.Field, bool) { return []d.Field{p.source}, true })[0]
	}
	shared := c.shared()
	tags := c.Take(c.Node, "metadata", "annotations", pool.AnnotationAllowedTags)
	c.RestIs(clusterConfigKind)
	done := system.Conversion{From: []*krm.Object{c.Object}}
	disk, config, alike := c.common()
	if len(items) > 0 && len(c.pools) == len(items) {
		done.Spec = krm.Make(daoVersion, clusterConfigKind, c.Namespace, c.Name, d.F("spec", c.spec(disk, config, shared, alike)))
		if tags.Str() != "" {
			done.Spec.SetAnnotation(pool.AnnotationAllowedTags, tags.Value())
		}
	}
	done.Findings = c.Findings
	return done
}

// shared are the settings of the cluster as fields of poolConfig.
func (c *conversion) shared() []d.Field {
	var fields []d.Field
	for _, f := range []struct{ from, to string }{
		{"resources", "computeResources"}, {"auxResources", "auxResources"}, {"tolerations", "tolerations"}, {"priorityClassName", "priorityClassName"},
	} {
		fields = add(fields, f.to, c.Take(c.Node, "spec", f.from))
	}
	return fields
}

// add adds a field as it stands in the object, unless that has nothing there.
func add(fields []d.Field, key string, value *d.Node) []d.Field {
	if value.IsEmpty() {
		return fields
	}
	return append(fields, d.F(key, value.Made()))
}

// read reads an item of spec.pools; nil for one that no spec can say.
func (c *conversion) read(n *d.Node, field string) *converted {
	p := &converted{Pool: pool.DecodePool(n)}
	selector := c.Take(n, "nodeSelector")
	for _, groups := range []string{"dataRaidGroups", "writeCacheRaidGroups"} {
		for _, group := range n.Seq(groups) {
			devices := group.Seq("blockDevices")
			for i := range devices {
				for _, key := range []string{"blockDeviceName", "capacity", "devLink"} {
					c.Take(&devices[i], key)
				}
			}
		}
	}
	config := n.Get("poolConfig")
	c.Take(config, "dataRaidGroupType")
	sayable := true
	refuse := func(at *d.Node, below, format string, args ...any) {
		c.Report(finding.Error, "not-sayable", at, field+below, format, args...)
		sayable = false
	}
	if selector == nil || len(selector.Fields()) != 1 || p.Hostname == "" {
		at := selector
		if at == nil {
			at = n
		}
		refuse(at, ".nodeSelector", "does not select its node by the label %s alone, as rendered pools do; write %s, which cStor accepts while the node is the same", inventory.LabelHostname, c.selectorOf(selector))
	}
	size := groupSize(p.Data)
	switch {
	case size == 0:
		refuse(cmp.Or(n.Get("dataRaidGroups"), n), ".dataRaidGroups", "has no disks, or groups of different sizes, and the groups of a pool of a %s have one size; keep this %s as a manifest of your own, or even them out", clusterConfigKind, poolClusterKind)
	case p.RAIDType == pool.Stripe && len(p.Data) > 1:
		refuse(n.Get("dataRaidGroups"), ".dataRaidGroups", "has %s, and a striped pool has exactly one; the cStor webhook refuses it", finding.Count(len(p.Data), "group"))
	}
	p.disk = append(p.disk,
		d.F("raidType", d.Text(p.RAIDType)), d.F("minCount", d.Int(int64(len(p.Data.Disks())))), d.F("groupSize", d.Int(int64(size))))
	p.source = c.source(n.Get("dataRaidGroups"), field+".dataRaidGroups", p.Data.Disks())
	if len(p.Cache) > 0 {
		c.Take(config, "writeCacheGroupType")
		count := len(p.Cache.Disks())
		cacheSize := groupSize(p.Cache)
		if (&writeCache{RAIDType: p.CacheType, Count: count}).groupSize() != cacheSize {
			refuse(n.Get("writeCacheRaidGroups"), ".writeCacheRaidGroups", "is %s in groups that a writeCache does not make: it has pairs of mirrored disks, or one group", finding.Count(count, "disk"))
		}
		p.config = append(p.config, d.F("writeCache", d.Object(
			c.source(n.Get("writeCacheRaidGroups"), field+".writeCacheRaidGroups", p.Cache.Disks()), d.F("raidType", d.Text(p.CacheType)), d.F("count", d.Int(int64(count))))))
	}
	for _, key := range []string{"compression", "thickProvision", "roThresholdLimit"} {
		p.config = add(p.config, key, c.Take(config, key))
	}
	p.own = add(p.own, "tolerations", c.Take(config, "tolerations"))
	p.own = add(p.own, "computeResources", c.Take(config, "resources"))
	if !sayable {
		return nil
	}
	return p
}

// groupSize is the size of all groups, 0 where they differ.
func groupSize(groups pool.Groups) int {
	if len(groups) == 0 || slices.ContainsFunc(groups, func(g pool.Group) bool { return len(g) != len(groups[0]) }) {
		return 0
	}
	return len(groups[0])
}

// selectorOf is the selector that means the same node, as far as that is known.
func (c *conversion) selectorOf(selector *d.Node) string {
	var hosts []string
	for _, n := range c.facts.Nodes {
		if labels := selector.StrMap(); len(labels) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(labels)), func(key string) bool { return n.Object.Label(key) != labels[key] }) {
			hosts = append(hosts, n.Hostname)
		}
	}
	if len(hosts) != 1 {
		return inventory.LabelHostname + ": <that of the node>"
	}
	return inventory.LabelHostname + ": " + hosts[0]
}

// spec is what renders the pools.
func (c *conversion) spec(disk, config, shared []d.Field, alike bool) d.Node {
	spec := d.Object()
	if alike {
		spec.Set("minPoolCount", d.Int(int64(len(c.pools))))
		spec.Set("allowedNodes", c.allowedNodes())
	} else {
		spec.Set("onlyListed", d.Bool(true))
		spec.Set("pools", c.listed(disk, config))
	}
	raidType := disk[0]
	diskConfig := d.Object(disk[1:]...)
	if least := c.leastCapacity(); least != "" {
		diskConfig.Set("minCapacity", d.Text(least))
	}
	diskConfig.Set(c.from.Key, c.from.Value)
	spec.Set("diskConfig", diskConfig)
	poolConfig := d.Object(raidType)
	for _, f := range slices.Concat(config, shared) {
		poolConfig.Set(f.Key, f.Value)
	}
	// Nobody has asked for pools that grow by themselves.
	poolConfig.Set("poolExpansion", d.Object(d.F("disable", d.Bool(true))))
	spec.Set("poolConfig", poolConfig)
	return spec
}

// common are the fields of diskConfig and poolConfig that save most: how most pools have
// their disks, and of the settings that all pools have the most frequent values; and
// whether all pools are alike in that and have nothing of their own.
func (c *conversion) common() (disk, config []d.Field, alike bool) {
	disk = most(c.pools, func(p *converted) ([]d.Field, bool) { return p.disk, true })
	alike = true
	for _, key := range []string{"writeCache", "compression", "thickProvision", "roThresholdLimit"} {
		of := func(p *converted) ([]d.Field, bool) {
			i := slices.IndexFunc(p.config, func(f d.Field) bool { return f.Key == key })
			if i < 0 {
				return nil, false
			}
			return p.config[i : i+1], true
		}
		if !slices.ContainsFunc(c.pools, func(p *converted) bool { _, has := of(p); return !has }) {
			config = append(config, most(c.pools, of)...)
		}
	}
	for _, p := range c.pools {
		alike = alike && sameFields(p.disk, disk) && sameFields(p.config, config) && len(p.own) == 0 && c.isCommon(p.source)
	}
	return disk, config, alike
}

// most is the value that most pools have, of several the one that comes first.
func most(pools []*converted, of func(*converted) ([]d.Field, bool)) []d.Field {
	count := map[string]int{}
	var best []d.Field
	for _, p := range pools {
		value, _ := of(p)
		count[textOf(value)]++
	}
	for _, p := range pools {
		if value, _ := of(p); best == nil || count[textOf(value)] > count[textOf(best)] {
			best = value
		}
	}
	return best
}

func textOf(fields []d.Field) string {
	n := d.Object(fields...)
	return string(d.AppendJSON(nil, &n))
}

func sameFields(a, b []d.Field) bool { return textOf(a) == textOf(b) }

// listed are the pools one by one, with what they have otherwise than most.
func (c *conversion) listed(disk, config []d.Field) d.Node {
	list := d.List()
	for _, p := range c.pools {
		entry := d.Object(d.F("node", d.Text(nodeName(c.facts, p.Hostname))))
		if !sameFields(p.disk, disk) {
			for _, f := range p.disk {
				entry.Set(f.Key, f.Value)
			}
		}
		switch {
		case c.isCommon(p.source):
		case p.source.Key == "local":
			entry.Set("blockDeviceSelector", d.Object())
		default:
			entry.Set(p.source.Key, p.source.Value)
		}
		for _, f := range slices.Concat(p.config, p.own) {
			if !slices.ContainsFunc(config, func(common d.Field) bool { return sameFields([]d.Field{common}, []d.Field{f}) }) {
				entry.Set(f.Key, f.Value)
			}
		}
		list.Add(entry)
	}
	return list
}

// allowedNodes are the nodes that have the pools, in the order of these.
func (c *conversion) allowedNodes() d.Node {
	var hosts []d.Node
	for _, p := range c.pools {
		hosts = append(hosts, d.Text(p.Hostname))
	}
	return d.Object(d.F("nodeSelectorTerms", d.List(d.Object(d.F("matchExpressions", d.List(d.Object(
		d.F("key", d.Text(inventory.LabelHostname)), d.F("operator", d.Text("In")), d.F("values", d.List(hosts...)),
	)))))))
}

// leastCapacity is the size of the smallest disk of the pools, in the largest unit in which
// it is whole; "" where the facts do not know all of them.
func (c *conversion) leastCapacity() string {
	least := int64(0)
	for _, p := range c.pools {
		for _, name := range p.Data.Disks() {
			device := c.facts.Device(c.Namespace, name)
			if device == nil || device.Capacity <= 0 {
				return ""
			}
			if least == 0 || device.Capacity < least {
				least = device.Capacity
			}
		}
	}
	return inUnits(least)
}

// inUnits writes a size in bytes as a quantity, rounded down to whole Gi if it has any.
func inUnits(bytes int64) string {
	const gi = 1 << 30
	if bytes >= gi {
		bytes -= bytes % gi
	}
	return strings.TrimSpace(resource.NewQuantity(bytes, resource.BinarySI).String())
}
