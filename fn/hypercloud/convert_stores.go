package hypercloud

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// replicas is how many copies most pools of the cluster have, 3 where none says.
func (c *conversion) replicas() int64 {
	count := map[int64]int{}
	most := int64(3)
	for _, o := range c.all {
		pool := o.Node.Get("spec")
		switch {
		case o.Group() != cephGroup || o.Namespace != c.Namespace:
			continue
		case o.Kind == filesystemKind, o.Kind == storeKind:
			pool = pool.Get("metadataPool")
		case o.Kind != poolKind:
			continue
		}
		if size, ok := pool.Get("replicated", "size").Int(); ok {
			if count[size]++; count[size] > count[most] {
				most = size
			}
		}
	}
	return most
}

// ofKind reads the objects of a kind in the namespace of the cluster.
func (c *conversion) ofKind(kind string) []*system.Reading {
	var readings []*system.Reading
	for _, o := range c.all {
		if o.GroupKind() == gk(cephGroup, kind) && o.Namespace == c.Namespace {
			readings = append(readings, system.NewReading(c.facts, o))
		}
	}
	return readings
}

// leaveOut says of an object why the spec does not render it.
func (c *conversion) leaveOut(r *system.Reading, format string, args ...any) {
	c.Findings = append(c.Findings, finding.Finding{
		Severity: finding.Warning, Rule: "left-out", Object: r.Ref, Pos: r.At(),
		Message: fmt.Sprintf(format, args...) + fmt.Sprintf("; it is left out and stays as it is: keep its manifest beside the %s", specKind),
	})
}

// include says of an object that the spec renders it, with others that go along.
func (c *conversion) include(r *system.Reading, others ...*krm.Object) {
	r.RestIs(specKind)
	c.Findings = append(c.Findings, r.Findings...)
	c.from = append(c.from, r.Object)
	for _, o := range others {
		if o != nil {
			c.from = append(c.from, o)
		}
	}
}

// copies says how many copies the pools of an object have, of which the first holds the
// data. It leaves the object out, and reports false, where that cannot be said, or for the
// reason that is given.
func (c *conversion) copies(r *system.Reading, why string, pools ...*d.Node) ([]d.Field, bool) {
	domain, first := c.domain, int64(0)
	for i, n := range pools {
		size, known := r.Take(n, "replicated", "size").Int()
		safe, said := r.Take(n, "replicated", "requireSafeReplicaSize").Bool()
		at := cmp.Or(r.Take(n, "failureDomain").Str(), "host")
		domain = cmp.Or(domain, at)
		if i == 0 {
			first = size
		}
		switch {
		case why != "":
		case !known:
			why = "its pool is not replicated"
		case size != first:
			why = "its pools have different numbers of copies"
		case said && safe != (size > 1):
			why = fmt.Sprintf("its requireSafeReplicaSize is %t with %s", safe, finding.Count(int(size), "copy"))
		case at != domain:
			why = "its failure domain is " + at + ", and that of the others is " + domain
		}
	}
	if why != "" {
		c.leaveOut(r, "%s", why)
		return nil, false
	}
	c.domain = domain
	var fields []d.Field
	if first != c.replicas() {
		fields = append(fields, d.F("replicas", d.Int(first)))
	}
	if of := r.Take(pools[0], "deviceClass"); of.Str() != "" {
		fields = append(fields, d.F("deviceClass", d.Text(of.Value())))
	}
	return append(fields, d.F("allowUnsafe", d.Bool(first == 1))), true
}

