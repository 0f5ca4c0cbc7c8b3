package prerequisite

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Software is what people install in a cluster, so that objects of some kinds have an effect.
type Software struct {
	Name    string          // OpenEBS NDM
	Install string          // how: a command or a link
	Kinds   []krm.GroupKind // whose definitions it brings
	// Operator is the Deployment that acts on the kinds, "" for none that is checked. Releases
	// put their own name before it.
	Operator string
}

// Brings reports whether the definition of a kind comes with the software.
func (s *Software) Brings(kind krm.GroupKind) bool { return slices.Contains(s.Kinds, kind) }

// Missing is what to say where a part of the software is not in the cluster, such as
// blockdevices.openebs.io.
func (s *Software) Missing(part string) string {
	return "no " + part + " in the cluster: install " + s.Name
}

// remedy is what to do then.
func (s *Software) remedy() string { return "install " + s.Name + ": " + s.Install }

// operates reports whether a Deployment is the operator.
func (s *Software) operates(deployment *krm.Object) bool {
	if deployment.Name == s.Operator || strings.HasSuffix(deployment.Name, "-"+s.Operator) {
		return true
	}
	return slices.ContainsFunc(OperatorLabels(), func(label string) bool { return deployment.Label(label) == s.Operator })
}

// OperatorLabels are the labels of a Deployment that name an operator, whatever the Deployment is
// called.
//
// Source: OpenEBS, Helm charts of cStor 3.6.0 and Mayastor 2.12. Source: Rook, deploy/examples/operator.yaml, 1.21.
func OperatorLabels() []string { return []string{"openebs.io/component-name", "app"} }

// Devices is the definition of what NDM reports.
const Devices = "blockdevices.openebs.io"

// NDM is the node disk manager of OpenEBS, which reports disks.
func NDM() Software {
	return Software{
		Name:    "OpenEBS NDM",
		Install: "https://openebs.io/docs/3.10.x/concepts/ndm",
		Kinds:   []krm.GroupKind{inventory.DeviceKind()},
	}
}

// Snapshots are the definitions of snapshots, and their controller.
func Snapshots() Software {
	const group = "snapshot.storage.k8s.io"
	return Software{
		Name:    "the CSI snapshotter",
		Install: "https://github.com/kubernetes-csi/external-snapshotter#usage",
		Kinds:   []krm.GroupKind{{Group: group, Kind: "VolumeSnapshotClass"}, {Group: group, Kind: "VolumeSnapshot"}},
	}
}
