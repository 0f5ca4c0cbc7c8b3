package keeper_test

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestSourceSize: what is read of a package is limited by what its files have together, not by what the pack has.
func TestSourceSize(t *testing.T) {
	k := newKube(t)
	k.node(t, "n1")
	all := files()
	for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
		all[dir+"/"+name+".yaml"] = "# " + strings.Repeat("x", 1<<20) + "\n"
	}
	server := gitserver.New(t, all)
	const ns = "size"
	hydrate(t, k, server, ns, "prod")
	keep(t, ns)
	h := k.becomes(t, ns, "prod", "SourceRefused")
	if got, want := h.Status.Condition("Ready").Message, dir+"/p.yaml makes the package larger than is read; move what is no input out of it"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}
