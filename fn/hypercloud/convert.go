package hypercloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Convert implements system.Converter: a CephCluster becomes the HyperCloudStorage of its
// name, with those pools, filesystems and object stores of its namespace that have their
// classes as a HyperCloudStorage makes them, and with CDI.
func (System) Convert(facts *inventory.Facts, objects []*krm.Object) []system.Conversion {
	var conversions []system.Conversion
	for _, o := range objects {
		if o.GroupKind() == gk(cephGroup, clusterKind) {
			c := &conversion{Reading: system.NewReading(facts, o), facts: facts, all: objects}
			conversions = append(conversions, c.run())
		}
	}
	return conversions
}

// conversion is a CephCluster that becomes a HyperCloudStorage.
type conversion struct {
	*system.Reading
	facts  *inventory.Facts
	all    []*krm.Object
	from   []*krm.Object // what the spec renders beside the cluster
	domain string        // where the copies of all pools are, "" where no pool is said
}

func (c *conversion) run() system.Conversion {
	storage := c.storage()
	ceph := c.ceph()
	block := c.blocks()
	filesystem := c.filesystems()
	object := c.stores()
	spec := d.Object()
	if storage != nil {
		storage.Set("failureDomain", d.Text(cmp.Or(c.domain, "host")))
		spec.Set("storage", *storage)
	}
	spec.Set("rook", d.Object(d.F("version", d.Text(c.release()))))
	spec.Set("ceph", ceph)
	spec.Set("block", block)
	spec.Set("filesystem", filesystem)
	if len(object.Items()) > 0 {
		spec.Set("object", object)
	}
	if cdi := c.cdi(); cdi != nil {
		spec.Set("cdi", *cdi)
	}
	c.RestIs(specKind)
	done := system.Conversion{From: append(c.from, c.Object), Findings: c.Findings}
	if storage != nil {
		done.Spec = krm.Make(ownGroup+"/"+ownVersion, specKind, c.Namespace, c.Name, d.F("spec", spec))
	}
	return done
}

// storage says the disks, nil where the cluster does not name them.
func (c *conversion) storage() *d.Node {
	storage := c.Node.Get("spec", "storage")
	unnamed := false
	refuse := func(of *d.Node, field string) {
		for _, key := range []string{"useAllNodes", "useAllDevices", "deviceFilter", "devicePathFilter", "storageClassDeviceSets"} {
			n := c.Take(of, key)
			if text := n.Str(); text == "" && len(n.Items()) == 0 || text == "false" {
				continue
			}
			unnamed = true
			c.Report(finding.Error, "not-sayable", n, field+"."+key, "takes disks without naming them, and a %s names each; write the nodes with their devices into the %s first, by links below %s", specKind, clusterKind, byID)
		}
	}
	refuse(storage, "spec.storage")
	nodes := d.List()
	items := storage.Seq("nodes")
	for i := range items {
		c.Take(&items[i], "name")
		refuse(&items[i], fmt.Sprintf("spec.storage.nodes[%d]", i))
		devices := d.List()
		of := items[i].Seq("devices")
		for j := range of {
			device, named := c.device(&of[j], fmt.Sprintf("spec.storage.nodes[%d].devices[%d]", i, j))
			unnamed = unnamed || !named
			devices.Add(device)
		}
		nodes.Add(d.Object(d.F("hostname", d.Text(items[i].Str("name"))), d.F("devices", devices)))
	}
	switch {
	case unnamed:
		return nil
	case len(items) == 0:
		at := storage
		if at == nil {
			at = c.Node
		}
		c.Report(finding.Error, "not-sayable", at, "spec.storage.nodes", "names no disk, and a %s does; write the nodes with their devices first", specKind)
		return nil
	}
	made := d.Object(d.F("replicas", d.Int(c.replicas())), d.F("nodes", nodes))
	return &made
}

// device is a disk as the spec has it: its link alone, where there is no more to say.
func (c *conversion) device(n *d.Node, field string) (d.Node, bool) {
	name := c.Take(n, "name")
	if link := c.Take(n, "fullpath"); link.Str() != "" {
		name = link
	}
	if !strings.HasPrefix(name.Str(), byID) {
		c.Report(finding.Error, "not-sayable", name, field+".name", "is %s, and what is rendered names a disk by its link below %s; write that first: Rook finds the OSD of the disk by it, too", name.Str(), byID)
		return d.Node{}, false
	}
	made := d.Object(d.F("name", d.Text(name.Value())))
	config := n.Get("config")
	for _, key := range []string{"deviceClass", "metadataDevice"} {
		if value := c.Take(config, key); value.Str() != "" {
			made.Set(key, d.Text(value.Value()))
		}
	}
	if osds := c.Take(config, "osdsPerDevice"); osds.Str() != "" && osds.Str() != "1" {
		made.Set("osdsPerDevice", d.Plain(osds.Value()))
	}
	if encrypted := c.Take(config, "encryptedDevice"); encrypted.Str() == "true" {
		made.Set("encrypted", d.Bool(true))
	}
	if len(made.Fields()) == 1 {
		return made.Fields()[0].Value, true
	}
	return made, true
}

