package cstor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const plannedPools = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata:
  name: prod
  namespace: openebs
  labels: {app.kubernetes.io/managed-by: poolwright}
  annotations:
    poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod
    argocd.argoproj.io/sync-options: Prune=confirm,Delete=confirm
    kustomize.toolkit.fluxcd.io/prune: disabled
    client.lifecycle.config.k8s.io/deletion: detach
    argocd.argoproj.io/sync-wave: "1"
spec: {pools: []}
`

// The rules that all systems share: what the engines are told, labels, and that
// nothing is safe that no rule knows.
func TestAssess(t *testing.T) {
	for _, c := range []struct {
		name, old, new string // of the edit
		risk           change.Risk
		want           string
	}{
		{"Argo CD may prune", "Prune=confirm,Delete=confirm", "Delete=confirm", change.Destructive, "deleting it from Git makes Argo CD delete it"},
		{"Argo CD may delete", "Prune=confirm,Delete=confirm", "Prune=confirm, Delete=true", change.Destructive, "deleting its Application makes Argo CD delete it"},
		{"Argo CD never does", "Prune=confirm,Delete=confirm", "Delete=false,Prune=false", change.Safe, "takes no protection away"},
		{"Argo CD has other options", "Prune=confirm,Delete=confirm", "Prune=confirm,Delete=confirm,ServerSideApply=true", change.Safe, "takes no protection away"},
		{"Flux may prune", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", "", change.Destructive, "makes Flux delete it"},
		{"Flux spells it otherwise", "prune: disabled", "prune: Disabled", change.Safe, "Flux keeps it"},
		{"kpt may delete", "deletion: detach", "deletion: other", change.Destructive, "makes kpt delete it"},
		{"the order", `"1"`, `"2"`, change.Safe, "in which order"},
		{"Argo CD has an option that is new", "Prune=confirm,Delete=confirm", "Prune=confirm,Delete=confirm,Unheard=true", change.Disruptive, "no rule knows the sync option Unheard"},
		{"Argo CD replaces", "Prune=confirm,Delete=confirm", "Prune=confirm,Delete=confirm,Replace=true", change.Destructive, "Replace=true: Argo CD may delete and recreate it"},
		{"Argo CD forces", "Prune=confirm,Delete=confirm", "Force=true, Prune=confirm,Delete=confirm", change.Destructive, "Force=true: Argo CD may delete and recreate it"},
		{"Argo CD has it as a hook", "annotations:\n", "annotations:\n    argocd.argoproj.io/hook: Sync\n", change.Destructive, "Argo CD deletes and recreates a hook"},
		{"Argo CD has it as Helm's hook", "annotations:\n", "annotations:\n    helm.sh/hook: post-install\n", change.Destructive, "Argo CD deletes and recreates a hook"},
		{"Flux forces", "annotations:\n", "annotations:\n    kustomize.toolkit.fluxcd.io/force: Enabled\n", change.Destructive, "Flux deletes and recreates it"},
		{"Flux does not force", "annotations:\n", "annotations:\n    kustomize.toolkit.fluxcd.io/force: disabled\n", change.Safe, "Flux does not delete it"},
		{"Flux leaves it alone", "annotations:\n", "annotations:\n    kustomize.toolkit.fluxcd.io/reconcile: disabled\n", change.Disruptive, "no rule knows the field metadata.annotations[kustomize.toolkit.fluxcd.io/reconcile]"},
		{"kpt owns it for another", "annotations:\n", "annotations:\n    config.k8s.io/owning-inventory: x\n", change.Disruptive, "no rule knows"},
		{"the operator leaves it alone", "annotations:\n", "annotations:\n    reconcile.openebs.io/disable: \"true\"\n", change.Disruptive, "no rule knows"},
		{"a label of the operator", "labels: {", "labels: {openebs.io/version: \"4\", ", change.Disruptive, "no rule knows the field metadata.labels[openebs.io/version]"},
		{"an annotation of our own", "annotations:\n", "annotations:\n    poolwright.io/other: x\n", change.Disruptive, "no rule knows"},
		{"of a name that only looks so", "annotations:\n", "annotations:\n    notopenebs.io/disable: x\n    openebs.io: x\n", change.Safe, "labels and annotations of other tools"},
		{"where a tool found it", "annotations:\n", "annotations:\n    config.kubernetes.io/path: x\n    internal.config.kubernetes.io/index: \"0\"\n", change.Safe, "where a tool found it"},
		{"not applied any more", "annotations:\n", "annotations:\n    config.kubernetes.io/local-config: \"true\"\n", change.Destructive, "the same as deleted from Git"},
		{"a label", "labels: {", "labels: {a: b, ", change.Safe, "labels and annotations of other tools"},
		{"the owner", "openebs/prod\n", "openebs/prod2\n", change.Disruptive, "adopts it from dao.mayadata.io/CStorClusterConfig/openebs/prod, which may apply it again, or delete it"},
		{"what the system knows", "spec: {", "spec: {priorityClassName: a, ", change.Disruptive, "the pod of each pool"},
		{"an unknown field", "spec: {", "spec: {a: {b: 1}, ", change.Disruptive, "unknown field \"a\"; known here: pools,"},
		{"another version", "cstor.openebs.io/v1\n", "cstor.openebs.io/v2\n", change.Disruptive, "no rule knows the field apiVersion"},
		{"a finalizer", "metadata:\n", "metadata:\n  finalizers: [x]\n", change.Disruptive, "no rule knows the field metadata.finalizers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := strings.Replace(plannedPools, c.old, c.new, 1)
			there, back := assessed(t, plannedPools, edited), assessed(t, edited, plannedPools)
			if there.Risk != c.risk || !strings.Contains(texts(there), c.want) {
				t.Errorf("%s: %s", there.Risk, texts(there))
			}
			if strings.Contains(texts(there), "no rule") != strings.Contains(c.want, "no rule") {
				t.Errorf("there is a rule for it: %s", texts(there))
			}
			// What takes protection away gives it, the other way round.
			if back.Risk != change.Safe && c.risk != change.Disruptive {
				t.Errorf("back: %s: %s", back.Risk, texts(back))
			}
		})
	}
}

// An object of a kind that no rule knows is never safe, not even where the engines
// keep it.
func TestAssessUnknownKind(t *testing.T) {
	unknown := strings.Replace(plannedPools, "kind: CStorPoolCluster", "kind: CStorSomething", 1)
	stranger := strings.Replace(plannedPools, "CStorClusterConfig", "Something", 1)
	for _, c := range [][2]string{{"", unknown}, {unknown, ""}, {stranger, ""}, {"", stranger}} {
		if got := assessed(t, c[0], c[1]); got.Risk != change.Disruptive || !strings.Contains(texts(got), "no rule knows the kind CStor") {
			t.Errorf("%s: %s", got.Risk, texts(got))
		}
	}
	gone := assessed(t, plannedPools, "")
	if gone.Risk != change.Destructive || !strings.Contains(texts(gone), "it carries the protection of Argo CD, Flux, kpt: it stays in the cluster until that is lifted") {
		t.Errorf("%s: %s", gone.Risk, texts(gone))
	}
	gone = assessed(t, strings.Replace(plannedPools, "metadata:\n", "metadata:\n  deletionTimestamp: 2026-01-01T00:00:00Z\n", 1), "")
	if gone.Risk != change.Destructive || strings.Contains(texts(gone), "protection") {
		t.Errorf("protection stops no deletion that has begun: %s", texts(gone))
	}
	gone = assessed(t, plannedPools[:strings.Index(plannedPools, "    argocd")]+"spec: {}\n", "")
	if gone.Risk != change.Destructive || strings.Contains(texts(gone), "protection") {
		t.Errorf("%s: %s", gone.Risk, texts(gone))
	}
}

func assessed(t *testing.T, old, new string) *change.Change {
	t.Helper()
	changes := change.Between(manifests(t, old), manifests(t, new))
	if changes = poolwright().Assess(fn.Package{}, inventory.New(nil), changes); len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	return changes[0]
}

func texts(c *change.Change) string {
	var all []string
	for _, r := range c.Reasons {
		all = append(all, r.Text)
	}
	return strings.Join(all, "; ")
}

func manifests(t *testing.T, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// differences reads the pool cluster as rendered and as its operator leaves it, both
// without an owner.
func differences(t *testing.T) (rendered, live string) {
	t.Helper()
	var texts [2]string
	for i, name := range []string{"rendered", "live"} {
		data, err := os.ReadFile("../../testdata/differences/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(data)
	}
	return texts[0], texts[1]
}

// owned makes a manifest ours.
func owned(text string) string {
	const marks = "  namespace: openebs\n  labels: {app.kubernetes.io/managed-by: poolwright}\n  annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}\n"
	return strings.Replace(text, "  namespace: openebs\n", marks, 1)
}

// What the operator fills in is no change: neither when the cluster applies what
// was rendered over it, nor when it is taken over.
func TestAssessFilledIn(t *testing.T) {
	rendered, text := differences(t)
	live, applied := manifests(t, owned(text))[0], manifests(t, owned(text))[0]
	applied.Node.Get("spec").Set("pools", *manifests(t, rendered)[0].Node.Get("spec", "pools"))
	changes := change.Between([]*krm.Object{live}, []*krm.Object{applied})
	if changes = poolwright().Assess(fn.Package{}, inventory.New(nil), changes); len(changes) > 0 {
		t.Errorf("%s %s", texts(changes[0]), changes[0].Fields[0].Path)
	}
	// The other way round it is nobody's doing.
	rendered = owned(rendered)
	ours := strings.Replace(rendered, "blockDeviceName: blockdevice-4", "{blockDeviceName: blockdevice-4, capacity: 5}", 1)
	if got := assessed(t, rendered, ours); got.Risk != change.Disruptive || !strings.Contains(texts(got), "no rule knows the field spec.pools[].dataRaidGroups[].blockDevices[].capacity") {
		t.Errorf("%s: %s", got.Risk, texts(got))
	}
}

// What is changed and is being deleted goes all the same.
func TestAssessDying(t *testing.T) {
	dying := strings.Replace(plannedPools, "metadata:\n", "metadata:\n  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n", 1)
	grown := strings.Replace(plannedPools, "labels: {", "labels: {a: b, ", 1)
	changes := poolwright().Assess(fn.Package{}, inventory.New(manifests(t, dying)), change.Between(manifests(t, plannedPools), manifests(t, grown)))
	if got := changes[0]; got.Risk != change.Destructive || !strings.Contains(texts(got), "the live CStorPoolCluster openebs/prod is being deleted") || !strings.Contains(texts(got), "labels and annotations of other tools") {
		t.Errorf("%s: %s", got.Risk, texts(got))
	}
}

// What would be created and lives already is no new object.
func TestAssessTakenOver(t *testing.T) {
	rendered, live := differences(t)
	rendered = owned(rendered)
	const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: a, namespace: openebs, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}}
spec: {storageClassName: fast, volumeMode: Block, resources: {requests: {storage: 10Gi}}}
`
	const attachment = `apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: a, labels: {app.kubernetes.io/managed-by: poolwright}, annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod}}
spec: {attacher: csi.example.com, nodeName: n1}
`
	strange := func(text, old, new string) string {
		text = strings.Replace(text, "managed-by: poolwright", "x: y", 1)
		return strings.Replace(text, old, new, 1)
	}
	for _, c := range []struct {
		name, object, live string
		risk               change.Risk
		want, field        string
	}{
		{"as it is", rendered, live, change.Safe, "adopts the live CStorPoolCluster openebs/prod, which has no owner", ""},
		{"a setting", strings.Replace(rendered, "poolConfig:\n", "poolConfig:\n      roThresholdLimit: 20\n", 1), live, change.Disruptive, "fuller than 20 % becomes read-only", "spec.pools[kubernetes.io/hostname=stor-a1].poolConfig.roThresholdLimit"},
		{"a disk", strings.Replace(rendered, "blockdevice-2", "blockdevice-9", 1), live, change.Destructive, "blockdevice-2", "spec.pools[kubernetes.io/hostname=stor-a1].dataRaidGroups[0].blockDevices[blockDeviceName=blockdevice-2]"},
		{"what we leave to others", rendered, strings.Replace(live, "tolerations: null", "tolerations: [{key: a}]", 1), change.Safe, "adopts", ""},
		{"an unknown field", strings.Replace(rendered, "spec:\n", "spec:\n  brandNew: 1\n", 1), live, change.Disruptive, "the strict decoding of the cStor webhook refuses an object that has it", "spec.brandNew"},
		{"our own", strings.Replace(rendered, "mirror", "raidz", 1), rendered, change.Destructive, "exists already", "spec.pools[kubernetes.io/hostname=stor-a1].poolConfig.dataRaidGroupType"},
		{"another's", rendered, strings.Replace(rendered, "/openebs/prod", "/other/prod", 1), change.Disruptive, "adopts the live CStorPoolCluster openebs/prod from dao.mayadata.io/CStorClusterConfig/other/prod, which may apply it again", ""},
		{"a claim", claim, strange(claim, "resources", "volumeName: pv-1, resources"), change.Safe, "adopts the live PersistentVolumeClaim openebs/a", ""},
		{"a claim of another class", claim, strange(claim, "fast", "slow"), change.Disruptive, "a claim cannot change spec.storageClassName", "spec.storageClassName"},
		{"a claim of less", claim, strange(claim, "10Gi", "20Gi"), change.Disruptive, "a volume cannot shrink", "spec.resources.requests.storage"},
		{"a claim that goes", claim, strange(strings.Replace(claim, "resources", "volumeName: pv-1, resources", 1), "name: a", "deletionTimestamp: \"2026-01-01T00:00:00Z\", name: a"), change.Destructive, "the live PersistentVolumeClaim openebs/a is being deleted, which applying does not stop: the volume and what is on it goes with its claim", ""},
		{"our own that goes", rendered, strings.Replace(rendered, "  name:", "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n  name:", 1), change.Destructive, "is being deleted, which applying does not stop: every pool goes", ""},
		{"an attachment that goes", attachment, strange(attachment, "name: a", "deletionTimestamp: \"2026-01-01T00:00:00Z\", name: a"), change.Disruptive, "is being deleted, which applying does not stop: detaches a live disk", ""},
		{"an attachment", attachment, strange(attachment, "x", "x"), change.Safe, "adopts the live VolumeAttachment a", ""},
		{"an attachment to another node", attachment, strange(attachment, "n1", "n2"), change.Disruptive, "an attachment cannot change spec.nodeName", "spec.nodeName"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changes := poolwright().Assess(fn.Package{}, inventory.New(manifests(t, c.live)), change.Between(nil, manifests(t, c.object)))
			if len(changes) != 1 || changes[0].Action != change.Create {
				t.Fatalf("%+v", changes)
			}
			got := changes[0]
			if got.Risk != c.risk || !strings.Contains(texts(got), c.want) || strings.Contains(texts(got), "free") {
				t.Errorf("%s: %s", got.Risk, texts(got))
			}
			if c.field == "" && len(got.Fields) > 0 || c.field != "" && got.Fields[0].Path != c.field {
				t.Errorf("%+v", got.Fields)
			}
		})
	}
}

