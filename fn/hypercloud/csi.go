package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// addDrivers makes the CSI drivers, which Rook itself made up to release 1.19. They come
// before the CephCluster of their level, also where files are applied in their order.
func (m *manifests) addDrivers() {
	if m.cfg.release < withDrivers {
		return
	}
	operator := m.cfg.Spec.Rook.OperatorNamespace
	m.add(levelCluster, "1-operatorconfig", krm.Make(csiGroup+"/v1", operatorConfKind, operator, operatorConfName, d.F("spec", d.Object(
		d.F("driverSpecDefaults", d.Object(
			d.F("log", d.Object(d.F("verbosity", d.Int(0)))),
			d.F("attachRequired", d.Bool(true)),
			d.F("fsGroupPolicy", d.Text("File")),
			d.F("snapshotPolicy", d.Text("volumeSnapshot")),
		)),
	))))
	for _, name := range []string{cephfsDriver(operator), rbdDriver(operator)} {
		m.add(levelCluster, "2-driver", krm.Make(csiGroup+"/v1", driverKind, operator, name, d.F("spec", d.Object(
			d.F("clusterName", d.Text(m.Object.Namespace)),
		))))
	}
}
