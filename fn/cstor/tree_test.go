package cstor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
)

// withVolume are the facts of the local package, and one volume with a replica on
// each of its pools.
func withVolume(t *testing.T) map[string]string {
	t.Helper()
	files := factsOf(t, local)
	maps.Copy(files, filesIn(t, "snapshots/two-replicas"))
	return files
}

// Roots of trees.
var (
	claimRoot  = krm.ID{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}
	volumeRoot = krm.ID{Kind: "PersistentVolume", Name: "pvc-1"}
	nodeRoot   = krm.ID{Kind: "Node", Name: "a"}
	diskRoot   = krm.ID{Group: "openebs.io", Kind: "BlockDevice", Namespace: "openebs", Name: "a-0"}
)

// Files that are changed.
const (
	claim   = "claim-"
	pv      = "pv-"
	config  = "cvc-"
	target  = "cv-"
	replica = "cvr-"
)

// TestTree changes one thing at a time where all is well. A line of what is wanted
// is an object, its health, its state and its note; more dots are further down.
func TestTree(t *testing.T) {
	for _, c := range []struct {
		name  string
		root  krm.ID
		facts []edit
		more  string // further facts
		want  string // consecutive lines
		leaf  bool   // nothing hangs on the last of them
	}{
		{name: "a claim", root: claimRoot, want: `
			PersistentVolumeClaim shop/data OK Bound fast
			. CStorVolumeConfig openebs/pvc-1 OK Bound
			. . CStorVolume openebs/pvc-1 OK Healthy 2 of 2 replicas healthy
			. . . CStorVolumeReplica openebs/pvc-1-prod-a OK Healthy
			. . . . CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror
			. . . . . BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on host host-a`},

		// The parts of a volume.
		{name: "a claim whose volume is lost", root: claimRoot, facts: []edit{{claim, "Bound", "Lost"}},
			want: `PersistentVolumeClaim shop/data ERROR Lost fast`},
		{name: "a claim without its volume, of which all else is there", root: claimRoot, facts: []edit{{on: pv}}, want: `
			PersistentVolumeClaim shop/data OK Bound fast
			. PersistentVolume pvc-1 ERROR Missing the claim is bound to it
			. . CStorVolumeConfig openebs/pvc-1 OK Bound`},
		{name: "a volume that failed is shown", root: claimRoot, facts: []edit{{pv, "phase: Bound", "phase: Failed"}}, want: `
			PersistentVolumeClaim shop/data OK Bound fast
			. PersistentVolume pvc-1 ERROR Failed cstor.csi.openebs.io, claim shop/data
			. . CStorVolumeConfig openebs/pvc-1 OK Bound`},
		{name: "a volume that waits", root: volumeRoot, facts: []edit{{pv, "phase: Bound", "phase: Pending"}},
			want: `PersistentVolume pvc-1 PROGRESSING Pending cstor.csi.openebs.io, claim shop/data`},
		{name: "a volume of another driver with the same handle", root: volumeRoot, facts: []edit{{pv, "cstor.csi.openebs.io", "other"}},
			want: `PersistentVolume pvc-1 OK Bound other, claim shop/data`, leaf: true},
		{name: "a volume that cannot be made", root: claimRoot, facts: []edit{{config, "Bound", "Failed"}},
			want: `. CStorVolumeConfig openebs/pvc-1 ERROR Failed`},
		{name: "a volume that is not made yet", root: claimRoot, facts: []edit{{config, "Bound", "Pending"}, {on: target}, {on: replica}}, want: `
			PersistentVolumeClaim shop/data OK Bound fast
			. CStorVolumeConfig openebs/pvc-1 PROGRESSING Pending`, leaf: true},
		{name: "a volume that was made and is gone", root: claimRoot, facts: []edit{{on: target}, {on: replica}}, want: `
			. CStorVolumeConfig openebs/pvc-1 OK Bound
			. . CStorVolume openebs/pvc-1 ERROR Missing`},
		{name: "a volume that has not noticed that its replicas are gone", root: claimRoot, facts: []edit{{on: replica}}, want: `
			. . CStorVolume openebs/pvc-1 ERROR Healthy 0 of 2 replicas healthy
			. . . CStorVolumeReplica openebs/pvc-1-? ERROR Missing
			. . . CStorVolumeReplica openebs/pvc-1-? ERROR Missing`},
		{name: "a volume that starts", root: claimRoot, facts: []edit{{target, "Healthy", "Init"}},
			want: `. . CStorVolume openebs/pvc-1 PROGRESSING Init 2 of 2 replicas healthy`},
		{name: "a degraded volume that nobody mends", root: claimRoot, facts: []edit{{target, "Healthy", "Degraded"}, {"cvr-pvc-1-prod-b", "Healthy", "Offline"}},
			want: `. . CStorVolume openebs/pvc-1 ERROR Degraded 1 of 2 replicas healthy`},
		{name: "a degraded volume that is mended", root: claimRoot, facts: []edit{{target, "Healthy", "Degraded"}, {"cvr-pvc-1-prod-b", "Healthy", "Rebuilding"}},
			want: `. . CStorVolume openebs/pvc-1 PROGRESSING Degraded 1 of 2 replicas healthy`},
		{name: "one replica more is wanted", root: claimRoot, facts: []edit{{target, "desiredReplicationFactor: 2", "desiredReplicationFactor: 3"}},
			want: `. . . CStorVolumeReplica openebs/pvc-1-? ERROR Missing`},

		// Everything.
		{name: "a pool that is not well makes its cluster so", facts: []edit{{poolA, "ONLINE", "OFFLINE"}}, want: `
			CStorPoolCluster openebs/prod ERROR 1 of 2 pools healthy
			. CStorPoolInstance openebs/prod-a ERROR OFFLINE on node a, mirror, offline`},
		{name: "a pool that starts", facts: []edit{{poolA, "ONLINE", `""`}}, want: `
			CStorPoolCluster openebs/prod PROGRESSING 1 of 2 pools healthy
			. CStorPoolInstance openebs/prod-a PROGRESSING on node a, mirror, not ready yet`},
		{name: "a pool is on a node that is gone", facts: []edit{{on: nodeA}}, want: `
			CStorPoolCluster openebs/prod ERROR 1 of 2 pools healthy
			. CStorPoolInstance openebs/prod-a ERROR ONLINE on host host-a, mirror, its node is missing`},
		{name: "a pool is on a node that is not ready", facts: []edit{{nodeA, `"True"`, `"False"`}}, want: `
			CStorPoolCluster openebs/prod ERROR 1 of 2 pools healthy
			. CStorPoolInstance openebs/prod-a ERROR ONLINE on node a, mirror, its node is not ready`},
		{name: "a pool cluster that goes", facts: []edit{{cspc, "creationTimestamp", "deletionTimestamp"}},
			want: `CStorPoolCluster openebs/prod ERROR 2 of 2 pools healthy being deleted`},
		{name: "pools that are not made yet", facts: []edit{{on: instance}, {cspc, "provisionedInstances: 2", "provisionedInstances: 0"}, {on: replica}}, want: `
			CStorPoolCluster openebs/prod PROGRESSING 0 of 2 pools healthy
			. CStorPoolInstance openebs/prod-? PROGRESSING Missing not made yet, for host host-a
			. . BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on host host-a
			. . BlockDevice openebs/a-1 OK Active, Claimed /dev/sdc, 100Gi, on host host-a
			. CStorPoolInstance openebs/prod-? PROGRESSING Missing not made yet, for host host-b`},
		{name: "a pool that was made, and is gone", facts: []edit{{on: poolB}},
			want: `. CStorPoolInstance openebs/prod-? ERROR Missing it was made before, on host host-b`},
		{name: "a pool that is gone, on which volumes have replicas", facts: []edit{{on: poolB}, {"cvr-pvc-1-prod-b", "  labels:", "  annotations: {cstorpoolinstance.openebs.io/hostname: host-b}\n  labels:"}},
			want: `. CStorPoolInstance openebs/prod-b ERROR Missing it was made before, on host host-b`},
		{name: "a cloud disk that is in no pool yet", facts: []edit{{}},
			more: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: prod-n-0, namespace: openebs, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}}, spec: {storageClassName: fast}, status: {phase: Pending}}`,
			want: `PersistentVolumeClaim openebs/prod-n-0 PROGRESSING Pending fast`},
		{name: "another cluster has its own pools", more: `{apiVersion: cstor.openebs.io/v1, kind: CStorPoolCluster, metadata: {name: second, namespace: openebs}, spec: {pools: [{nodeSelector: {kubernetes.io/hostname: host-z}}]}}`,
			want: `CStorPoolCluster openebs/prod OK 2 of 2 pools healthy`},
		{name: "a snapshot that does not tell of the nodes' health", facts: []edit{{"node-", "type: Ready", "type: Other"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror`},
		{name: "a pool of no cluster", facts: []edit{{}}, more: `{apiVersion: cstor.openebs.io/v1, kind: CStorPoolInstance, metadata: {name: x, namespace: openebs}, spec: {hostName: x, poolConfig: {dataRaidGroupType: stripe}}, status: {phase: ONLINE}}`,
			want: `CStorPoolInstance openebs/x OK ONLINE on host x, stripe`},
		{name: "a claim that waits for a cluster that is not there", facts: []edit{{"class-", "prod", "other"}},
			more: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: later, namespace: shop}, spec: {storageClassName: fast}, status: {phase: Pending}}`,
			want: `PersistentVolumeClaim shop/later PROGRESSING Pending fast`},

		// What would be hit.
		{name: "without one of two replicas", root: nodeRoot,
			want: `. . . CStorVolume openebs/pvc-1 OK Healthy without this node: 1 of 2 replicas left, it stops`},
		{name: "without one of two replicas, where one is enough", root: nodeRoot, facts: []edit{{target, "consistencyFactor: 2", "consistencyFactor: 1"}},
			want: `. . . CStorVolume openebs/pvc-1 OK Healthy without this node: 1 of 2 replicas left, it goes on`},
		{name: "more than half is needed where nothing else is said", root: nodeRoot, facts: []edit{{target, "  consistencyFactor: 2\n", "\n"}},
			want: `. . . CStorVolume openebs/pvc-1 OK Healthy without this node: 1 of 2 replicas left, it stops`},
		{name: "without a dead disk, the pool goes on as it does already", root: diskRoot, facts: []edit{{poolA, "ONLINE", "DEGRADED"}, {"a-0", "Active", "Inactive"}}, want: `
			. CStorPoolInstance openebs/prod-a ERROR DEGRADED on node a, mirror, degraded, without this disk: it goes on`},
		{name: "without a good disk of a pool that lacks another", root: diskRoot, facts: []edit{{poolA, "ONLINE", "DEGRADED"}, {"a-1", "Active", "Inactive"}}, want: `
			. CStorPoolInstance openebs/prod-a ERROR DEGRADED on node a, mirror, degraded, without this disk: it stops`},
		{name: "without a disk of a pool that lacks nobody knows which", root: diskRoot, facts: []edit{{poolA, "ONLINE", "DEGRADED"}}, want: `
			. CStorPoolInstance openebs/prod-a ERROR DEGRADED on node a, mirror, degraded, without this disk: it may stop`},
		{name: "without a dead disk of a pool that is offline", root: diskRoot, facts: []edit{{poolA, "ONLINE", "OFFLINE"}, {"a-0", "Active", "Inactive"}}, want: `
			. CStorPoolInstance openebs/prod-a ERROR OFFLINE on node a, mirror, offline, without this disk: it may stop`},
		{name: "without a disk of a pool that rebuilds", root: diskRoot, facts: []edit{{poolA, "phase: ONLINE", phase("ONLINE", `{type: DiskReplacement, status: "True"}`)}}, want: `
			. CStorPoolInstance openebs/prod-a PROGRESSING ONLINE on node a, mirror, rebuilding on a new disk, without this disk: it may stop`},
		{name: "two pools on the node", root: nodeRoot, facts: []edit{{poolB, "host-b", "host-a"}},
			want: `. . . CStorVolume openebs/pvc-1 OK Healthy without this node: 0 of 2 replicas left, it stops`},
		{name: "a pool that only its label places", root: nodeRoot, facts: []edit{{poolA, "  hostName: host-a\n", "\n"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror`},
		{name: "a pool without labels", root: nodeRoot, facts: []edit{{poolA, "    kubernetes.io/hostname: host-a\n    openebs.io/cstor-pool-cluster: prod\n", "\n"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror`},
		{name: "a node whose pool is not made yet, and its disks", root: nodeRoot, facts: []edit{{on: poolA}, {on: "cvr-pvc-1-prod-a"}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}}, want: `
			Node a OK Ready
			. CStorPoolInstance openebs/prod-? PROGRESSING Missing not made yet, for host host-a
			. . BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on host host-a
			. . BlockDevice openebs/a-1 OK Active, Claimed /dev/sdc, 100Gi, on host host-a
			. BlockDevice openebs/a-2 OK Active, Unclaimed /dev/sdd, 100Gi, on host host-a, in no pool`, leaf: true},
		{name: "a node that is gone", root: krm.ID{Kind: "Node", Name: "a"}, facts: []edit{{on: nodeA}, {"a-", "  path:", "  nodeAttributes: {nodeName: a}\n  path:"}}, want: `
			Node a ERROR Missing its pools or disks name it
			. CStorPoolInstance openebs/prod-a ERROR ONLINE on host host-a, mirror, its node is missing
			. . BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on node a`},
		{name: "a node that is gone is told by its host where no disk names it", root: krm.ID{Kind: "Node", Name: "host-b"}, facts: []edit{{on: "node-b"}, {on: "b-"}, {on: poolB}}, want: `
			Node host-b ERROR Missing its pools or disks name it
			. CStorPoolInstance openebs/prod-? ERROR Missing it was made before, on host host-b
			. . BlockDevice openebs/b-0 ERROR Missing the pool names it`},
		{name: "a cordoned node", root: nodeRoot, facts: []edit{{nodeA, "\nstatus:", "\nspec: {unschedulable: true}\nstatus:"}},
			want: `Node a OK Ready cordoned`},
		{name: "a mirror needs one disk", root: diskRoot,
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror, without this disk: it goes on`},
		{name: "a mirror that has one disk left", root: diskRoot, facts: []edit{{"a-1", "Active", "Inactive"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror, without this disk: it stops`},
		{name: "a mirror whose other disk nobody reports", root: diskRoot, facts: []edit{{on: "a-1"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, mirror, without this disk: it stops`},
		{name: "raidz2 needs all but two", root: diskRoot, facts: []edit{{poolA, "mirror", "raidz2"}, {"a-1", "Active", "Inactive"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, raidz2, without this disk: it goes on`},
		{name: "raidz needs all but one", root: diskRoot, facts: []edit{{poolA, "mirror", "raidz"}, {"a-1", "Active", "Inactive"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, raidz, without this disk: it stops`},
		{name: "a write cache can go", root: diskRoot, facts: []edit{{poolA, "mirror", "stripe"}, {poolA, "dataRaidGroups", "writeCacheRaidGroups"}},
			want: `. CStorPoolInstance openebs/prod-a OK ONLINE on node a, stripe, without this disk: it goes on`},

		// Disks.
		{name: "a disk that is about to go", root: diskRoot, facts: []edit{{"a-0", "name: a-0\n", "name: a-0\n  deletionTimestamp: \"2026-05-01T00:00:00Z\"\n"}},
			want: `BlockDevice openebs/a-0 ERROR Active, Claimed /dev/sdb, 100Gi, on host host-a, it is being deleted`},
		{name: "a disk whose pool is not made yet", root: diskRoot, facts: []edit{{on: poolA}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}}, want: `
			BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on host host-a
			. CStorPoolInstance openebs/prod-? PROGRESSING Missing not made yet, for host host-a`, leaf: true},
		{name: "a disk that its pool does not use yet", root: diskRoot, facts: []edit{{poolA, "    - blockDeviceName: a-0\n", "\n"}}, want: `
			BlockDevice openebs/a-0 OK Active, Claimed /dev/sdb, 100Gi, on host host-a
			. CStorPoolCluster openebs/prod PROGRESSING names it, and the pool on host host-a does not use it yet`},
		{name: "a disk of the same name in another namespace", root: krm.ID{Group: "openebs.io", Kind: "BlockDevice", Namespace: "other", Name: "a-0"},
			facts: []edit{{on: poolA}, {on: "cvr-pvc-1-prod-a"}}, more: `{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: a-0, namespace: other, labels: {kubernetes.io/hostname: host-b}}, spec: {path: /dev/sdx}, status: {state: Active, claimState: Unclaimed}}`,
			want: `BlockDevice other/a-0 OK Active, Unclaimed /dev/sdx, 0, on host host-b, in no pool`},
		{name: "a cloud disk that only its node tells apart", root: krm.ID{Kind: "PersistentVolume", Name: "az"}, more: `{apiVersion: v1, kind: PersistentVolume, metadata: {name: az}, spec: {csi: {driver: disk.csi.azure.com, volumeHandle: /az}}, status: {phase: Bound}}
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: csi-1}, spec: {nodeName: b, source: {persistentVolumeName: az}}, status: {attached: true, attachmentMetadata: {LUN: "1"}}}
{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: lun-a, namespace: openebs, labels: {kubernetes.io/hostname: host-a}}, spec: {path: /dev/sdx, devlinks: [{links: [/dev/disk/azure/scsi1/lun1]}]}, status: {state: Active}}
{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: lun-b, namespace: openebs, labels: {kubernetes.io/hostname: host-b}}, spec: {path: /dev/sdy, devlinks: [{links: [/dev/disk/azure/scsi1/lun1]}]}, status: {state: Active}}`, want: `
			PersistentVolume az OK Bound disk.csi.azure.com
			. BlockDevice openebs/lun-b OK Active /dev/sdy, 0, on host host-b, in no pool`},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := apply(t, withVolume(t), c.facts)
			for i, more := range strings.Split(c.more, "\n") {
				facts[fmt.Sprintf("more-%d", i)] = more
			}
			var got []string
			for _, tree := range poolwright().Tree(parse(t, facts), c.root) {
				got = append(got, lines(tree, "")...)
			}
			var want []string
			for line := range strings.Lines(strings.TrimSpace(c.want)) {
				want = append(want, strings.TrimSpace(line))
			}
			for i := range got {
				end := min(len(got), i+len(want))
				if slices.Equal(got[i:end], want) && !(c.leaf && end < len(got) && depth(got[end]) > depth(got[end-1])) {
					return
				}
			}
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		})
	}
}

// TestTreeOthers holds that only claims on cStor are shown with its pools.
func TestTreeOthers(t *testing.T) {
	facts := apply(t, withVolume(t), []edit{{"class-", "cstor.csi.openebs.io", "other"}, {on: pv}, {on: config}, {on: target}, {on: replica}})
	trees := poolwright().Tree(parse(t, facts), krm.ID{})
	if len(trees) != 1 || len(trees[0].Children) != 2 {
		t.Errorf("more than the two pools: %v", lines(trees[0], ""))
	}
}

// TestTreeTwins holds that a class that may mean two pool clusters is of neither.
func TestTreeTwins(t *testing.T) {
	facts := apply(t, withVolume(t), []edit{{on: pv}, {on: config}, {on: target}, {on: replica},
		{"twin", "", `{apiVersion: cstor.openebs.io/v1, kind: CStorPoolCluster, metadata: {name: prod, namespace: elsewhere}}`}})
	for range 50 {
		trees := poolwright().Tree(parse(t, facts), krm.ID{})
		var roots []string
		for _, tree := range trees {
			roots = append(roots, tree.Object.String())
		}
		if want := []string{"CStorPoolCluster elsewhere/prod", "CStorPoolCluster openebs/prod", "PersistentVolumeClaim shop/data"}; !slices.Equal(roots, want) {
			t.Fatalf("%q, want %q", roots, want)
		}
	}
}

// TestTreeClaims holds that the claim of a cloud disk is shown until the disk is in
// a pool, or is to be in one.
func TestTreeClaims(t *testing.T) {
	owned := edit{claim, inOpenEBS, inOpenEBS + ours}
	named := edit{instance, "  hostName: n\n", "  hostName: n\n  dataRaidGroups: [{blockDevices: [{blockDeviceName: bd-0}, {blockDeviceName: bd-1}]}]\n"}
	for _, c := range []struct {
		name  string
		facts []edit
		shown int
	}{
		{"in a pool", []edit{owned, named, {on: cspc}}, 0},
		{"to be in a pool", []edit{owned, {on: instance}}, 0},
		{"not seen by the pool cluster", []edit{owned, {on: instance}, {on: cspc}}, 2},
		{"of somebody else", []edit{{on: instance}, {on: cspc}}, 0},
	} {
		shown := 0
		for _, tree := range poolwright().Tree(parse(t, apply(t, factsOf(t, cloud), c.facts)), krm.ID{}) {
			if tree.Object.Kind == "PersistentVolumeClaim" {
				shown++
			}
		}
		if shown != c.shown {
			t.Errorf("%s: %d claims, want %d", c.name, shown, c.shown)
		}
	}
}

// TestTreeRoot holds how a root is found by its name.
func TestTreeRoot(t *testing.T) {
	node, disk, claimKind := krm.GroupKind{Kind: "Node"}, krm.GroupKind{Group: "openebs.io", Kind: "BlockDevice"}, krm.GroupKind{Kind: "PersistentVolumeClaim"}
	gone := apply(t, withVolume(t), []edit{{on: "node-b"}})
	for _, c := range []struct {
		kind            krm.GroupKind
		namespace, name string
		want, err       string
	}{
		{claimKind, "shop", "data", "shop/data", ""},
		{claimKind, "", "data", "shop/data", ""},
		{claimKind, "openebs", "data", "", `there is no PersistentVolumeClaim "data" in namespace openebs, nor any other`},
		{disk, "openebs", "a-9", "", `there is no BlockDevice "a-9" in namespace openebs (did you mean "a-0"?)`},
		{node, "openebs", "a", "/a", ""},
		{node, "openebs", "c", "", `there is no Node "c" (did you mean "a"?)`},
		{node, "", "host-b", "/host-b", ""},
		{node, "", "host-a", "", `there is no Node "host-a"; there are a`},
	} {
		got, err := poolwright().TreeRoot(parse(t, gone), c.kind, c.namespace, c.name)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%v: %v, want %s", c, err, c.err)
			}
		} else if err != nil || got.Namespace+"/"+got.Name != c.want {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
}

func depth(line string) int { return len(line) - len(strings.TrimLeft(line, ". ")) }

// lines are the objects of a tree.
func lines(tree *health.Tree, depth string) []string {
	var fields []string
	for _, f := range []string{tree.Object.String(), string(tree.Phase), tree.State, tree.Note} {
		if f != "" {
			fields = append(fields, f)
		}
	}
	all := []string{depth + strings.Join(fields, " ")}
	for _, c := range tree.Children {
		all = append(all, lines(c, depth+". ")...)
	}
	return all
}
