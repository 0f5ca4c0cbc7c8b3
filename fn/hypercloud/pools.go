package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// addPools makes the pools, filesystems and object stores.
func (s *storage) addPools() {
	for i := range s.cfg.Spec.Block {
		b := &s.cfg.Spec.Block[i]
		s.addPool("cephblockpool", poolKind, b.Name, s.pool(&b.copies))
	}
	for i := range s.cfg.Spec.Filesystem {
		f := &s.cfg.Spec.Filesystem[i]
		data := s.pool(&f.copies)
		data.SetFields(append([]d.Field{d.F("name", d.Text(dataPoolName))}, data.Fields()...))
		s.addPool("cephfilesystem", filesystemKind, f.Name, d.Object(
			d.F("metadataPool", s.pool(&copies{Replicas: f.Replicas})),
			d.F("dataPools", d.List(data)),
			d.F("preserveFilesystemOnDelete", d.Bool(true)),
			d.F("metadataServer", s.daemon("mds", d.F("activeCount", d.Int(int64(f.ActiveMDS))), d.F("activeStandby", d.Bool(true)))),
		))
		s.addPool("cephfilesystemsubvolumegroup", subvolumesKind, subvolumes(f.Name), d.Object(
			d.F("name", d.Text(subvolumesName)),
			d.F("filesystemName", d.Text(f.Name)),
		), krm.ID{Group: cephGroup, Kind: filesystemKind, Namespace: s.Object.Namespace, Name: f.Name})
	}
	for i := range s.cfg.Spec.Object {
		o := &s.cfg.Spec.Object[i]
		s.addPool("cephobjectstore", storeKind, o.Name, d.Object(
			d.F("metadataPool", s.pool(&copies{Replicas: o.Replicas})),
			d.F("dataPool", s.pool(&o.copies)),
			d.F("preservePoolsOnDelete", d.Bool(true)),
			d.F("gateway", s.daemon("rgw", d.F("instances", d.Int(int64(o.Instances))), d.F("port", d.Int(int64(o.Port))))),
		))
	}
}

func (s *storage) addPool(file, kind, name string, spec d.Node, needs ...krm.ID) {
	s.add(levelPools, file, krm.Make(cephVersion, kind, s.Object.Namespace, name, d.F("spec", spec)), append(s.needs(levelPools), needs...)...)
}

// pool is a pool with copies in different failure domains.
func (s *storage) pool(c *copies) d.Node {
	n := d.Object(d.F("failureDomain", d.Text(s.cfg.Spec.Storage.FailureDomain)))
	if c.DeviceClass != "" {
		n.Set("deviceClass", d.Text(c.DeviceClass))
	}
	n.Set("replicated", d.Object(d.F("size", d.Int(int64(c.Replicas))), d.F("requireSafeReplicaSize", d.Bool(c.Replicas > 1))))
	return n
}

// daemon is what is said of daemons that are no part of the CephCluster itself.
func (s *storage) daemon(name string, fields ...d.Field) d.Node {
	n := d.Object(fields...)
	ceph := s.Object.Node.Get("spec", "ceph")
	for _, f := range []struct{ from, to string }{{"resources", "resources"}, {"placement", "placement"}, {"priorityClassNames", "priorityClassName"}} {
		if said := ceph.Get(f.from, name); said != nil && said.Kind() != d.Null {
			n.Set(f.to, plain(*said))
		}
	}
	return n
}
