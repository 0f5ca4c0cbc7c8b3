package verify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/conformance"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
	"github.com/poolwright/poolwright/test/volumes"
)

const (
	poolCluster = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata: {name: %[1]s, namespace: openebs, uid: uid-%[1]s, annotations: {poolwright.io/inventory: "true"}}
spec: {pools: [%[2]s]}
`
	poolInstance = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolInstance
metadata: {name: %[1]s-%[2]d, namespace: openebs, uid: uid-%[1]s-%[2]d, labels: {kubernetes.io/hostname: n%[2]d, openebs.io/cstor-pool-cluster: %[1]s}}
spec: {hostName: n%[2]d}
status: {phase: ONLINE, readOnly: false, capacity: {free: 90G, total: 100G}}
`
	classSpec = `apiVersion: poolwright.io/v1alpha1
kind: CStorVolumeClass
metadata: {name: %[1]s, namespace: openebs}
spec: {cluster: prod, replicaCount: %[2]d, placement: %[3]s, policy: {target: {luWorkers: 4}}, claims: [%[4]s]}
`
	operator = `apiVersion: apps/v1
kind: Deployment
metadata: {name: cvc-operator, namespace: openebs, labels: {openebs.io/version: 3.6.0}, annotations: {poolwright.io/inventory: "true"}}
`
	controller = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: openebs-cstor-csi-controller, namespace: openebs, annotations: {poolwright.io/inventory: "true"}}
spec: {replicas: 1, template: {spec: {containers: [{name: csi-resizer}, {name: csi-snapshotter}, {name: csi-provisioner}, {name: csi-attacher}, {name: cstor-csi-plugin}]}}}
status: {readyReplicas: 1}
`
	nodeDriver = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: openebs-cstor-csi-node, namespace: openebs, annotations: {poolwright.io/inventory: "true"}}
spec: {template: {spec: {containers: [{name: csi-node-driver-registrar}, {name: cstor-csi-plugin}]}}}
status: {desiredNumberScheduled: 1, numberReady: 1}
`
)

// made is a package whose volumes the operators have made, as preview says that they do.
type made struct {
	specs, lock []*krm.Object
	facts       []*krm.Object
}

// drawn draws two clusters of pools, classes on one of them and claims, has them previewed and
// carries that out.
func drawn(t *rapid.T) *made {
	pools := rapid.IntRange(1, 5).Draw(t, "pools")
	texts := []string{operator, controller, nodeDriver}
	for _, name := range []string{"prod", "test"} {
		var selectors []string
		for n := range pools {
			selectors = append(selectors, fmt.Sprintf("{nodeSelector: {kubernetes.io/hostname: n%d}}", n))
			texts = append(texts, fmt.Sprintf(poolInstance, name, n))
		}
		texts = append(texts, fmt.Sprintf(poolCluster, name, strings.Join(selectors, ", ")))
	}
	for n := range pools {
		texts = append(texts, generated.Node(n, n%3))
	}
	var specs []string
	for i, name := range []string{"db", "web"}[:rapid.IntRange(1, 2).Draw(t, "classes")] {
		var claims []string
		for j := range rapid.IntRange(1, 3).Draw(t, "claims") {
			source := ""
			if j > 0 && rapid.Bool().Draw(t, "clone") {
				source = fmt.Sprintf(", source: {claim: %s-0}", name)
			}
			claims = append(claims, fmt.Sprintf("{name: %s-%d, namespace: shop, size: %dGi%s}", name, j, i+j+1, source))
		}
		specs = append(specs, fmt.Sprintf(classSpec, name, rapid.IntRange(1, pools).Draw(t, "replicas"), rapid.SampledFrom([]string{"operator", "pinned"}).Draw(t, "placement"), strings.Join(claims, ", ")))
	}
	m := &made{specs: generated.Parse(t, specs...)}
	facts := generated.Parse(t, texts...)
	result := generated.Function().Render(fn.Package{Objects: slices.Concat(m.specs, facts)})
	if finding.Failed(result.Findings) {
		t.Fatal(result.Findings)
	}
	for _, r := range result.Objects {
		m.lock = append(m.lock, r.Object)
	}
	claims, err := preview.Claims(result.Facts, m.lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	maker := volumes.Maker{Choose: func(candidates []string, n int) []string {
		return rapid.Permutation(candidates).Draw(t, "chosen")[:n]
	}}
	// One after the other, so that a clone finds the volume that it is made from.
	m.facts = facts
	for _, o := range m.lock {
		if o.Kind != "PersistentVolumeClaim" {
			m.facts = append(m.facts, o)
		}
	}
	for i, claim := range claims {
		seen, findings := preview.Of(inventory.New(m.facts), m.lock, []*krm.Object{claim})
		if finding.Failed(findings) {
			t.Fatal(findings)
		}
		objects, err := maker.Make(seen.Chains[0], fmt.Sprintf("u%d", i))
		if err != nil {
			t.Fatal(err)
		}
		m.facts = append(m.facts, objects...)
	}
	return m
}

// verify verifies the package against facts of a live cluster.
func (m *made) verify(facts []*krm.Object) []finding.Finding {
	checks, rest := generated.Function().Verify(fn.Package{Objects: m.specs, Output: m.lock}, inventory.NewLive(facts))
	return append(rest, conformance.Findings(checks)...)
}

// of lists the facts of some kinds, the operator apart.
func (m *made) of(kinds ...string) []int {
	var at []int
	for i, o := range m.facts {
		if slices.Contains(kinds, o.Kind) && o.Name != volume.Operator {
			at = append(at, i)
		}
	}
	return at
}

// chained are the kinds of a chain, the claim apart.
var chained = []string{"PersistentVolume", "CStorVolumeConfig", "CStorVolume", "CStorVolumeReplica", "Deployment", "Service", "PodDisruptionBudget"}

// TestCarriedOut holds that verify has nothing to say of what was made as preview says, and
// something of whatever is then damaged in one place.
func TestCarriedOut(t *testing.T) {
	told := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := drawn(t)
		if fs := judged(m.verify(m.facts)); len(fs) > 0 {
			t.Fatalf("said of what was made as preview says: %v", fs)
		}
		for _, name := range slices.Sorted(maps.Keys(damages)) {
			if m.suffers(t, name, damages[name]) {
				told[name]++
			}
		}
	})
	for name := range damages {
		if told[name] == 0 {
			t.Logf("%s: never drawn", name)
		}
	}
	if len(told) < len(damages)/2 {
		t.Errorf("only %d of %d kinds of damage were drawn", len(told), len(damages))
	}
}

