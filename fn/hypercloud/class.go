package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// addClasses makes the classes of volumes.
func (s *storage) addClasses() {
	for i := range s.cfg.Spec.Block {
		b := &s.cfg.Spec.Block[i]
		s.add(classes, "storageclass", krm.Make(storageGroup+"/v1", classKind, "", b.Name,
			d.F("provisioner", d.Text(rbdDriver(s.cfg.Spec.Rook.OperatorNamespace))),
			d.F("parameters", d.Object(d.F("clusterID", d.Text(s.Object.Namespace)), d.F("pool", d.Text(b.Name)))),
			d.F("reclaimPolicy", d.Text(b.ReclaimPolicy)),
		))
	}
}
