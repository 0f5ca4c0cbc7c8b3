package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/cstor"
	"github.com/poolwright/poolwright/test/cstor/story"
)

// drainInPictures plays a cluster whose pool on n4 is drained, and returns packages with its
// inventory before, while replicas are added elsewhere, and after those on n4 are gone.
func drainInPictures(t *testing.T) (dirs [3]string) {
	t.Helper()
	c := cstor.New(1)
	for _, node := range []struct{ name, zone string }{{"n1", "a"}, {"n2", "a"}, {"n3", "b"}, {"n4", "b"}} {
		c.AddNode(node.name, "", map[string]string{"topology.kubernetes.io/zone": node.zone})
		c.AddDisk(node.name, node.name+"-disk", 500<<30)
	}
	c.Advance(1)
	pkg := t.TempDir()
	spec := func(minimum, annotations string) {
		text := "apiVersion: dao.mayadata.io/v1alpha1\nkind: CStorClusterConfig\nmetadata: {name: prod, namespace: openebs, annotations: {" + annotations + "}}\n" +
			"spec: {minPoolCount: " + minimum + ", maxPoolCount: 4, diskConfig: {minCount: 1, local: {}}, poolConfig: {raidType: stripe}}\n"
		if err := os.WriteFile(filepath.Join(pkg, "cstor.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// turn takes the inventory, renders, and has it applied; then minutes pass.
	turn := func(minutes int) {
		snapshotOf(t, c, pkg)
		succeed(t, "render", pkg)
		manifests, err := story.Manifests(filepath.Join(pkg, "rendered"))
		if err != nil {
			t.Fatal(err)
		}
		if refused, err := c.Engine.Apply(manifests); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		c.Advance(minutes)
	}
	keep := func(i int) {
		dirs[i] = t.TempDir()
		snapshotOf(t, c, dirs[i])
	}
	spec("4", "")
	for range 3 {
		turn(6)
	}
	c.Provision("orders", "prod", 3, "")
	for _, name := range []string{"logs", "cache", "search", "mail"} {
		c.Provision(name, "prod", 1, "")
	}
	for node, percent := range map[string]int{"n1": 25, "n2": 45, "n3": 30, "n4": 40} {
		if err := c.Fill(node, percent); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(6)
	keep(0)
	spec("3", "poolwright.io/drain: n4, poolwright.io/allow-removal: CStorClusterStorageSet/prod-n4")
	turn(1)
	keep(1)
	c.Advance(5)
	turn(6)
	keep(2)
	if err := c.Watch.Err(); err != nil {
		t.Fatal(err)
	}
	return dirs
}

// snapshotOf takes the inventory of a played cluster into a package.
func snapshotOf(t *testing.T, c *cstor.Cluster, pkg string) {
	t.Helper()
	dump := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(dump, c.Dump(), 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, "inventory", "-O", filepath.Join(pkg, "inventory"), "--from", dump)
}

// succeed runs the program, which must find nothing wrong.
func succeed(t *testing.T, args ...string) {
	t.Helper()
	var said bytes.Buffer
	if code := run(args, streams{in: strings.NewReader(""), out: &said, err: &said}); code != exitFine {
		t.Fatalf("poolwright %s: exit %d: %s", strings.Join(args, " "), code, &said)
	}
}