// suffers does one damage to a copy of the facts, at random, and holds that it is reported; false
// where there is nothing that it could be done to.
func (m *made) suffers(t *rapid.T, name string, damage damage) bool {
	at := m.of(damage.kinds...)
	if len(at) == 0 {
		return false
	}
	i := rapid.SampledFrom(at).Draw(t, name)
	node := m.facts[i].Node.Copy()
	damaged := krm.NewObject(nil, &node)
	if !damage.do(damaged, m) {
		return false
	}
	facts := slices.Clone(m.facts)
	facts[i] = krm.NewObject(nil, damaged.Node)
	if facts[i].Name == "" {
		facts = slices.Delete(facts, i, i+1)
	}
	fs := judged(m.verify(facts))
	worst := finding.Warning
	if finding.Failed(fs) {
		worst = finding.Error
	}
	if len(fs) == 0 || worst != damage.severity {
		t.Fatalf("%s of %s: want a finding that is %s, got %v", name, m.facts[i].Ref, damage.severity, fs)
	}
	return true
}

// judged leaves out what no part of the volumes is amiss in: these clusters have no disks.
func judged(fs []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(fs, func(f finding.Finding) bool { return f.Object.Kind == "CStorPoolCluster" })
}

// damage is one thing that is done to an object of one of some kinds; false where it would
// change nothing.
type damage struct {
	kinds    []string
	severity finding.Severity
	do       func(o *krm.Object, m *made) bool
}

func set(value d.Node, path ...string) func(*krm.Object, *made) bool {
	return func(o *krm.Object, _ *made) bool {
		o.Node.Set(path[0], changed(o.Node.Get(path[0]), value, path[1:]))
		return true
	}
}

// changed is a copy of a node with another value at a path.
func changed(n *d.Node, value d.Node, path []string) d.Node {
	if len(path) == 0 {
		return value
	}
	out := d.Object()
	if n.Kind() == d.Map {
		out = n.Copy()
	}
	out.Set(path[0], changed(n.Get(path[0]), value, path[1:]))
	return out
}

func gone(o *krm.Object, _ *made) bool {
	set(d.Text(""), "metadata", "name")(o, nil)
	return true
}

func text(path ...string) func(string) func(*krm.Object, *made) bool {
	return func(value string) func(*krm.Object, *made) bool { return set(d.Text(value), path...) }
}