// class says of the class of a pool or filesystem what a spec can say, and returns it with
// that of the snapshots; why says why it cannot be rendered, or "". Where the spec does not
// say so, the class is the default if that is implied.
func (c *conversion) class(name, parameter, provisioner string, implied bool) (fields []d.Field, others []*krm.Object, why string) {
	o := c.find(class.Kind(), "", name)
	if o == nil {
		return nil, nil, "it has no StorageClass of its name, which would be rendered"
	}
	of := class.Read(o)
	if of.Provisioner != provisioner || of.Parameters[parameter] != name {
		return nil, nil, "the StorageClass of its name is of something else"
	}
	snapshots := c.find(gk(snapshotGroup, snapshotKind), "", name)
	fields = []d.Field{d.F("reclaimPolicy", d.Text(of.ReclaimPolicy)), d.F("snapshotClass", d.Bool(snapshots != nil))}
	if of.Default != implied {
		fields = append(fields, d.F("default", d.Bool(of.Default)))
	}
	return fields, []*krm.Object{o, snapshots}, ""
}

// blocks say the pools of block devices.
func (c *conversion) blocks() d.Node {
	list := d.List()
	for _, r := range c.ofKind(poolKind) {
		ofClass, others, why := c.class(r.Name, "pool", rbdDriver(c.Namespace), len(list.Items()) == 0)
		copies, ok := c.copies(r, why, r.Node.Get("spec"))
		if !ok {
			continue
		}
		block := d.Object(append([]d.Field{d.F("name", d.Text(r.Name))}, slices.Concat(copies, ofClass)...)...)
		if fs := others[0].Node.Str("parameters", csiKey+"fstype"); fs != "" {
			block.Set("fsType", d.Text(fs))
		}
		list.Add(block)
		c.include(r, others...)
	}
	return list
}

// filesystems say the filesystems.
func (c *conversion) filesystems() d.Node {
	list := d.List()
	for _, r := range c.ofKind(filesystemKind) {
		spec := r.Node.Get("spec")
		group := c.find(gk(cephGroup, subvolumesKind), c.Namespace, subvolumes(r.Name))
		pools := spec.Seq("dataPools")
		if group == nil || len(pools) != 1 || r.Take(&pools[0], "name").Str() != dataPoolName {
			c.leaveOut(r, "it is not of one data pool, called %s, with a %s %s", dataPoolName, subvolumesKind, subvolumes(r.Name))
			continue
		}
		ofClass, others, why := c.class(r.Name, "fsName", cephfsDriver(c.Namespace), false)
		copies, ok := c.copies(r, why, &pools[0], spec.Get("metadataPool"))
		if !ok {
			continue
		}
		filesystem := d.Object(append([]d.Field{d.F("name", d.Text(r.Name))}, slices.Concat(copies, ofClass)...)...)
		c.daemon(r, spec.Get("metadataServer"))
		r.Take(spec, "preserveFilesystemOnDelete")
		r.Take(spec, "metadataServer", "activeStandby")
		if active := r.Take(spec, "metadataServer", "activeCount"); active != nil {
			filesystem.Set("activeMDS", plain(*active))
		}
		list.Add(filesystem)
		c.include(r, append(others, group)...)
	}
	return list
}

// stores say the object stores.
func (c *conversion) stores() d.Node {
	list := d.List()
	for _, r := range c.ofKind(storeKind) {
		spec := r.Node.Get("spec")
		copies, ok := c.copies(r, "", spec.Get("dataPool"), spec.Get("metadataPool"))
		if !ok {
			continue
		}
		store := d.Object(append([]d.Field{d.F("name", d.Text(r.Name))}, copies...)...)
		c.daemon(r, spec.Get("gateway"))
		r.Take(spec, "preservePoolsOnDelete")
		for _, key := range []string{"instances", "port"} {
			if n := r.Take(spec, "gateway", key); n != nil {
				store.Set(key, plain(*n))
			}
		}
		list.Add(store)
		c.include(r)
	}
	return list
}

// daemon counts as said what is rendered of daemons beside those of the cluster: it comes
// from the cluster, and is compared.
func (c *conversion) daemon(r *system.Reading, n *d.Node) {
	for _, key := range []string{"resources", "placement", "priorityClassName"} {
		r.Take(n, key)
	}
}
