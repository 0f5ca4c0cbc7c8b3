package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// addPools makes the pools, filesystems and object stores.
func (s *storage) addPools() {
	ns := s.Object.Namespace
	for i := range s.cfg.Spec.Block {
		b := &s.cfg.Spec.Block[i]
		s.add(pools, "cephblockpool", krm.Make(cephVersion, poolKind, ns, b.Name, d.F("spec", s.pool(&b.copies))), s.clusterID())
	}
}

// pool is a pool with copies on different failure domains.
func (s *storage) pool(c *copies) d.Node {
	n := d.Object(d.F("failureDomain", d.Text(s.cfg.Spec.Storage.FailureDomain)))
	if c.DeviceClass != "" {
		n.Set("deviceClass", d.Text(c.DeviceClass))
	}
	n.Set("replicated", d.Object(d.F("size", d.Int(int64(c.Replicas))), d.F("requireSafeReplicaSize", d.Bool(c.Replicas > 1))))
	return n
}
