package volume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Where the CSI driver of cStor runs: kinds of apps/v1, and their names, which begin otherwise
// in other releases of the chart.
//
// Source: cstor-operators, Helm chart (csi-controller, csi-node), 3.6.0.
const (
	ControllerKind = "StatefulSet"
	NodeDriverKind = "DaemonSet"
	ControllerName = "openebs-cstor-csi-controller"
	NodeDriverName = "openebs-cstor-csi-node"

	// Operator is the Deployment of the operator of volumes.
	Operator = "cvc-operator"

	driverContainer = "cstor-csi-plugin"
)

// Lack is what does not run of the CSI driver, and what that means.
type Lack struct {
	Object finding.Ref // where it should run
	Text   string      // csi-provisioner is not running: no claim will bind
	Later  bool        // volumes are made and used all the same
}

// String is the lack in words.
func (l *Lack) String() string { return l.Object.String() + ": " + l.Text }

// part is a container of the CSI driver.
type part struct {
	name, means string
	later       bool
}

// controllerParts are the containers without which the controller lacks something. A
// snapshot-controller may run elsewhere, for all drivers of a cluster, and current releases
// have no csi-cluster-driver-registrar: a CSIDriver object takes its place.
//
// Source: cstor-operators, Helm chart (csi-controller), 3.6.0.
func controllerParts() []part {
	return []part{
		{driverContainer, "no volume is made, attached, enlarged or deleted", false},
		{"csi-provisioner", "no claim will bind, and no volume is deleted", false},
		{"csi-attacher", "no volume is attached, so pods that use one wait in ContainerCreating", false},
		{"csi-resizer", "no claim grows", true},
		{"csi-snapshotter", "no VolumeSnapshot is taken, and no clone of one is made", true},
	}
}

// nodeParts are the containers of the node driver.
//
// Source: cstor-operators, Helm chart (csi-node), 3.6.0.
func nodeParts() []part {
	const means = "no volume is staged or published on any node"
	return []part{{driverContainer, means, false}, {"csi-node-driver-registrar", means, false}}
}

// Lacks lists what does not run of the CSI driver, as far as the facts tell of it. Without the
// operator of volumes they are of no cluster in which cStor is installed.
func Lacks(facts *inventory.Facts) []Lack {
	if !Installed(facts) {
		return nil
	}
	return slices.Concat(
		lacksOf(facts, ControllerKind, ControllerName, "no claim will bind, no volume is attached, enlarged or deleted, and no VolumeSnapshot is taken", controllerParts()),
		lacksOf(facts, NodeDriverKind, NodeDriverName, "no volume is staged or published on any node", nodeParts()),
	)
}

// Installed reports whether the facts have the operator of volumes.
func Installed(facts *inventory.Facts) bool {
	return slices.ContainsFunc(facts.Objects("apps", "Deployment"), func(o *krm.Object) bool { return strings.HasSuffix(o.Name, Operator) })
}

// suffix is how a name ends whichever release of the chart it is of.
func suffix(name string) string { return strings.TrimPrefix(name, "openebs-") }

// lacksOf lists what does not run of one object; means is what it means that nothing of it runs.
func lacksOf(facts *inventory.Facts, kind, name, means string, parts []part) []Lack {
	objects := slices.DeleteFunc(facts.Objects("apps", kind), func(o *krm.Object) bool { return !strings.HasSuffix(o.Name, suffix(name)) })
	if len(objects) == 0 {
		if !facts.Tells("apps", kind, "") {
			return nil
		}
		return []Lack{{Object: finding.Ref{APIVersion: "apps/v1", Kind: kind, Name: name}, Text: "does not exist, so " + means + "; install the CSI driver of cStor"}}
	}
	o := objects[0]
	var lacks []Lack
	for _, p := range parts {
		if !slices.Contains(containers(o), p.name) {
			lacks = append(lacks, Lack{o.Ref, p.name + " is not running: " + p.means + "; give the pod this container again, as the release of cStor has it", p.later})
		}
	}
	switch ready, wanted := pods(o); {
	case ready == 0:
		lacks = append(lacks, Lack{Object: o.Ref, Text: "no pod is ready, so " + means + "; see its pods"})
	case kind == NodeDriverKind && ready < wanted:
		lacks = append(lacks, Lack{Object: o.Ref, Text: fmt.Sprintf("%d of %d pods are ready, so no volume is staged or published on the other nodes; see its pods", ready, wanted)})
	}
	return lacks
}

// containers lists the containers of the pods of an object.
func containers(o *krm.Object) []string {
	var names []string
	for _, c := range o.Node.Seq("spec", "template", "spec", "containers") {
		names = append(names, c.Str("name"))
	}
	return names
}

// pods is how many pods of a StatefulSet or DaemonSet are ready, and how many there should be.
//
// Source: Kubernetes, StatefulSetStatus and DaemonSetStatus, 1.36.
func pods(o *krm.Object) (ready, wanted int64) {
	if o.Kind == NodeDriverKind {
		ready, _ = o.Node.Get("status", "numberReady").Int()
		wanted, _ = o.Node.Get("status", "desiredNumberScheduled").Int()
		return ready, wanted
	}
	ready, _ = o.Node.Get("status", "readyReplicas").Int()
	wanted, _ = o.Node.Get("spec", "replicas").Int()
	return ready, wanted
}
