package deploy

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
)

// checked is a kind that the engines have a health check for, for test/checks, which is a
// module of its own.
type checked struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Own   bool   `json:"own,omitempty"`  // has a status of ours
	Tree  string `json:"tree,omitempty"` // what a tree that starts at it calls it
}

// TestHealth holds that test/checks knows the kinds of whose health the systems say that
// engines have health checks. There, each of them needs a check for Argo CD and one for Flux.
func TestHealth(t *testing.T) {
	kinds := system.NewKinds(systems.All()...)
	all := slices.DeleteFunc(kinds.All(), func(k system.Kind) bool { return !k.Health })
	slices.SortFunc(all, func(a, b system.Kind) int { return a.GroupKind.Compare(b.GroupKind) })
	var list []checked
	for _, kind := range all {
		c := checked{Group: kind.Group, Kind: kind.Kind, Own: slices.ContainsFunc(kinds.Own(), is(kind.GroupKind))}
		if kind.Keep != "" && slices.ContainsFunc(kinds.Roots(), is(kind.GroupKind)) { // of a spec the tree shows what it became
			c.Tree = kind.Name()
		}
		list = append(list, c)
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte("# Made by: make generate\n"), text...)
	const file = "../checks/kinds.yaml"
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the systems declare; make generate writes it (%v)", file, err)
	}
}

func is(kind krm.GroupKind) func(system.Kind) bool {
	return func(other system.Kind) bool { return other.GroupKind == kind }
}