// ceph says the settings of the cluster.
func (c *conversion) ceph() d.Node {
	spec := c.Node.Get("spec")
	made := d.Object()
	set := func(key string, path ...string) {
		if n := c.Take(spec, path...); n != nil && n.Kind() != d.Null {
			made.Set(key, plain(*n))
		}
	}
	set("image", "cephVersion", "image")
	set("mons", "mon", "count")
	set("mgrs", "mgr", "count")
	set("dataDirHostPath", "dataDirHostPath")
	dashboard := d.Object()
	for _, key := range []string{"enabled", "ssl", "port", "urlPrefix"} {
		if n := c.Take(spec, "dashboard", key); n != nil {
			dashboard.Set(key, plain(*n))
		}
	}
	if len(dashboard.Fields()) > 0 {
		made.Set("dashboard", dashboard)
	}
	if n := c.Take(spec, "monitoring", "enabled"); n != nil {
		made.Set("monitoring", d.Object(d.F("enabled", plain(*n))))
	}
	// What is rendered of these is always the same, so that it is compared.
	for _, path := range [][]string{
		{"cephVersion", "allowUnsupported"}, {"mon", "allowMultiplePerNode"}, {"mgr", "allowMultiplePerNode"}, {"disruptionManagement", "managePodBudgets"},
	} {
		c.Take(spec, path...)
	}
	for _, key := range []string{"network", "resources", "placement", "priorityClassNames"} {
		if n := c.Take(spec, key); n != nil && len(n.Fields()) > 0 {
			made.Set(key, plain(*n))
		}
	}
	made.Set("toolbox", d.Bool(c.find(gk(appsGroup, deploymentKind), c.Namespace, toolboxName) != nil))
	return made
}

// find finds what goes along with the cluster: among what is converted, or else the facts.
func (c *conversion) find(kind krm.GroupKind, namespace, name string) *krm.Object {
	id := krm.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}
	if i := slices.IndexFunc(c.all, func(o *krm.Object) bool { return o.ID() == id }); i >= 0 {
		return c.all[i]
	}
	return c.facts.Object(id)
}

// release is the newest release of Rook that runs the image and makes its CSI drivers as
// they are made here.
func (c *conversion) release() string {
	release := newestRelease
	if c.find(gk(csiGroup, driverKind), c.Namespace, rbdDriver(c.Namespace)) == nil {
		release = withDrivers - 1
	}
	if v, known := versionOf(c.Node.Str("spec", "cephVersion", "image")); known {
		for release > 14 && !release.fits(v) {
			release--
		}
	}
	return release.String()
}

// replicas is how many copies most pools have, 3 where none says.
func (c *conversion) replicas() int64 {
	count := map[int64]int{}
	most := int64(3)
	for _, o := range c.all {
		pools := map[string][]string{poolKind: {"replicated", "size"}, filesystemKind: {"metadataPool", "replicated", "size"}, storeKind: {"metadataPool", "replicated", "size"}}
		path := pools[o.Kind]
		if o.Group() != cephGroup || path == nil {
			continue
		}
		if size, ok := o.Node.Get(append([]string{"spec"}, path...)...).Int(); ok {
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
			why = "its failure domain is " + at + ", and that of others is " + domain
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
			c.leaveOut(r, "it has not one data pool called %s and a %s %s", dataPoolName, subvolumesKind, subvolumes(r.Name))
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

// cdi says CDI, nil where there is none.
func (c *conversion) cdi() *d.Node {
	i := slices.IndexFunc(c.all, func(o *krm.Object) bool { return o.GroupKind() == gk(cdiGroup, cdiKind) })
	if i < 0 {
		return nil
	}
	r := system.NewReading(c.facts, c.all[i])
	if r.Name != cdiName {
		c.leaveOut(r, "it is not called %s", cdiName)
		return nil
	}
	spec, made := r.Node.Get("spec"), d.Object()
	for _, f := range []struct {
		to   string
		path []string
	}{
		{"scratchStorageClass", []string{"config", "scratchSpaceStorageClass"}}, {"uploadProxyURL", []string{"config", "uploadProxyURLOverride"}},
		{"featureGates", []string{"config", "featureGates"}}, {"uninstallStrategy", []string{"uninstallStrategy"}},
	} {
		if n := r.Take(spec, f.path...); n != nil && n.Kind() != d.Null {
			made.Set(f.to, plain(*n))
		}
	}
	for _, key := range []string{"imagePullPolicy", "infra", "workload"} {
		r.Take(spec, key)
	}
	c.include(r)
	return &made
}
