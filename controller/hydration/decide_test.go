package hydration

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
)

// example is an example as it stands, with a committed inventory of cluster one, and its facts.
func example(t *testing.T) (*fn.Function, Package, Facts) {
	t.Helper()
	p, f := packageOf(t, "../../examples/cstor-local", true)
	p = p.With(f.changes())
	return fn.New(schema.Load(), systems.All()...), p, f
}

// TestAnotherCluster: facts of another cluster are no facts, until the file that names it is removed.
func TestAnotherCluster(t *testing.T) {
	function, p, f := example(t)
	for _, uid := range []string{"two", ""} {
		f.Cluster = uid
		if _, err := judge(function, p, f); ReasonOf(err) != ReasonClusterChanged {
			t.Errorf("the cluster is %q: %v", uid, err)
		}
	}
	f.Cluster = "two"
	p.Files["inventory/cluster.yaml"] = []byte("<<<<<<< ours\n")
	if _, err := judge(function, p, f); ReasonOf(err) != ReasonInvalid {
		t.Errorf("a file with conflicts: %v", err)
	}
	delete(p.Files, "inventory/cluster.yaml")
	if _, err := judge(function, p, f); err != nil {
		t.Errorf("without the file: %v", err)
	}
}

// TestOlderFacts: an object that went back in time makes no facts; one that was made again does.
func TestOlderFacts(t *testing.T) {
	pool := func(uid, generation string) []byte {
		return []byte("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: cstorpoolclusters\n  labels: {app.kubernetes.io/managed-by: poolwright}\nitems:\n" +
			"- apiVersion: cstor.openebs.io/v1\n  kind: CStorPoolCluster\n  metadata:\n    name: other\n    namespace: openebs\n    uid: " + uid + "\n    generation: " + generation + "\n  spec: {pools: []}\n")
	}
	function, p, f := example(t)
	p.Files["inventory/cstorpoolclusters.yaml"] = pool("a", "4")
	for _, c := range []struct {
		uid, generation string
		want            Reason
	}{{"a", "3", ReasonFactsStale}, {"a", "4", ""}, {"a", "5", ""}, {"b", "1", ""}} {
		f.Files["cstorpoolclusters.yaml"] = pool(c.uid, c.generation)
		if _, err := judge(function, p, f); ReasonOf(err) != c.want {
			t.Errorf("uid %s, generation %s: %v", c.uid, c.generation, err)
		}
	}
}

// TestFactsAlone: facts without another output are published when those before are old enough.
func TestFactsAlone(t *testing.T) {
	function, p, f := example(t)
	f.Files["nodes.yaml"] = append([]byte("# new\n"), f.Files["nodes.yaml"]...)
	j, err := judge(function, p, f)
	if err != nil || j.Failed() || len(j.rendered) > 0 {
		t.Fatal(err, j)
	}
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		age, maxAge time.Duration
		files       int
	}{{time.Hour, 2 * time.Hour, 0}, {2 * time.Hour, 2 * time.Hour, 1}, {time.Hour, 0, 0}} {
		if files := j.Publish(now.Add(-c.age), now, c.maxAge); len(files) != c.files {
			t.Errorf("%v old, of at most %v: %d files", c.age, c.maxAge, len(files))
		}
	}
	if due := j.DueAt(now, time.Hour); !due.Equal(now.Add(time.Hour)) {
		t.Errorf("due at %v", due)
	}
	if j.Risk() != RiskNone || j.Subject() != "no changes; inventory refreshed" {
		t.Errorf("%s: %s", j.Risk(), j.Subject())
	}
}

// TestMessage: what is lost is made again, and the commit says so.
func TestMessage(t *testing.T) {
	function, p, f := example(t)
	for name := range p.Files {
		if strings.HasPrefix(name, "rendered/") {
			delete(p.Files, name)
		}
	}
	j, err := judge(function, p, f)
	if err != nil || j.Failed() {
		t.Fatal(err, j)
	}
	text := j.Message(Trailer{"Poolwright-Hydration", "storage/prod"})
	subject, _, _ := strings.Cut(text, "\n")
	if len([]rune(subject)) > maxSubject || !strings.Contains(subject, " to create, 0 to change, 0 to remove") {
		t.Errorf("subject %q", subject)
	}
	for key, want := range map[string]string{"Poolwright-Hydration": "storage/prod", TrailerOutput: p.With(j.rendered).Output(), "Poolwright-Facts": f.Digest, "Poolwright-Risk": "safe", "Other": ""} {
		if got := TrailerOf(text, key); got != want {
			t.Errorf("trailer %s is %q, want %q", key, got, want)
		}
	}
	if !strings.Contains(text, "\nRISK         ACTION  OBJECT\nsafe         create  ") {
		t.Errorf("no table in\n%s", text)
	}
}

// TestInvalid: a mistake in a package is no judgement, and nothing is published.
func TestInvalid(t *testing.T) {
	function, p, f := example(t)
	p.Files["inventory/leases.yaml"] = []byte("kind: Mine\n")
	f.Files["leases.yaml"] = nil
	_, err := judge(function, p, f)
	if ReasonOf(err) != ReasonInvalid || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("%v", err)
	}
	if ReasonOf(errors.New("other")) != "" {
		t.Error("another error has a reason")
	}
	delete(p.Files, "inventory/leases.yaml")
	delete(f.Files, "leases.yaml")
	p.Files["more.yaml"] = []byte("apiVersion: dao.mayadata.io/v1alpha1\nkind: CStorClusterConfig\nmetadata: {name: x}\nspec: {oops: 1}\n")
	j, err := judge(function, p, f)
	if err != nil || !j.Failed() || j.Publish(time.Time{}, time.Now(), time.Hour) != nil {
		t.Errorf("%v %+v", err, j)
	}
}

// TestNotedMissing: a snapshot goes on from the last one, and only the first from the committed inventory.
func TestNotedMissing(t *testing.T) {
	p := Package{Files: map[string][]byte{"inventory/nodes.yaml": []byte("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: nodes\n" +
		"  labels: {app.kubernetes.io/managed-by: poolwright}\n  annotations: {poolwright.io/missing-nodes: \"n2=2026-11-28T16:00:00Z\"}\nitems: []\n")}}
	if got := p.NotedMissing(Facts{}); got != "n2=2026-11-28T16:00:00Z" {
		t.Errorf("the committed note is %q", got)
	}
	if got := p.NotedMissing(Facts{Digest: "sha256:1", Missing: ""}); got != "" {
		t.Errorf("a node that is back is noted as %q", got)
	}
}
