package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

func TestUnhealthy(t *testing.T) {
	at := func(name string, phase Phase, children ...*Tree) *Tree {
		kind, _, _ := strings.Cut(name, "-")
		return &Tree{Object: finding.Ref{Kind: kind, Name: name}, Phase: phase, Children: children}
	}
	disk := at("disk-1", Progressing)
	trees := []*Tree{
		at("pool-1", OK, at("disk-0", OK), disk),
		at("pool-2", Error, at("disk-2", OK)),
		at("pool-3", OK, at("class-1", "")),
		at("pool-4", OK, disk, at("disk-?", Error), at("disk-?", Error)),
	}
	show := func(trees []*Tree) string {
		text := ""
		for _, t := range trees {
			text += t.Object.Name
			for _, c := range t.Children {
				text += " " + c.Object.Name
			}
			text += "; "
		}
		return text
	}
	before := show(trees)
	if got, want := show(Unhealthy(trees)), "pool-1 disk-1; pool-2; pool-4 disk-1 disk-? disk-?; "; got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
	if show(trees) != before {
		t.Error("the trees were changed")
	}
	got := ""
	for _, tally := range Tallies(trees) {
		got += fmt.Sprintln(tally)
	}
	want := `4 pools: 1 ERROR, 3 OK
5 disks: 2 ERROR, 1 PROGRESSING, 2 OK
1 class: 1 unknown
`
	if got != want {
		t.Errorf("counted\n%swant\n%s", got, want)
	}
}
