package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// poolManifests make the pools, filesystems and object stores.
type poolManifests struct{ *manifests }

// addPools makes the pools, filesystems and object stores.
func (p *poolManifests) addPools() {
	for i := range p.cfg.Spec.Block {
		b := &p.cfg.Spec.Block[i]
		p.addPool("cephblockpool", poolKind, b.Name, p.pool(&b.copies))
	}
	for i := range p.cfg.Spec.Filesystem {
		f := &p.cfg.Spec.Filesystem[i]
		data := p.pool(&f.copies)
		data.SetFields(append([]d.Field{d.F("name", d.Text(dataPoolName))}, data.Fields()...))
		p.addPool("cephfilesystem", filesystemKind, f.Name, d.Object(
			d.F("metadataPool", p.pool(&copies{Replicas: f.Replicas})),
			d.F("dataPools", d.List(data)),
			d.F("preserveFilesystemOnDelete", d.Bool(true)),
			d.F("metadataServer", p.daemon("mds", d.F("activeCount", d.Int(int64(f.ActiveMDS))), d.F("activeStandby", d.Bool(true)))),
		))
		p.addPool("cephfilesystemsubvolumegroup", subvolumesKind, subvolumes(f.Name), d.Object(
			d.F("name", d.Text(subvolumesName)),
			d.F("filesystemName", d.Text(f.Name)),
		), krm.ID{Group: cephGroup, Kind: filesystemKind, Namespace: p.Object.Namespace, Name: f.Name})
	}
	for i := range p.cfg.Spec.Object {
		o := &p.cfg.Spec.Object[i]
		p.addPool("cephobjectstore", storeKind, o.Name, d.Object(
			d.F("metadataPool", p.pool(&copies{Replicas: o.Replicas})),
			d.F("dataPool", p.pool(&o.copies)),
			d.F("preservePoolsOnDelete", d.Bool(true)),
			d.F("gateway", p.daemon("rgw", d.F("instances", d.Int(int64(o.Instances))), d.F("port", d.Int(int64(o.Port))))),
		))
	}
}

func (p *poolManifests) addPool(file, kind, name string, spec d.Node, needs ...krm.ID) {
	p.add(levelPools, file, krm.Make(cephVersion, kind, p.Object.Namespace, name, d.F("spec", spec)), append(p.needs(levelPools), needs...)...)
}

// pool is a pool with copies in different failure domains.
func (p *poolManifests) pool(c *copies) d.Node {
	n := d.Object(d.F("failureDomain", d.Text(p.cfg.Spec.Storage.FailureDomain)))
	if c.DeviceClass != "" {
		n.Set("deviceClass", d.Text(c.DeviceClass))
	}
	n.Set("replicated", d.Object(d.F("size", d.Int(int64(c.Replicas))), d.F("requireSafeReplicaSize", d.Bool(c.Replicas > 1))))
	return n
}

// daemon is what is said of daemons that are no part of the CephCluster itself.
func (p *poolManifests) daemon(name string, fields ...d.Field) d.Node {
	n := d.Object(fields...)
	ceph := p.Object.Node.Get("spec", "ceph")
	for _, f := range []struct{ from, to string }{{"resources", "resources"}, {"placement", "placement"}, {"priorityClassNames", "priorityClassName"}} {
		if said := ceph.Get(f.from, name); said != nil && said.Kind() != d.Null {
			n.Set(f.to, plain(*said))
		}
	}
	return n
}
