package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// kitchen is a small application: pots need a stove, which needs gas; the radio needs
// nothing but a socket.
func kitchen() Graph {
	return Graph{
		{Name: "gas"},
		{Name: "stove", After: []string{"gas"}, Gates: []krm.GroupKind{{Group: "example.com", Kind: "Stove"}}, Timeout: "30m"},
		{Name: "sockets"},
		{Name: "pots", After: []string{"stove", "sockets"}},
		{Name: "radio", After: []string{"sockets"}},
	}
}

func thing(level, kind, name string) Object {
	return Object{Object: krm.Make("example.com/v1", kind, "home", name), File: strings.ToLower(kind) + ".yaml", Level: level}
}

func TestGraph(t *testing.T) {
	g := kitchen()
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(g.Removal(), " "); got != "radio pots sockets stove gas" {
		t.Error("removed in the order", got)
	}
	if got := g.Folder("pots"); got != "3-pots" {
		t.Error("pots lie in", got)
	}
	for want, wrong := range map[string]Graph{
		"two levels are called a":                       {{Name: "a"}, {Name: "a"}},
		"level a comes after b, which does not stand":   {{Name: "a", After: []string{"b"}}, {Name: "b"}},
		"level a comes after a, which does not stand":   {{Name: "a", After: []string{"a"}}},
		"level a comes after gas, which does not stand": {{Name: "a", After: []string{"gas"}}},
	} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestWaits(t *testing.T) {
	g := append(kitchen(), Level{Name: "dinner", After: []string{"gas", "pots", "radio"}})
	for _, test := range []struct{ level, there, want string }{
		{"gas", "gas", ""},
		{"pots", "gas stove sockets", "stove sockets"},
		{"pots", "gas sockets", "gas sockets"},               // no stove: what it waits for
		{"dinner", "gas stove pots radio", "pots radio"},     // pots wait for gas already
		{"dinner", "gas stove sockets", "stove sockets"},     // over pots and radio
		{"dinner", "gas", "gas"},                             // whichever way, once
		{"radio", "gas stove", ""},                           // nothing that it waits for
		{"dinner", "stove sockets pots radio", "pots radio"}, // what is not there asks for no more
	} {
		there := map[string]bool{}
		for _, l := range strings.Fields(test.there) {
			there[l] = true
		}
		if got := strings.Join(g.waits(test.level, there), " "); got != test.want {
			t.Errorf("%s with %s waits for %q, want %q", test.level, test.there, got, test.want)
		}
	}
}

// TestArrange: one stage after the other, with room for steps in a level.
func TestArrange(t *testing.T) {
	objects := []Object{thing("stove", "Stove", "a"), thing("pots", "Pot", "p"), thing("radio", "Radio", "r"), thing("pots", "Lid", "p"), {Object: krm.Make("v1", "Note", "", "n"), File: "note.yaml"}}
	objects[3].Needs = []krm.ID{objects[1].ID()}
	got := kitchen().Encode(objects, nil)
	var lines []string
	for _, o := range got {
		lines = append(lines, fmt.Sprint(o.File, " ", o.Stage, " ", o.Needs, " ", o.Undefined))
	}
	want := []string{
		"1-stove/stove.yaml 10 [] true",
		"3-pots/pot.yaml 30 [{example.com Stove home a}] true",
		"4-radio/radio.yaml 40 [] true",
		"3-pots/lid.yaml 31 [{example.com Pot home p} {example.com Stove home a}] true",
		"note.yaml 0 [] false",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("arranged\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestOrders: on generated graphs all encodings have the order of the graph, and removal
// has it backwards.
func TestOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generate(t)
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		objects := populate(t, g)
		backwards := g.Removal()
		for i, l := range g {
			for _, before := range l.After {
				if slices.Index(backwards, before) < slices.Index(backwards, l.Name) {
					t.Errorf("%s goes before %s, which comes after it", before, g[i].Name)
				}
			}
		}
		checkTogether(t, g, g.Encode(slices.Clone(objects), nil))
		checkFlux(t, g, Flux{Name: "x", Source: Source{"GitRepository", "s", "flux-system"}, Path: "./rendered/x"}.Encode(g, slices.Clone(objects), nil))
		checkArgo(t, g, Argo{Name: "x", RepoURL: "https://git.example.com/x.git", Path: "rendered/x"}.Encode(g, slices.Clone(objects), nil))
	})
}

func generate(t *rapid.T) Graph {
	var g Graph
	for i := range rapid.IntRange(1, 8).Draw(t, "levels") {
		l := Level{Name: fmt.Sprintf("l%d", i)}
		for _, before := range g {
			if rapid.Bool().Draw(t, "after") {
				l.After = append(l.After, before.Name)
			}
		}
		if rapid.Bool().Draw(t, "gates") {
			l.Gates = []krm.GroupKind{{Group: "example.com", Kind: "Gate"}}
		}
		g = append(g, l)
	}
	return g
}

func populate(t *rapid.T, g Graph) []Object {
	var objects []Object
	for _, l := range g {
		for i := range rapid.IntRange(0, 3).Draw(t, "objects") {
			o := thing(l.Name, rapid.SampledFrom([]string{"Gate", "Thing"}).Draw(t, "kind"), fmt.Sprintf("%s-%d", l.Name, i))
			o.Stateful = rapid.Bool().Draw(t, "stateful")
			objects = append(objects, o)
		}
	}
	return objects
}

// checkTogether: waves rise with the levels, and whatever gate a level comes after, each of
// its objects needs it, at once or over others.
func checkTogether(t *rapid.T, g Graph, objects []Object) {
	needs := map[krm.ID][]krm.ID{}
	for _, o := range objects {
		needs[o.ID()] = o.Needs
	}
	for _, o := range objects {
		closed := closure(o.ID(), needs)
		if closed[o.ID()] {
			t.Errorf("%v needs itself", o.ID())
		}
		for _, other := range objects {
			if !g.comesAfter(o.Level, other.Level) {
				continue
			}
			if o.Stage <= other.Stage {
				t.Errorf("%v is in stage %d, and %v, which it comes after, in %d", o.ID(), o.Stage, other.ID(), other.Stage)
			}
			gate := slices.Contains(g[g.index(other.Level)].Gates, other.GroupKind())
			if gate && !closed[other.ID()] {
				t.Errorf("%v does not need %v", o.ID(), other.ID())
			}
		}
	}
}

// checkFlux: one Kustomization a level with something in it, which depends on those that
// the level comes after and on no others, and stays where state needs it.
func checkFlux(t *rapid.T, g Graph, objects []Object) {
	level, depends := map[string]string{}, map[string][]string{}
	for _, l := range g {
		level["x-"+g.Folder(l.Name)] = l.Name
	}
	made := map[string]*document.Node{}
	for _, o := range objects {
		if o.Kind == "Kustomization" {
			made[level[o.Name]] = o.Node
			for _, d := range o.Node.Seq("spec", "dependsOn") {
				depends[level[o.Name]] = append(depends[level[o.Name]], level[d.Str("name")])
			}
		} else if made[o.Level] == nil {
			made[o.Level] = nil
		}
	}
	for name, node := range made {
		if node == nil {
			t.Errorf("no Kustomization for %s", name)
			continue
		}
		closed := closure(name, depends)
		for other := range made {
			if closed[other] != g.comesAfter(name, other) {
				t.Errorf("that %s comes after %s: %v; Flux knows %v", name, other, !closed[other], closed[other])
			}
		}
		stays := slices.ContainsFunc(objects, func(o Object) bool {
			return o.Stateful && (o.Level == name || g.comesAfter(o.Level, name))
		})
		if got := node.Str("spec", "deletionPolicy") == "Orphan"; got != stays {
			t.Errorf("%s stays: %v, want %v", name, got, stays)
		}
	}
}

// checkArgo: waves of Applications rise with the levels, so that Argo CD prunes backwards.
func checkArgo(t *rapid.T, g Graph, objects []Object) {
	waves := map[string]int{}
	there := map[string]bool{}
	for _, o := range objects {
		if o.Kind == "Application" {
			name, _ := strings.CutPrefix(o.Name, "x-")
			_, name, _ = strings.Cut(name, "-")
			waves[name] = o.Stage
		} else {
			there[o.Level] = true
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(waves)), slices.Sorted(maps.Keys(there))) {
		t.Errorf("Applications for %v, levels %v", waves, there)
	}
	for a := range waves {
		for b := range waves {
			if g.comesAfter(a, b) && waves[a] <= waves[b] {
				t.Errorf("%s is in wave %d, and %s, which it comes after, in %d", a, waves[a], b, waves[b])
			}
		}
	}
}

func closure[T comparable](of T, needs map[T][]T) map[T]bool {
	closed := map[T]bool{}
	open := slices.Clone(needs[of])
	for len(open) > 0 {
		next := open[0]
		if open = open[1:]; !closed[next] {
			closed[next] = true
			open = append(open, needs[next]...)
		}
	}
	return closed
}