var (
	phase   = text("status", "phase")
	damages = map[string]damage{
		"gone":              {chained, finding.Error, gone},
		"being deleted":     {[]string{"CStorVolumeConfig", "CStorVolume", "CStorVolumeReplica", "Deployment", "Service"}, finding.Error, text("metadata", "deletionTimestamp")("2026-01-01T00:00:00Z")},
		"claim gone":        {[]string{"PersistentVolumeClaim"}, finding.Error, gone},
		"claim pending":     {[]string{"PersistentVolumeClaim"}, finding.Error, text("spec", "volumeName")("")},
		"claim elsewhere":   {[]string{"PersistentVolume"}, finding.Error, text("spec", "claimRef", "name")("other")},
		"class gone":        {[]string{"StorageClass"}, finding.Error, gone},
		"class changed":     {[]string{"StorageClass"}, finding.Error, text("parameters", "replicaCount")("9")},
		"policy gone":       {[]string{"CStorVolumePolicy"}, finding.Error, gone},
		"no owner":          {[]string{"CStorVolume", "CStorVolumeReplica", "Service"}, finding.Error, set(d.List(), "metadata", "ownerReferences")},
		"owner of old":      {[]string{"CStorVolume", "CStorVolumeReplica", "Service"}, finding.Error, ownerUID},
		"label of volume":   {[]string{"CStorVolume", "CStorVolumeReplica", "Service"}, finding.Error, text("metadata", "labels", "openebs.io/persistent-volume")("other")},
		"label of cluster":  {[]string{"CStorVolumeConfig"}, finding.Error, text("metadata", "labels", "openebs.io/cstor-pool-cluster")("test")},
		"version of part":   {[]string{"CStorVolume", "CStorVolumeReplica", "Service"}, finding.Error, text("metadata", "labels", "openebs.io/version")("1.0.0")},
		"version of volume": {[]string{"CStorVolumeConfig"}, finding.Error, text("versionDetails", "status", "current")("1.0.0")},
		"other cluster":     {[]string{"CStorVolumeReplica"}, finding.Error, otherCluster},
		"same pool":         {[]string{"CStorVolumeReplica"}, finding.Error, samePool},
		"replica twice":     {[]string{"CStorVolumeReplica"}, finding.Error, text("metadata", "name")("other")},
		"replica ill":       {[]string{"CStorVolumeReplica"}, finding.Warning, illOf(3)},
		"replica lost":      {[]string{"CStorVolumeReplica"}, finding.Error, illOf(1)},
		"config pending":    {[]string{"CStorVolumeConfig"}, finding.Error, phase("Pending")},
		"config failed":     {[]string{"CStorVolumeConfig"}, finding.Error, phase("Failed")},
		"target offline":    {[]string{"CStorVolume"}, finding.Error, phase("Offline")},
		"target unready":    {[]string{"Deployment"}, finding.Error, set(d.Int(0), "status", "readyReplicas")},
		"factors":           {[]string{"CStorVolume"}, finding.Warning, set(d.Int(9), "spec", "replicationFactor")},
		"too few pools":     {[]string{"CStorVolumeConfig"}, finding.Error, set(d.List(), "spec", "policy", "replicaPoolInfo")},
		"budget shrunk":     {[]string{"PodDisruptionBudget"}, finding.Error, set(d.Object(), "spec", "selector")},
		"budget of two":     {[]string{"PodDisruptionBudget"}, finding.Error, set(d.Int(2), "spec", "maxUnavailable")},
		"driver gone":       {[]string{"StatefulSet", "DaemonSet"}, finding.Error, gone},
		"driver unready":    {[]string{"StatefulSet"}, finding.Error, set(d.Int(0), "status", "readyReplicas")},
		"driver stripped":   {[]string{"StatefulSet", "DaemonSet"}, finding.Error, set(d.List(), "spec", "template", "spec", "containers")},
		"claim grows":       {[]string{"PersistentVolumeClaim"}, finding.Warning, text("status", "capacity", "storage")("1Mi")},
	}
)

// illOf has a replica offline of volumes that can spare one, which are those of three and
// more, or that cannot.
func illOf(least int) func(*krm.Object, *made) bool {
	return func(o *krm.Object, m *made) bool {
		replicas := 0
		for _, at := range m.of("CStorVolumeReplica") {
			if m.facts[at].Label("cstorvolume.openebs.io/name") == o.Label("cstorvolume.openebs.io/name") {
				replicas++
			}
		}
		return (replicas >= 3) == (least >= 3) && phase("Offline")(o, m)
	}
}

func ownerUID(o *krm.Object, m *made) bool {
	owner := o.Node.Get("metadata", "ownerReferences").Items()[0].Copy()
	owner.Set("uid", d.Text("old"))
	return set(d.List(owner), "metadata", "ownerReferences")(o, m)
}

// otherCluster moves a replica to the pool of another cluster.
func otherCluster(o *krm.Object, m *made) bool {
	name := strings.Replace(o.Label("cstorpoolinstance.openebs.io/name"), "prod-", "test-", 1)
	return text("metadata", "labels", "cstorpoolinstance.openebs.io/name")(name)(o, m)
}

// samePool moves a replica to the pool of another one of its volume.
func samePool(o *krm.Object, m *made) bool {
	for _, at := range m.of("CStorVolumeReplica") {
		other := m.facts[at]
		if other.Name != o.Name && other.Label("cstorvolume.openebs.io/name") == o.Label("cstorvolume.openebs.io/name") {
			return text("metadata", "labels", "cstorpoolinstance.openebs.io/name")(other.Label("cstorpoolinstance.openebs.io/name"))(o, m)
		}
	}
	return false
}