// A plan asks the ledger that a render asks: what the lock of another spec and what a
// person's manifest hold is not free, whatever the facts tell.
func TestAssessHeld(t *testing.T) {
	pools := func(name, owner string) string {
		return strings.NewReplacer("name: prod", "name: "+name, "openebs/prod", "openebs/"+owner, "spec: {pools: []}",
			"spec:\n  pools:\n  - nodeSelector: {kubernetes.io/hostname: n1}\n    dataRaidGroups:\n    - blockDevices: [{blockDeviceName: b1}]\n    poolConfig: {dataRaidGroupType: stripe}").Replace(plannedPools)
	}
	const device = "apiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata:\n  name: b1\n  namespace: openebs\n  labels: {kubernetes.io/hostname: n1}\n" +
		"spec: {path: /dev/sdb, capacity: {storage: 4000000000000}, details: {deviceType: disk}}\nstatus: {claimState: Unclaimed, state: Active}\n"
	byHand := strings.Replace(pools("hand", "hand"), "    poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/hand\n", "", 1)
	for _, c := range []struct {
		name string
		pkg  fn.Package
		risk change.Risk
		want string
	}{
		{"nobody holds it", fn.Package{}, change.Safe, "1 free block device"},
		{"its own lock does", fn.Package{Output: manifests(t, pools("prod", "prod"))}, change.Safe, "1 free block device"},
		{"the lock of another does", fn.Package{Output: manifests(t, pools("other", "other"))}, change.Destructive, "b1 is taken by CStorClusterConfig openebs/other"},
		{"a manifest does", fn.Package{Objects: manifests(t, byHand)}, change.Destructive, "b1 is taken by CStorPoolCluster openebs/hand"},
		{"a DiskPool by hand does", fn.Package{Objects: manifests(t, "apiVersion: openebs.io/v1beta2\nkind: DiskPool\nmetadata: {name: p, namespace: mayastor}\nspec: {node: n1, disks: [/dev/sdb]}\n")}, change.Destructive, "b1 is taken by DiskPool mayastor/p"},
	} {
		changes := poolwright().Assess(c.pkg, inventory.New(manifests(t, device)), change.Between(nil, manifests(t, pools("prod", "prod"))))
		if len(changes) != 1 || changes[0].Risk != c.risk || !strings.Contains(texts(changes[0]), c.want) {
			t.Errorf("%s: %s %s", c.name, changes[0].Risk, texts(changes[0]))
		}
	}
}
