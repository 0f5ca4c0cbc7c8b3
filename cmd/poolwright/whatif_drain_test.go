package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/cstor"
	"github.com/poolwright/poolwright/test/cstor/story"
)

// TestWhatIfDrain: what-if counts as many renders of a drain as it takes when a person renders, an engine applies, and the operators
// of cStor carry out each step before the next; and the volumes have all of their replicas afterwards.
func TestWhatIfDrain(t *testing.T) {
	c := cstor.New(1)
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		c.AddNode(node, "", nil)
		c.AddDisk(node, node+"-disk", 500<<30)
	}
	c.Advance(1)
	pkg := t.TempDir()
	spec := func(annotations string) {
		text := "apiVersion: dao.mayadata.io/v1alpha1\nkind: CStorClusterConfig\nmetadata: {name: prod, namespace: openebs" + annotations + "}\n" +
			"spec: {minPoolCount: 3, maxPoolCount: 4, diskConfig: {minCount: 1, local: {}}, poolConfig: {raidType: stripe}, pools: [{node: n1}, {node: n2}, {node: n3}, {node: n4}]}\n"
		if err := os.WriteFile(filepath.Join(pkg, "cstor.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	turn := func() (changed bool) {
		snapshotOf(t, c, pkg)
		before := contentOf(t, filepath.Join(pkg, "rendered"))
		succeed(t, "render", pkg)
		manifests, err := story.Manifests(filepath.Join(pkg, "rendered"))
		if err != nil {
			t.Fatal(err)
		}
		if refused, err := c.Engine.Apply(manifests); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		c.Advance(30)
		return before != contentOf(t, filepath.Join(pkg, "rendered"))
	}
	spec("")
	for range 6 {
		turn()
	}
	c.Provision("orders", "prod", 3, "")
	for _, name := range []string{"logs", "cache", "search", "mail", "web", "files"} {
		c.Provision(name, "prod", 1, "")
	}
	c.Advance(6)
	turn()
	turn()
	snapshotOf(t, c, pkg)
	kept := contentOf(t, pkg)

	answer := whatIf(t, exitFine, pkg, "drain", "node/n4")
	if answer.Drain == nil || answer.Drain.Node != "n4" || answer.Drain.Blocked != "" || len(answer.Drain.Steps) == 0 {
		t.Fatalf("drain %+v", answer.Drain)
	}
	if s := answer.Summary; s.Safe != 7 || s.Total != 7 {
		t.Errorf("after the drain: %+v", s)
	}
	if answer.PoolsSummary.Total != 3 {
		t.Errorf("pools after the drain: %+v", answer.PoolsSummary)
	}
	if lost := whatIf(t, exitFine, pkg, "drain", "node/n4", "lose", "node/n1").Summary; lost.Lost+lost.Degraded == 0 {
		t.Errorf("without n1 after the drain: %+v", lost)
	}
	if contentOf(t, pkg) != kept {
		t.Error("what-if has written something")
	}

	spec(", annotations: {poolwright.io/drain: n4, poolwright.io/allow-removal: CStorClusterStorageSet/prod-n4}")
	renders := 0
	for turn() {
		renders++
	}
	if err := c.Watch.Err(); err != nil {
		t.Fatal(err)
	}
	if renders != answer.Drain.Renders {
		t.Errorf("what-if counts %d renders, and it took %d:\n%s", answer.Drain.Renders, renders, c)
	}
}

// whatIf runs what-if -o json, and reads its answer.
func whatIf(t *testing.T, exit int, args ...string) machineWhatIf {
	t.Helper()
	var drawn, said bytes.Buffer
	if code := run(append([]string{"what-if", "-o", "json"}, args...), streams{in: strings.NewReader(""), out: &drawn, err: &said}); code != exit {
		t.Fatalf("what-if %s: exit %d: %s", strings.Join(args, " "), code, &said)
	}
	var answer machineWhatIf
	if err := json.Unmarshal(drawn.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// contentOf is all of a folder, in one text.
func contentOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all.String()
}
