package cstor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// notReady is a node that is down, and on which somebody works: all else that is
// amiss would be an ERROR.
var notReady = edit{"node-", "status:\n  conditions:\n  - type: Ready\n    status: \"True\"", "spec:\n  unschedulable: true\nstatus:\n  conditions:\n  - type: Ready\n    status: \"Unknown\""}

// TestStatus changes one thing at a time where all is well.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name              string
		site              string
		spec, facts, lock []edit
		want              string // phase, reason, since, message
		detail            string // of what the part is called, the same
	}{
		{name: "all well, since the last pool was made", site: local,
			want: "OK Healthy 2026-03-03: 2 of 2 pools healthy", detail: "prod-a OK Healthy -: pool prod-a ONLINE, 3 block devices"},
		{name: "all well, since a node came back", site: local, facts: []edit{{nodeA, "2026-02-01", "2026-04-01"}},
			want: "OK Healthy 2026-04-01: 2 of 2 pools healthy"},
		{name: "all well in the cloud", site: cloud,
			want: "OK Healthy 2026-03-02: 1 of 1 pool healthy", detail: "prod-n-0 OK Healthy -: bound and attached"},

		// From the spec to the cluster.
		{name: "an old name in the spec is no error", site: cloud, spec: []edit{{"", "externalProvisioner", "external"}},
			want: "OK Healthy 2026-03-02: 1 of 1 pool healthy"},
		{name: "nothing is rendered", site: local, lock: []edit{{}}, facts: []edit{{on: claims}, {on: cspc}, {on: instance}},
			want: "PROGRESSING NotRendered 2026-01-05: nothing is rendered for it yet, and no CStorPoolCluster prod is in the cluster; run poolwright render, commit and apply what it writes"},
		{name: "nothing is applied, and the disks are not reported yet", site: local, facts: []edit{{on: "a-"}, {on: "b-"}, {on: claims}, {on: cspc}, {on: instance}},
			want:   "PROGRESSING NotApplied -: rendered (1 object), but not in the cluster yet; commit and apply it",
			detail: "prod-a PROGRESSING DeviceMissing -: block device a-0 missing"},
		{name: "nothing is applied", site: local, facts: []edit{{on: claims}, {on: cspc}, {on: instance}},
			want:   "PROGRESSING NotApplied -: rendered (1 object), but not in the cluster yet; commit and apply it",
			detail: "prod-a PROGRESSING PoolPending -: pool on node a not made yet"},
		{name: "what was there before the spec is not rendered", site: cloud, lock: []edit{{}},
			want: "OK Healthy 2026-03-02: 1 of 1 pool healthy"},
		{name: "the intermediates are in Git alone", site: local, lock: []edit{{on: "cstorclusterplan"}, {on: "cstorclusterstorageset"}},
			want: "OK Healthy 2026-03-03: 2 of 2 pools healthy"},
		{name: "only the plan is rendered so far", site: local, lock: []edit{{on: "cstorclusterstorageset"}, {on: "cstorpoolcluster"}}, facts: []edit{{on: claims}, {on: cspc}, {on: instance}, {"", "claimState: Claimed", "claimState: Unclaimed"}},
			want: "PROGRESSING RenderPending -: the block devices of 2 pools are there, and its CStorPoolCluster is not rendered yet; refresh the inventory, run poolwright render, commit"},

		// Nodes.
		{name: "a node got another name", site: local, facts: []edit{{nodeA, "name: a\n", "name: a2\n"}},
			want: "OK Healthy 2026-03-03: 2 of 2 pools healthy"},
		{name: "a node under maintenance explains its disks and pools", site: local,
			facts: []edit{{nodeA, notReady.old, notReady.new}, {"a-0", "Active", "Inactive"}, {poolA, "ONLINE", "OFFLINE"}, {cspc, "healthyInstances: 2", "healthyInstances: 1"}},
			want:  "PROGRESSING NodeNotReady 2026-02-01: 1 of 2 nodes not ready and cordoned: a", detail: "prod-b OK Healthy -: pool prod-b ONLINE, 3 block devices"},
		{name: "a node under maintenance explains its attachments", site: cloud,
			facts: []edit{notReady, {"attachment-openebs-prod-n-0", "attached: true", "attached: false\n  attachError: {message: no}"}},
			want:  "ERROR NodeNotReady 2026-02-01: 1 of 1 node not ready and cordoned: n", detail: "prod-n-0 ERROR NodeNotReady 2026-02-01: node n not ready and cordoned"},
		{name: "more than one node at a time is no maintenance", site: local, facts: []edit{notReady},
			want: "ERROR NodeNotReady 2026-02-01: 2 of 2 nodes not ready and cordoned: a, b"},
		{name: "nor is one where another is gone", site: local, facts: []edit{{nodeA, notReady.old, notReady.new}, {on: "node-b"}},
			want: "ERROR NodeNotReady 2026-02-01: 1 of 2 nodes not ready and cordoned: a; and 1 problem more"},
		{name: "there are no nodes at all", site: local, facts: []edit{{on: "node-"}}, lock: []edit{{}},
			want: "ERROR NodeMissing -: 2 of 2 nodes missing from the cluster: host-a, host-b; and 1 problem more"},
		{name: "there are no nodes yet", site: local, facts: []edit{{}}, lock: []edit{{}},
			want: "ERROR CannotRender -: there is no Node among the facts, so nothing can be chosen"},

		// Claims.
		{name: "a claim is being deleted", site: cloud, facts: []edit{{"claim-prod-n-1", "creationTimestamp", "deletionTimestamp"}},
			want: "ERROR ClaimDeleting -: 1 of 2 PersistentVolumeClaims being deleted: prod-n-1", detail: "prod-n-1 ERROR ClaimDeleting -: PersistentVolumeClaim prod-n-1 being deleted"},
		{name: "a claim is pending, and its Storage is in Git alone", site: cloud, lock: []edit{{on: "storage-"}}, facts: []edit{{"claim-prod-n-1", "phase: Bound", "phase: Pending"}},
			want: "PROGRESSING ClaimPending 2026-02-03: 1 of 2 PersistentVolumeClaims not bound yet: prod-n-1", detail: "prod-n PROGRESSING ClaimPending 2026-02-03: PersistentVolumeClaim prod-n-1 not bound yet"},
		{name: "more disks are wanted", site: cloud, spec: []edit{{"", "minCount: 2", "minCount: 4"}},
			want: "PROGRESSING RenderPending -: step 1 of about 1: 2 of 4 PersistentVolumeClaims not rendered as they now would be (refresh the inventory, run poolwright render, commit): prod-n-2, prod-n-3"},

		// Attachments.
		{name: "somebody else attached the volume", site: cloud, facts: []edit{{"attachment-openebs-prod-n-0", "openebs-prod-n-0", "csi-123"}},
			want: "OK Healthy 2026-03-02: 1 of 1 pool healthy"},
		{name: "an attachment of a live pool is gone", site: cloud, facts: []edit{{on: "attachment-openebs-prod-n-1"}},
			want: "ERROR AttachmentMissing -: 1 of 2 VolumeAttachments missing, though a pool uses the disk: openebs-prod-n-1", detail: "prod-n-1 ERROR AttachmentMissing -: VolumeAttachment openebs-prod-n-1 missing, though a pool uses the disk"},
		{name: "an attachment is not applied, nor is the pool", site: cloud, facts: []edit{{on: "attachment-openebs-prod-n-1"}, {on: cspc}, {on: instance}, {"", "claimState: Claimed", "claimState: Unclaimed"}},
			want: "PROGRESSING NotApplied -: 1 of 2 VolumeAttachments not applied yet: openebs-prod-n-1"},
		{name: "an attachment of a disk for which no pool is rendered is not applied", site: cloud, lock: []edit{{on: "cstorpoolcluster"}}, facts: []edit{{on: "attachment-openebs-prod-n-1"}, {on: cspc}, {on: instance}, {"", "claimState: Claimed", "claimState: Unclaimed"}},
			want: "PROGRESSING NotApplied -: 1 of 2 VolumeAttachments not applied yet: openebs-prod-n-1"},
		{name: "an attachment of one disk more for a live pool is not applied", site: cloud,
			lock: []edit{{"another", "", `{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: openebs-prod-n-2, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}}, spec: {nodeName: n, source: {persistentVolumeName: pv-2}}}`}},
			want: "PROGRESSING NotApplied -: 1 of 3 VolumeAttachments not applied yet: openebs-prod-n-2"},
		{name: "a driver attaches, and has not yet", site: cloud,
			facts: []edit{{"attachment-openebs-prod-n-1", "attached: true", "attached: false"}, {"driver", "", `{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: pd.csi.storage.gke.io}, spec: {attachRequired: true}}`}},
			want:  "PROGRESSING Attaching 2026-02-04: 1 of 2 VolumeAttachments not attached yet: openebs-prod-n-1"},
		{name: "the attacher says why", site: cloud, facts: []edit{{"attachment-openebs-prod-n-1", "attached: true", "attached: false\n  attachError: {message: \"disk\\nin use\"}"}},
			want: "ERROR AttachFailed 2026-02-04: 1 of 2 VolumeAttachments failed: openebs-prod-n-1 (disk in use)"},
		{name: "the attacher cannot detach", site: cloud, facts: []edit{{"attachment-openebs-prod-n-1", "attached: true", "attached: true\n  detachError: {message: \"disk\\nbusy\"}"}},
			want: "PROGRESSING Detaching 2026-02-04: 1 of 2 VolumeAttachments not detached yet: openebs-prod-n-1 (disk busy)"},

		// Block devices.
		{name: "a spare disk is gone", site: local, facts: []edit{{on: "a-2"}},
			want: "ERROR DeviceMissing -: 1 of 2 spare disks missing: a-2 on node a"},
		{name: "nobody claims spare disks", site: local, facts: []edit{{on: claims}, {on: instance}, {"", "claimState: Claimed", "claimState: Unclaimed"}, {cspc, "provisionedInstances: 2", "provisionedInstances: 0"}},
			want: "PROGRESSING DeviceUnclaimed -: step 1 of about 1: 4 of 4 block devices not claimed yet: a-0 on node a (/dev/sdb), a-1 on node a (/dev/sdc), b-0 on node b (/dev/sdb), and 1 more"},
		{name: "the outage comes first, whatever else there is", site: local, facts: []edit{{on: "a-0"}, {poolB, "ONLINE", "OFFLINE"}},
			want: "ERROR PoolOffline -: 1 of 2 pools offline: prod-b on node b; and 1 problem more", detail: "prod-a ERROR DeviceMissing -: block device a-0 missing"},
		{name: "a disk moved, and the storage set is in Git alone", site: local, lock: []edit{{on: "cstorclusterstorageset"}}, facts: []edit{{"b-1", "hostname: host-b", "hostname: host-a"}},
			want: "ERROR DeviceMoved -: 1 of 4 block devices moved: b-1 on node b (it is on host host-a now)"},
		{name: "a disk is about to go", site: local, facts: []edit{{"b-1", "name: b-1\n", "name: b-1\n  deletionTimestamp: \"2026-05-01T00:00:00Z\"\n"}},
			want: "ERROR DeviceDoubtful -: 1 of 4 block devices doubtful: b-1 on node b (it is being deleted)"},

		// The pool cluster.
		{name: "the pool cluster is gone, and its claims", site: local, facts: []edit{{on: cspc}, {on: claims}},
			want: "ERROR PoolClusterMissing -: CStorPoolCluster prod is gone from the cluster, where 2 pools and 0 block devices are still its own; apply the rendered one again"},
		{name: "the pool cluster is gone, and its pools", site: local, facts: []edit{{on: cspc}, {on: instance}},
			want: "ERROR PoolClusterMissing -: CStorPoolCluster prod is gone from the cluster, where 0 pools and 4 block devices are still its own; apply the rendered one again"},

		// Pools.
		{name: "a pool is on a host that has none", site: local, facts: []edit{{poolB, "hostname: host-b", "hostname: host-c"}, {poolB, "hostName: host-b", "hostName: host-c"}},
			want: "PROGRESSING PoolMoving -: step 1 of about 1: 1 of 2 pools not on its new node yet: prod-b on node b (it is on host host-c)", detail: "prod-b PROGRESSING PoolMoving -: pool prod-b not on its new node yet: it is on host host-c"},
		{name: "a pool swaps hosts with another, and the second is yet to move", site: local, facts: []edit{{poolB, "host-b", "host-a"}},
			want: "PROGRESSING PoolMoving -: step 1 of about 1: 1 of 2 pools not on its new node yet: prod-b on node b (it is on host host-a)"},
		{name: "a pool was made, and is gone", site: local, facts: []edit{{on: poolB}},
			want: "ERROR PoolMissing -: 1 of 2 pools missing, though made before: on node b", detail: "prod-b ERROR PoolMissing -: pool on node b missing, though made before"},
		{name: "a pool is online, and rebuilds", site: local, facts: []edit{{poolB, "phase: ONLINE", phase("ONLINE", `{type: DiskReplacement, status: "True", message: "40% done", lastTransitionTime: "2026-05-01T00:00:00Z"}`)}},
			want: "PROGRESSING PoolRebuilding 2026-05-01: step 1 of about 1: 1 of 2 pools rebuilding on a new disk: prod-b on node b (40% done)"},
		{name: "a pool is online and was rebuilt", site: local, facts: []edit{{poolB, "phase: ONLINE", phase("ONLINE", `{type: DiskReplacement, status: "False", message: done}`)}},
			want: "OK Healthy 2026-03-03: 2 of 2 pools healthy"},
		{name: "a pool is read-only, and rebuilds", site: local, facts: []edit{{poolB, "readOnly: false", "readOnly: true"}, {poolB, "phase: ONLINE", phase("ONLINE", `{type: DiskReplacement, status: "True"}`)}},
			want: "ERROR PoolReadOnly -: 1 of 2 pools read-only: prod-b on node b (it is nearly full; add disks, or raise roThresholdLimit)"},
		{name: "a pool is gone, on which volumes have replicas", site: local, facts: []edit{{on: poolB}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"},
			{"cvr", "", `{apiVersion: cstor.openebs.io/v1, kind: CStorVolumeReplica, metadata: {name: pvc-1-prod-b, namespace: openebs, annotations: {cstorpoolinstance.openebs.io/hostname: host-b}, labels: {cstorpoolinstance.openebs.io/name: prod-b}}}`}},
			want: "ERROR PoolMissing -: 1 of 2 pools missing, though made before: prod-b on node b"},
		{name: "a pool is not made yet", site: local, facts: []edit{{on: poolB}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "PROGRESSING PoolPending 2026-03-01: step 1 of about 1: 1 of 2 pools not made yet: on node b"},
		{name: "a pool was made and is gone, and a disk of another is inactive", site: local, facts: []edit{{on: poolB}, {"a-0", "Active", "Inactive"}},
			want: "ERROR PoolMissing -: 1 of 2 pools missing, though made before: on node b; and 1 problem more"},
		{name: "a pool is gone, and volumes have replicas on it", site: local, facts: []edit{withReplica("openebs", "prod-b"), {on: poolB}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "ERROR PoolMissing -: 1 of 2 pools missing, though made before: prod-b on node b"},
		{name: "a pool moved to another host, and its replicas do not tell", site: local, facts: []edit{withReplica("openebs", "prod-b"), {poolB, "host-b", "host-c"}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "PROGRESSING PoolMoving -: step 1 of about 1: 1 of 2 pools not on its new node yet: prod-b on node b (it is on host host-c)"},
		{name: "a pool is not made yet, and its host has replicas of another pool cluster", site: local, facts: []edit{withReplica("openebs", "second-x"), {on: poolB}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "PROGRESSING PoolPending 2026-03-01: step 1 of about 1: 1 of 2 pools not made yet: on node b"},
		{name: "a pool is not made yet, and its host has replicas of one in another namespace", site: local, facts: []edit{withReplica("elsewhere", "prod-b"), {on: poolB}, {cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "PROGRESSING PoolPending 2026-03-01: step 1 of about 1: 1 of 2 pools not made yet: on node b"},
		{name: "the pool cluster is gone, and its pools, on which volumes have replicas", site: local, facts: []edit{withReplica("openebs", "prod-b"), {on: instance}, {on: cspc}},
			want: "ERROR PoolClusterMissing -: CStorPoolCluster prod is gone from the cluster, where 0 pools and 4 block devices are still its own; apply the rendered one again"},
		{name: "a pool that is wanted no longer is still there", site: local, facts: []edit{{"cspi-prod-c", "", `{apiVersion: cstor.openebs.io/v1, kind: CStorPoolInstance, metadata: {name: prod-c, namespace: openebs, labels: {kubernetes.io/hostname: host-c, openebs.io/cstor-pool-cluster: prod}}, status: {phase: OFFLINE}}`}},
			want: "PROGRESSING PoolRemoving -: step 1 of about 1: 1 of 2 pools no longer wanted and not gone yet: prod-c on node host-c"},
		{name: "a pool is being deleted", site: local, facts: []edit{{poolB, "creationTimestamp", "deletionTimestamp"}},
			want: "ERROR PoolDeleting -: 1 of 2 pools being deleted: prod-b on node b"},
		{name: "a pool is being made", site: local, facts: []edit{{poolB, "ONLINE", "Init"}},
			want: "PROGRESSING PoolPending 2026-03-03: 1 of 2 pools not ready yet: prod-b on node b"},
		{name: "a pool waits", site: local, facts: []edit{{poolB, "ONLINE", "Pending"}},
			want: "PROGRESSING PoolPending 2026-03-03: 1 of 2 pools not ready yet: prod-b on node b"},
		{name: "a pool was rebuilt, and is degraded again", site: local, facts: []edit{{poolB, "phase: ONLINE", phase("DEGRADED", `{type: DiskReplacement, status: "False", message: done}`)}},
			want: "ERROR PoolDegraded -: 1 of 2 pools degraded: prod-b on node b"},
		{name: "a pool is offline, and why", site: local, facts: []edit{{poolB, "phase: ONLINE", phase("OFFLINE", `{type: PoolLost, status: "True", message: "no import", lastTransitionTime: "2026-05-01T00:00:00Z"}`)}},
			want: "ERROR PoolOffline 2026-05-01: 1 of 2 pools offline: prod-b on node b (no import)"},
		{name: "a pool is faulted, and why", site: local, facts: []edit{{poolB, "phase: ONLINE", phase("UNAVAIL", `{type: PoolLost, status: "True", message: "no import", lastTransitionTime: "2026-05-01T00:00:00Z"}`)}},
			want: "ERROR PoolFaulted 2026-05-01: 1 of 2 pools faulted: prod-b on node b (UNAVAIL: no import)"},
		{name: "the operator has not made all", site: local, facts: []edit{{cspc, "provisionedInstances: 2", "provisionedInstances: 1"}},
			want: "PROGRESSING PoolsSettling -: the cStor operator counts 1 provisioned and 2 healthy of 2 pools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fn.Package{Objects: parse(t, apply(t, specOf(t, c.site), c.spec)), Output: parse(t, apply(t, renderedOf(t, c.site), c.lock))}
			statuses, rest := poolwright().Status(p, inventory.NewLive(parse(t, apply(t, factsOf(t, c.site), c.facts))))
			if len(statuses) != 1 || len(rest) > 0 {
				t.Fatalf("%d statuses, %v", len(statuses), rest)
			}
			st := statuses[0]
			if got := told(st.Phase, st.Reason, st.Since, st.Message); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			name, want, _ := strings.Cut(c.detail, " ")
			i := slices.IndexFunc(st.Details, func(d health.Detail) bool { return d.Object.Name == name })
			switch {
			case name == "":
			case i < 0:
				t.Errorf("no detail %s: %v", name, st.Details)
			default:
				d := st.Details[i]
				if got := told(d.Phase, d.Reason, d.Since, d.Message); got != want {
					t.Errorf("%s: got  %s\nwant %s", name, got, want)
				}
			}
		})
	}
}

// TestStatusOfPackages holds what is told of a package as a whole.
func TestStatusOfPackages(t *testing.T) {
	facts := func() *inventory.Facts { return inventory.NewLive(parse(t, factsOf(t, local))) }
	spec := func(edits ...edit) []*krm.Object { return parse(t, apply(t, specOf(t, local), edits)) }
	second := edit{"", "name: prod", "name: zulu"}

	t.Run("in the order of the names", func(t *testing.T) {
		statuses, _ := poolwright().Status(fn.Package{Objects: append(spec(), spec(second, edit{"", "minPoolCount: 2", "minPoolCuont: 2"})...)}, facts())
		if len(statuses) != 2 || statuses[0].Phase != health.OK || statuses[1].Spec.Name != "zulu" || statuses[1].Reason != health.InvalidSpec {
			t.Errorf("%v", statuses)
		}
	})
	t.Run("what is not to be rendered may differ from its spec", func(t *testing.T) {
		both := append(spec(edit{"", "raidType: mirror", "raidType: mirror\n    compression: lz4"}), spec(second)...)
		only := edit{"config", "", `{apiVersion: poolwright.io/v1alpha1, kind: RenderConfig, metadata: {name: x}, spec: {specs: [{kind: CStorClusterConfig, name: zulu}]}}`}
		for want, objects := range map[string][]*krm.Object{"RenderPending": both, health.Healthy: append(both, parse(t, apply(t, nil, []edit{only}))...)} {
			statuses, rest := poolwright().Status(fn.Package{Objects: objects, Output: parse(t, renderedOf(t, local))}, facts())
			if len(statuses) != 2 || statuses[0].Reason != want || len(rest) > 0 {
				t.Errorf("%v %v, want %s", statuses, rest, want)
			}
		}
	})
	t.Run("what lives is the lock of the specs in a cluster, whatever operators fill in", func(t *testing.T) {
		live := parse(t, apply(t, factsOf(t, local), []edit{{cspc, inOpenEBS, inOpenEBS + ours}}))
		output := parse(t, apply(t, renderedOf(t, local), []edit{{on: "cstorpoolcluster"}}))
		for _, o := range live {
			if o.Owner() != "" {
				output = append(output, o)
			}
		}
		statuses, _ := poolwright().Status(fn.Package{Objects: spec(), Output: output}, inventory.NewLive(live))
		if len(statuses) != 1 || statuses[0].Phase != health.OK {
			t.Errorf("%v", statuses)
		}
	})
	t.Run("an error that is about no spec", func(t *testing.T) {
		statuses, rest := poolwright().Status(fn.Package{Objects: spec(edit{"config", "", `{apiVersion: poolwright.io/v1alpha1, kind: RenderConfig, metadata: {name: x}, spec: {engine: none}}`})}, facts())
		if len(statuses) != 1 || statuses[0].Phase != health.OK || len(rest) != 1 || rest[0].Object.Kind != "RenderConfig" {
			t.Errorf("%v %v", statuses, rest)
		}
	})
}

func told(phase health.Phase, reason string, since time.Time, message string) string {
	date := "-"
	if !since.IsZero() {
		date = since.Format(time.DateOnly)
	}
	return string(phase) + " " + reason + " " + date + ": " + message
}
