package hypercloud

import (
	"fmt"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
)

// TestClusterState holds what is made of the status of a CephCluster with two devices, of
// which one has two OSDs.
func TestClusterState(t *testing.T) {
	const ready = "phase: Ready, state: Created, message: Cluster created successfully"
	for status, want := range map[string]string{
		``: "PROGRESSING ClusterNotReady: without a status, so that Rook has not looked at it yet",
		`phase: Progressing, state: Creating, message: Configuring Ceph Mons`:                       "PROGRESSING ClusterNotReady: not ready (Configuring Ceph Mons)",
		`phase: Progressing, state: Creating, ceph: {health: HEALTH_OK, versions: {osd: {v20: 1}}}`: "PROGRESSING ClusterNotReady: not ready (Progressing, Creating)",
		`phase: Ready`: "PROGRESSING ClusterNotReady: not ready (Ready)",
		ready + `, ceph: {health: HEALTH_OK, versions: {osd: {v20: 3}}}`:                                                           "OK",
		ready + `, ceph: {health: HEALTH_OK, versions: {osd: {v19: 1, v20: 2}}}`:                                                   "OK",
		ready + `, ceph: {health: HEALTH_WARN, details: {POOL_NO_REDUNDANCY: {severity: HEALTH_WARN}}, versions: {osd: {v20: 3}}}`: "OK",
		ready + `, ceph: {versions: {osd: {v20: 3}}}`:                                                                              "PROGRESSING HealthUnknown: without word of Ceph's health",
		ready + `, ceph: {health: HEALTH_OK, versions: {osd: {v20: 4}}}`:                                                           "PROGRESSING OSDsLeft: left with 1 OSD more than is declared (what was taken out has to be purged; see docs/removal.md)",
		ready + `, ceph: {health: HEALTH_OK, versions: {mon: {v20: 3}}}`:                                                           "ERROR NoOSDs down: made, and has no OSD that runs (HEALTH_OK, Rook has counted none)",
		ready + `, ceph: {health: HEALTH_WARN, details: {OSD_DOWN: {severity: HEALTH_WARN}}, versions: {osd: {v20: 2}}}`:           "ERROR OSDsMissing: short of OSDs: 2 of 3 run (HEALTH_WARN, OSD_DOWN)",
		ready + `, ceph: {health: HEALTH_ERR, details: {OSD_DOWN: {severity: HEALTH_WARN}, PG_DAMAGED: {severity: HEALTH_ERR}}}`:   "ERROR HealthError down: in HEALTH_ERR (PG_DAMAGED, OSD_DOWN)",
		`phase: Progressing, state: Creating, ceph: {health: HEALTH_ERR}`:                                                          "ERROR HealthError down: in HEALTH_ERR",
		`phase: Failure, state: Error, message: failed to create cluster`:                                                          "ERROR Failed: failed (failed to create cluster)",
	} {
		o := parse(t, "apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: c, namespace: rook-ceph}\n"+
			"spec: {storage: {nodes: [{name: a, devices: [{name: x}, {name: y, config: {osdsPerDevice: '2'}}]}]}}\nstatus: {"+status+"}\n")[0]
		if got := tell(stateOf(o)); got != want {
			t.Errorf("%s:\n%s\ninstead of\n%s", status, got, want)
		}
	}
}

// TestStates holds the same of the other kinds.
func TestStates(t *testing.T) {
	const pool, cdi, deployment = "ceph.rook.io/v1, kind: CephBlockPool", "cdi.kubevirt.io/v1beta1, kind: CDI", "apps/v1, kind: Deployment"
	const definition = "apiextensions.k8s.io/v1, kind: CustomResourceDefinition"
	for _, c := range []struct{ kind, status, want string }{
		{pool, ``, "PROGRESSING NotReady: without a status, so that Rook has not looked at it yet"},
		{pool, `phase: Progressing`, "PROGRESSING NotReady: not ready (Progressing)"},
		{pool, `phase: Ready`, "OK"},
		{pool, `phase: Failure, conditions: [{type: Ready, status: "False", message: no such class}]`, "ERROR Failed: failed (no such class)"},
		{"ceph.rook.io/v1, kind: CephObjectStore", `phase: ReconcileFailed, message: no realm`, "ERROR Failed: failed (no realm)"},
		{"ceph.rook.io/v1, kind: CephFilesystem", `phase: Ready`, "OK"},
		{"ceph.rook.io/v1, kind: CephFilesystemSubVolumeGroup", `phase: Creating`, "PROGRESSING NotReady: not ready (Creating)"},
		{cdi, ``, "PROGRESSING CDINotDeployed: not deployed"},
		{cdi, `phase: Deploying`, "PROGRESSING CDINotDeployed: not deployed (Deploying)"},
		{cdi, `phase: Deployed`, "OK"},
		{cdi, `phase: Error`, "ERROR CDIFailed: failed"},
		{cdi, `phase: Deployed, conditions: [{type: Degraded, status: "True", reason: DeployFailed}]`, "ERROR CDIFailed: failed (DeployFailed)"},
		{deployment, ``, "PROGRESSING NotAvailable: not available"},
		{deployment, `conditions: [{type: Available, status: "False", reason: MinimumReplicasUnavailable}]`, "PROGRESSING NotAvailable: not available (MinimumReplicasUnavailable)"},
		{deployment, `conditions: [{type: Available, status: "True"}]`, "OK"},
		{definition, ``, "PROGRESSING DefinitionsMissing: not established"},
		{definition, `conditions: [{type: Established, status: "True"}]`, "OK"},
		{"storage.k8s.io/v1, kind: StorageClass", ``, "OK"},
	} {
		o := parse(t, "{apiVersion: "+c.kind+", metadata: {name: c, namespace: n}, status: {"+c.status+"}}\n")[0]
		if got := tell(stateOf(o)); got != c.want {
			t.Errorf("%s, %s:\n%s\ninstead of\n%s", c.kind, c.status, got, c.want)
		}
		o = parse(t, "{apiVersion: "+c.kind+", metadata: {name: c, namespace: n, deletionTimestamp: 2026-05-01T12:00:00Z}, status: {"+c.status+"}}\n")[0]
		if got, want := tell(stateOf(o)), "ERROR Terminating down: being deleted, and not by Poolwright"; got != want {
			t.Errorf("%s, deleted:\n%s\ninstead of\n%s", c.kind, got, want)
		}
	}
	if got, want := tell(stateOf((*krm.Object)(nil))), "PROGRESSING NotApplied: not there yet"; got != want {
		t.Errorf("absent:\n%s\ninstead of\n%s", got, want)
	}
}

// tell puts a state into one line.
func tell(s state) string {
	text := string(s.phase)
	if s.reason == "" {
		return text
	}
	text += " " + s.reason
	if s.outage {
		text += " down"
	}
	text += ": " + s.what
	if s.note != "" {
		text += fmt.Sprintf(" (%s)", s.note)
	}
	return text
}
