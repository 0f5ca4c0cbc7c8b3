package hypercloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
			c := &conversion{Reading: system.NewReading(facts, withDefaults(o)), facts: facts, all: objects}
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
	rook := d.Object(d.F("version", d.Text(c.release())))
	if keys := c.Take(c.Node, "spec", "security", "cephx", "csi", "keyType"); keys.Str() != "" {
		rook.Set("cephx", d.Text(keys.Value()))
	}
	spec.Set("rook", rook)
	spec.Set("ceph", ceph)
	spec.Set("block", block)
	spec.Set("filesystem", filesystem)
	if len(object.Items()) > 0 {
		spec.Set("object", object)
	}
	if cdi := c.cdi(); cdi != nil {
		spec.Set("cdi", *cdi)
	}
	takeDefaults(c.Reading)
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
		for _, key := range unnamedDisks() {
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

// release is that of the operator, if its Deployment is there. Otherwise it is the newest
// one that runs the image and makes the CSI drivers itself, or the first that does not.
func (c *conversion) release() string {
	for _, o := range slices.Concat(c.all, c.facts.Objects(appsGroup, deploymentKind)) {
		if tag := operatorTag(o); isOperator(o) {
			if r, _, exact := parsePatch(tag); exact && r >= oldestRelease {
				return tag
			}
		}
	}
	release := withDrivers
	if c.find(gk(csiGroup, driverKind), c.Namespace, rbdDriver(c.Namespace)) == nil {
		release = withDrivers - 1
	}
	if v, known := versionOf(c.Node.Str("spec", "cephVersion", "image")); known {
		for release > oldestRelease && !release.fits(v) {
			release--
		}
	}
	return release.String()
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
