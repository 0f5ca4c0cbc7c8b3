package dryrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/dryrun"
	definitions "github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/controlplane"
	"github.com/poolwright/poolwright/test/expected"
	"github.com/poolwright/poolwright/test/tool"
)

var (
	plane *controlplane.ControlPlane // one for the whole test binary, see TestMain
	admin *cluster.Cluster
)

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, "../../bin", func(c *controlplane.ControlPlane) (err error) {
		plane = c
		admin, err = cluster.Connect(cluster.Options{Kubeconfig: plane.Kubeconfig})
		return err
	}))
}

// needDefinitions installs the upstream definitions, or leaves the test out.
func needDefinitions(t *testing.T) {
	t.Helper()
	for _, o := range read(t, tool.Upstream(t, "openebs-cstor.yaml")[0]) {
		if o.Kind == "CustomResourceDefinition" {
			apply(t, "test", o)
		}
	}
	settled(t, plane.AwaitServed)
}

// settled waits until the API server acts on what it was given.
func settled(t *testing.T, await func(context.Context) error) {
	t.Helper()
	if err := await(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []*krm.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, string(data))
}

func parse(t *testing.T, name, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: name, Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// example is what an example renders to, in a namespace of the test's own.
func example(t *testing.T, name, namespace string) []*krm.Object {
	t.Helper()
	files, err := filepath.Glob("../../examples/" + name + "/rendered/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var objects []*krm.Object
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("namespace: openebs", "namespace: "+namespace, "/openebs/", "/"+namespace+"/", "name: openebs-", "name: "+namespace+"-").Replace(string(data))
		objects = append(objects, parse(t, file, text)...)
	}
	return objects
}

// apply applies objects server-side in the name of a manager, as an engine does.
func apply(t *testing.T, manager string, objects ...*krm.Object) {
	t.Helper()
	for _, o := range objects {
		if o.Annotation(krm.AnnotationLocalConfig) == "true" {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
		client := admin.Dynamic().Resource(plural).Namespace(o.Namespace)
		force := true
		if _, err := client.Patch(t.Context(), o.Name, types.ApplyPatchType, document.AppendJSON(nil, o.Node), metav1.PatchOptions{FieldManager: manager, Force: &force}); err != nil {
			t.Fatalf("%s: %v", o.Ref, err)
		}
	}
}

func namespace(t *testing.T, name string) string {
	t.Helper()
	apply(t, "test", parse(t, "namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")...)
	return name
}

func try(t *testing.T, objects []*krm.Object, o dryrun.Options) ([]*change.Change, []finding.Finding) {
	t.Helper()
	result, err := dryrun.Run(t.Context(), admin, objects, o)
	if err != nil {
		t.Fatal(err)
	}
	return change.Between(result.Old, result.New), result.Findings
}

// told writes what was found, one line each.
func told(changes []*change.Change, findings []finding.Finding) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n", c.Action, c.Ref)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "  %s %s\n", f.Action, f.Path)
		}
	}
	for _, f := range findings {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func expect(t *testing.T, want string, changes []*change.Change, findings []finding.Finding) {
	t.Helper()
	if got := told(changes, findings); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// edited is a copy of the objects, with the text of one of them changed.
func edited(t *testing.T, objects []*krm.Object, kind, old, new string) []*krm.Object {
	t.Helper()
	out := slices.Clone(objects)
	for i, o := range out {
		if text := string(document.Append(nil, o.Node, 0)); o.Kind == kind && strings.Contains(text, old) {
			out[i] = parse(t, "edited", strings.ReplaceAll(text, old, new))[0]
			return out
		}
	}
	t.Fatalf("no %s has %q", kind, old)
	return nil
}

// What was applied is unchanged; what is edited shows that and nothing more.
func TestChanges(t *testing.T) {
	needDefinitions(t)
	local, cloud := example(t, "cstor-local", namespace(t, "changes")), example(t, "cstor-cloud", namespace(t, "changes-cloud"))
	both := slices.Concat(local, cloud)
	changes, findings := try(t, both, dryrun.Options{})
	if len(findings) > 0 || len(changes) != 14 || slices.ContainsFunc(changes, func(c *change.Change) bool { return c.Action != change.Create }) {
		t.Errorf("before they are there:\n%s", told(changes, findings))
	}
	apply(t, "some-engine", both...)
	changes, findings = try(t, both, dryrun.Options{})
	expect(t, "", changes, findings)

	// A setting that is changed, and one that is gone: the engine that applied it
	// takes it out.
	now := edited(t, both, "CStorPoolCluster", "compression: lz4", "compression: gzip")
	now = edited(t, now, "CStorPoolCluster", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", "")
	changes, findings = try(t, now, dryrun.Options{})
	expect(t, `change CStorPoolCluster changes/prod
  remove metadata.annotations[kustomize.toolkit.fluxcd.io/prune]
  change spec.pools[kubernetes.io/hostname=stor-a1].poolConfig.compression
  change spec.pools[kubernetes.io/hostname=stor-b2].poolConfig.compression
  change spec.pools[kubernetes.io/hostname=stor-c1].poolConfig.compression
`, changes, findings)

	// In another name nothing goes: that manager never had it.
	changes, findings = try(t, edited(t, both, "CStorPoolCluster", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", ""), dryrun.Options{Manager: "somebody-else"})
	expect(t, "", changes, findings)
}

// What others add to an object is theirs, what the engine adds is no change, and
// what was edited by hand is put right.
func TestOthers(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "others"))
	marked := edited(t, objects, "CStorPoolCluster", "  annotations:\n", "  annotations:\n    argocd.argoproj.io/tracking-id: app:x\n")
	apply(t, "argocd-controller", marked...)
	apply(t, "somebody", parse(t, "label", "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: others, labels: {team: a}}\nspec: {priorityClassName: high}\n")...)
	changes, findings := try(t, objects, dryrun.Options{})
	expect(t, "", changes, findings)

	client := admin.Dynamic().Resource(schema.GroupVersionResource{Group: "cstor.openebs.io", Version: "v1", Resource: "cstorpoolclusters"}).Namespace("others")
	if _, err := client.Patch(t.Context(), "prod", types.MergePatchType, []byte(`{"metadata":{"annotations":{"client.lifecycle.config.k8s.io/deletion":"other"}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	changes, findings = try(t, objects, dryrun.Options{})
	expect(t, "change CStorPoolCluster others/prod\n  change metadata.annotations[client.lifecycle.config.k8s.io/deletion]\n", changes, findings)
}

// applyClientSide creates the pool cluster as a client-side apply does.
func applyClientSide(t *testing.T, manager string, objects []*krm.Object) {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *krm.Object) bool { return o.Kind == "CStorPoolCluster" })
	body := document.AppendJSON(nil, objects[i].Node)
	live := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &live.Object); err != nil {
		t.Fatal(err)
	}
	annotations := live.GetAnnotations()
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = string(body)
	live.SetAnnotations(annotations)
	client := admin.Dynamic().Resource(schema.GroupVersionResource{Group: "cstor.openebs.io", Version: "v1", Resource: "cstorpoolclusters"}).Namespace(objects[i].Namespace)
	if _, err := client.Create(t.Context(), live, metav1.CreateOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

// Where an engine applies as kubectl did before server-side apply, what is gone
// from Git is known by what it applied last.
func TestClientSideApply(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "client-side"))
	applyClientSide(t, "kubectl-client-side-apply", objects)
	apply(t, "somebody", parse(t, "label", "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: client-side, labels: {team: a}}\n")...)
	changes, findings := try(t, objects, dryrun.Options{})
	expect(t, "", changes, findings)
	changes, findings = try(t, edited(t, objects, "CStorPoolCluster", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", ""), dryrun.Options{})
	expect(t, "change CStorPoolCluster client-side/prod\n  remove metadata.annotations[kustomize.toolkit.fluxcd.io/prune]\n", changes, findings)
}

// Argo CD applies like that, too, in its own name. Naming it changes nothing; in
// another name nothing goes.
func TestClientSideManager(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "client-manager"))
	applyClientSide(t, "argocd-controller", objects)
	now := edited(t, objects, "CStorPoolCluster", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", "")
	for manager, want := range map[string]string{
		"":                  "change CStorPoolCluster client-manager/prod\n  remove metadata.annotations[kustomize.toolkit.fluxcd.io/prune]\n",
		"argocd-controller": "change CStorPoolCluster client-manager/prod\n  remove metadata.annotations[kustomize.toolkit.fluxcd.io/prune]\n",
		"somebody-else":     "",
	} {
		changes, findings := try(t, now, dryrun.Options{Manager: manager})
		expect(t, want, changes, findings)
	}
}

// What is in the cluster and is no longer rendered is removed, if it is of these specs.
func TestRemovals(t *testing.T) {
	objects := example(t, "cstor-cloud/commits/1-nothing-bound", namespace(t, "removals"))
	other := parse(t, "other", `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: another
  namespace: removals
  labels: {app.kubernetes.io/managed-by: poolwright}
  annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/removals/another}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
	apply(t, "some-engine", slices.Concat(objects, other)...)
	fewer := slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool {
		return o.Kind == "PersistentVolumeClaim" && strings.HasSuffix(o.Name, "-0")
	})
	changes, findings := try(t, fewer, dryrun.Options{})
	expect(t, `remove PersistentVolumeClaim removals/prod-gke-prod-storage-a-1f3c-0
remove PersistentVolumeClaim removals/prod-gke-prod-storage-b-c2a9-0
remove PersistentVolumeClaim removals/prod-gke-prod-storage-c-07de-0
`, changes, findings)

	// Nothing is rendered at all: what to look for is reported.
	kinds := []krm.GroupKind{{Kind: "PersistentVolumeClaim"}, {Group: "storage.k8s.io", Kind: "VolumeAttachment"}, {Group: "example.com", Kind: "NotServed"}}
	changes, findings = try(t, nil, dryrun.Options{Kinds: kinds, Owners: []string{objects[0].Owner()}})
	if len(findings) > 0 || len(changes) != 6 {
		t.Errorf("everything goes:\n%s", told(changes, findings))
	}

	// What is of specs that nobody named may be another package's.
	apply(t, "some-engine", parse(t, "attachment", `apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata:
  name: removals-another
  labels: {app.kubernetes.io/managed-by: poolwright}
  annotations: {poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/removals/another}
spec: {attacher: x, nodeName: x, source: {persistentVolumeName: x}}
`)...)
	result, err := dryrun.Run(t.Context(), admin, fewer, dryrun.Options{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range result.Others {
		if strings.Contains(o.Owner(), "/removals/") {
			names = append(names, o.Ref.String())
		}
	}
	slices.Sort(names)
	if want := []string{"PersistentVolumeClaim removals/another", "VolumeAttachment removals-another"}; !slices.Equal(names, want) {
		t.Errorf("others: %q", names)
	}
}

// What would do something even in a dry run is not asked for, and compared here.
// This cluster refuses every change, so that being asked shows.
func TestEffect(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "effect"))
	apply(t, "some-engine", edited(t, objects, "CStorPoolCluster", "  annotations:\n", "  annotations:\n    config.k8s.io/owning-inventory: x\n")...)
	apply(t, "somebody", parse(t, "label", "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: effect, labels: {team: a}}\nspec: {priorityClassName: high}\n")...)
	apply(t, "test", parse(t, "policy", `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: frozen}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [cstor.openebs.io], apiVersions: [v1], operations: [UPDATE], resources: [cstorpoolclusters]}]}
  validations: [{expression: "object.metadata.namespace != 'effect'", message: it was asked, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: frozen}
spec: {policyName: frozen, validationActions: [Deny]}
`)...)
	options := dryrun.Options{Effect: fn.New(definitions.Load(), systems.All()...).DryRunEffect}
	setting := edited(t, objects, "CStorPoolCluster", "compression: lz4", "compression: gzip")
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		changes, findings := try(t, setting, options)
		if len(findings) == 1 && len(changes) == 0 && strings.Contains(findings[0].Message, "it was asked") {
			break
		}
		if time.Since(start) > 5*time.Minute {
			t.Fatalf("the policy is not there:\n%s", told(changes, findings))
		}
	}
	const disk = "blockdevice-94f00118e3d1ffae0ead8857fae98ea3"
	now := edited(t, objects, "CStorPoolCluster", disk, "blockdevice-new")
	now = edited(t, now, "CStorPoolCluster", "    kustomize.toolkit.fluxcd.io/prune: disabled\n", "")
	const want expected.Text = `change CStorPoolCluster effect/prod
  remove metadata.annotations[kustomize.toolkit.fluxcd.io/prune]
  remove spec.pools[kubernetes.io/hostname=stor-c1].dataRaidGroups[0].blockDevices[blockDeviceName=blockdevice-94f00118e3d1ffae0ead8857fae98ea3]
  add spec.pools[kubernetes.io/hostname=stor-c1].dataRaidGroups[0].blockDevices[blockDeviceName=blockdevice-new]
edited:1:1: warning: CStorPoolCluster effect/prod: is compared here and not tried with the API server: the admission webhook of cStor claims blockdevice-new even then
`
	changes, findings := try(t, now, options)
	want.In(t, told(changes, findings))
	expect(t, string(want), changes, findings)
	if changes, findings = try(t, now, dryrun.Options{}); !strings.Contains(told(changes, findings), "it was asked") {
		t.Errorf("without Effect it is asked for:\n%s", told(changes, findings))
	}
}

// What somebody deletes is not kept by an apply: that is an error, although it is
// still there and as it is in Git.
func TestBeingDeleted(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "deleted"))
	apply(t, "some-engine", edited(t, objects, "CStorPoolCluster", "metadata:\n", "metadata:\n  finalizers: [example.com/wait]\n")...)
	client := admin.Dynamic().Resource(schema.GroupVersionResource{Group: "cstor.openebs.io", Version: "v1", Resource: "cstorpoolclusters"}).Namespace("deleted")
	if err := client.Delete(t.Context(), "prod", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	changes, findings := try(t, objects, dryrun.Options{})
	got := told(changes, findings)
	if len(changes) > 0 || len(findings) != 1 || findings[0].Severity != finding.Error || findings[0].Object.Name != "prod" {
		t.Errorf("got:\n%s", got)
	}
	since := regexp.MustCompile(`20[0-9TZ:-]+`).FindString(got)
	expected.Text("is being deleted since "+since+", and only its finalizers keep it (example.com/wait): no apply stops that, and what it holds goes with it; save that first, and plan again when it is gone\n").In(t, got)
	if _, err := client.Patch(t.Context(), "prod", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// What is the output of another spec is not taken over without a word.
func TestTakeOver(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-local", namespace(t, "taken"))
	apply(t, "some-engine", edited(t, objects, "CStorPoolCluster", "CStorClusterConfig/taken/prod", "CStorClusterConfig/other/prod")...)
	result, err := dryrun.Run(t.Context(), admin, objects, dryrun.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := fn.New(definitions.Load(), systems.All()...).Assess(fn.Package{}, inventory.New(nil), change.Between(result.Old, result.New))
	got := told(changes, result.Findings)
	if !strings.HasPrefix(got, "change CStorPoolCluster taken/prod\n  change metadata.annotations[poolwright.io/owner]\n") || len(result.Findings) != 1 ||
		!expected.Text("warning: CStorPoolCluster taken/prod: exists as output of dao.mayadata.io/CStorClusterConfig/other/prod: is that another package's? Two that apply one object undo each other, and one that prunes deletes it\n").In(t, got) {
		t.Errorf("got:\n%s", got)
	}
	if len(changes) == 1 && changes[0].Risk != change.Disruptive {
		t.Errorf("%s: %v", changes[0].Risk, changes[0].Reasons)
	}
}

// What the API server only warns of is passed on, each text once.
func TestWarnings(t *testing.T) {
	objects := example(t, "cstor-cloud/commits/1-nothing-bound", namespace(t, "warnings"))
	apply(t, "test", parse(t, "policy", `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: warns}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [persistentvolumeclaims]}]}
  validations: [{expression: "object.metadata.namespace != 'warnings'", message: think twice}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warns}
spec: {policyName: warns, validationActions: [Warn]}
`)...)
	const want expected.Text = "the API server warns: Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': think twice; the same holds for 5 more"
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		changes, findings := try(t, objects, dryrun.Options{})
		if len(findings) == 1 && len(changes) == 6 && findings[0].Severity == finding.Warning && strings.Contains(findings[0].Message, "think twice; the same holds for 5 more") { // the policy takes effect between two objects
			want.In(t, findings[0].Message)
			return
		}
		if time.Since(start) > 5*time.Minute {
			t.Fatalf("got:\n%s", told(changes, findings))
		}
	}
}

// What the cluster refuses is an error with the object, the field and the words
// of the API server.
func TestRefusals(t *testing.T) {
	needDefinitions(t)
	objects := example(t, "cstor-cloud", namespace(t, "refusals"))
	apply(t, "some-engine", objects...)
	now := edited(t, objects, "PersistentVolumeClaim", "volumeMode: Block", "volumeMode: Filesystem")
	now = edited(t, now, "VolumeAttachment", "attacher: pd.csi", "attacher: other.csi")
	now = edited(t, now, "CStorPoolCluster", "dataRaidGroupType: mirror", "dataRaidGroupTyp: mirror")
	changes, findings := try(t, now, dryrun.Options{})
	if len(changes) > 0 || len(findings) < 3 {
		t.Errorf("got:\n%s", told(changes, findings))
	}
	for _, want := range []expected.Text{
		"error: PersistentVolumeClaim refusals/prod-gke-prod-storage-a-1f3c-0: spec: the API server refuses it: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
		"error: VolumeAttachment refusals-prod-gke-prod-storage-a-1f3c-0: spec: the API server refuses it: Invalid value:",
		"error: CStorPoolCluster refusals/prod: spec.pools[2].poolConfig.dataRaidGroupTyp: the API server refuses it: field not declared in schema\n",
	} {
		want.In(t, told(nil, findings))
	}
	for _, f := range findings {
		if f.Severity != finding.Error || strings.Contains(f.Message, "\n") {
			t.Errorf("%q", f.Message)
		}
	}
}

// A policy of the cluster refuses, too: that is no missing permission.
func TestAdmission(t *testing.T) {
	objects := example(t, "cstor-cloud/commits/1-nothing-bound", namespace(t, "admission"))
	apply(t, "test", parse(t, "policy", `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [persistentvolumeclaims]}]}
  validations: [{expression: "object.metadata.namespace != 'admission'", message: no claims here, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small}
spec: {policyName: small, validationActions: [Deny]}
`)...)
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		changes, findings := try(t, objects, dryrun.Options{})
		if len(findings) == 6 && len(changes) == 0 && strings.Contains(findings[0].Message, "no claims here") {
			return
		}
		if time.Since(start) > 5*time.Minute {
			t.Fatalf("got:\n%s", told(changes, findings))
		}
	}
}

// What cannot be asked yet is a note: the definition or the namespace comes with
// the rest.
func TestNotThereYet(t *testing.T) {
	objects := example(t, "cstor-cloud/commits/1-nothing-bound", "nowhere")
	objects = append(objects, parse(t, "x", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x, annotations: {poolwright.io/owner: x}}\n")...)
	objects = append(objects, parse(t, "x", "apiVersion: storage.k8s.io/v1alpha9\nkind: VolumeAttachment\nmetadata: {name: x, annotations: {poolwright.io/owner: x}}\n")...)
	changes, findings := try(t, objects, dryrun.Options{})
	if len(changes) != 8 {
		t.Error(told(changes, nil))
	}
	for _, want := range []expected.Text{
		"info: PersistentVolumeClaim nowhere/prod-gke-prod-storage-a-1f3c-0: would be created, unchecked: Namespace nowhere is not in the cluster yet; the same holds for 5 more\n",
		"info: Thing x: would be created, unchecked: the definition of Thing (example.com/v1) is not in the cluster yet\n",
		"info: VolumeAttachment x: would be created, unchecked: version storage.k8s.io/v1alpha9 of VolumeAttachment is not in the cluster yet\n",
	} {
		want.In(t, told(nil, findings))
	}
}

// A user who may not sees what is missing; a server that is down is named.
func TestFailures(t *testing.T) {
	objects := example(t, "cstor-cloud/commits/1-nothing-bound", namespace(t, "failures"))
	apply(t, "test", parse(t, "role", `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`)...)
	settled(t, plane.AwaitAllowed)
	for user, want := range map[string]string{
		"nobody": "; and for its role poolwright-plan: a dry run needs it",
		"reader": "cannot patch resource \"persistentvolumeclaims\" in API group \"\" in the namespace \"failures\"; a dry run needs the permission to get, list, patch and create persistentvolumeclaims, although it stores none: ask for the role poolwright-plan of deploy/rbac",
	} {
		c, err := cluster.Connect(cluster.Options{Kubeconfig: as(t, plane.Kubeconfig, user)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dryrun.Run(t.Context(), c, objects, dryrun.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", user, err)
		}
	}
	down := filepath.Join(t.TempDir(), "down")
	data, err := os.ReadFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(down, []byte(strings.ReplaceAll(string(data), plane.URL, "https://127.0.0.1:1")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Connect(cluster.Options{Kubeconfig: down})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dryrun.Run(t.Context(), c, objects, dryrun.Options{}); err == nil || !strings.Contains(err.Error(), "no API server answers at https://127.0.0.1:1") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := dryrun.Run(ctx, admin, objects, dryrun.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := admin.Get(t.Context(), cluster.Resource{Version: "v1", Plural: "persistentvolumeclaims", Namespaced: true}, "failures", "none"); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// as is the kubeconfig of the administrator who speaks as another user.
func as(t *testing.T, kubeconfig, user string) string {
	t.Helper()
	data, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), user)
	text := strings.Replace(string(data), "client-certificate:", "as: "+user+", client-certificate:", 1)
	if text == string(data) {
		t.Fatalf("no user in %s", data)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
