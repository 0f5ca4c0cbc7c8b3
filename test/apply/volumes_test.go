package apply

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/test/tool"
)

// TestVolumeClassApplies applies a CStorVolumeClass in which every field is written, and what
// preview says that the operators make of its claims: nothing is refused or pruned.
func TestVolumeClassApplies(t *testing.T) {
	define(t, tool.Upstream(t, "openebs-cstor.yaml", "csi-snapshot.yaml"))
	for _, name := range []string{"openebs", "shop"} {
		apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"))[0])
	}
	root := tool.Root(t)
	dir := t.TempDir()
	program, err := tool.Build(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "testdata/packages/six-volumes"))); err != nil {
		t.Fatal(err)
	}
	spec, err := os.ReadFile(filepath.Join(root, "testdata/documents/cstorvolumeclass/valid/everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The example has other claims and another class of these names in the same cluster.
	named := strings.NewReplacer("pg-", "whole-", "name: db\n", "name: whole\n", "/db", "/whole").Replace(string(spec))
	if err := os.WriteFile(filepath.Join(dir, "classes.yaml"), []byte(named), 0o666); err != nil {
		t.Fatal(err)
	}
	rendered := output(t, program, "render", dir, "-o", "-")
	var kinds []string
	for _, o := range parse(t, "rendered", rendered) {
		kinds = append(kinds, o.Kind)
		applyWhole(t, o)
	}
	slices.Sort(kinds)
	if want := []string{"CStorVolumePolicy", "PersistentVolumeClaim", "PersistentVolumeClaim", "StorageClass", "VolumeSnapshotClass"}; !slices.Equal(kinds, want) {
		t.Errorf("rendered are %v, want %v", kinds, want)
	}

	// What only a cluster knows is a name like any other, and Deployment, Service and
	// PersistentVolume are shown in part.
	hole := regexp.MustCompile(`<[^<>]*>`)
	previewed := hole.ReplaceAll(output(t, program, "preview", dir, "PersistentVolumeClaim/shop/whole-1", "-o", "yaml"), []byte("known-later"))
	shown := 0
	for _, o := range parse(t, "previewed", previewed) {
		switch o.Kind {
		case "CStorVolumeConfig", "CStorVolume", "CStorVolumeReplica", "PodDisruptionBudget":
			applyWhole(t, o)
			shown++
		}
	}
	if shown != 6 {
		t.Errorf("%d objects of the operators, want a config, a volume, three replicas and a budget:\n%s", shown, previewed)
	}
}

// applyWhole applies an object of which nothing may be lost.
func applyWhole(t *testing.T, o *krm.Object) {
	t.Helper()
	stored := apply(t, o)
	if path := lost(o.Node, stored); path != "" {
		t.Errorf("%s: the API server pruned or changed %s", o.Ref, path)
	}
}

// output is what the program prints.
func output(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	out, said, err := tool.Run(t, ".", nil, program, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
	return []byte(out)
}
