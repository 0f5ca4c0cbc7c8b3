package gitops

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// Graph is in which order an application is made of its levels, and what each waits for:
// one value, of which the order in every engine is made. A level stands after those that
// it comes after (Check), and removal goes the other way.
type Graph []Level

// Level is a step: what it holds is applied together.
type Level struct {
	Name  string   // a word, such as operators
	After []string // the levels that have to be there, and well, before it
	// Gates are those of its kinds on whose objects other levels wait. Where it has no
	// such object, they wait for what this level waits for.
	Gates []krm.GroupKind
	// Timeout is how long an engine waits until all of it is well, such as 30m; "" for
	// a usual time.
	Timeout string
}

// stageStep is how many steps a level may have in itself.
const stageStep = 10

// Check finds mistakes of those who write a graph.
func (g Graph) Check() error {
	seen := map[string]bool{}
	for _, l := range g {
		if seen[l.Name] {
			return fmt.Errorf("two levels are called %s", l.Name)
		}
		for _, before := range l.After {
			if !seen[before] {
				return fmt.Errorf("the level %s comes after %s, which does not stand before it", l.Name, before)
			}
		}
		seen[l.Name] = true
	}
	return nil
}

// Folder is where a level lies in the output of its spec, such as 2-operators. The
// number stays when another level has nothing in it.
func (g Graph) Folder(level string) string {
	return strconv.Itoa(g.index(level)) + "-" + level
}

// IsLevel reports whether a folder of an output is that of a level.
func IsLevel(folder string) bool {
	number, _, found := strings.Cut(folder, "-")
	_, err := strconv.Atoi(number)
	return found && err == nil
}

// Removal lists the levels in the order in which they are removed.
func (g Graph) Removal() []string {
	names := make([]string, 0, len(g))
	for _, l := range slices.Backward(g) {
		names = append(names, l.Name)
	}
	return names
}

func (g Graph) index(level string) int {
	return slices.IndexFunc(g, func(l Level) bool { return l.Name == level })
}

// waits lists the levels that a level waits for, of those that there are, without those
// that another of them waits for. One that is not there passes on what it waits for.
func (g Graph) waits(level string, there map[string]bool) []string {
	var direct []string
	var collect func(string)
	collect = func(name string) {
		for _, before := range g[g.index(name)].After {
			switch {
			case !there[before]:
				collect(before)
			case !slices.Contains(direct, before):
				direct = append(direct, before)
			}
		}
	}
	collect(level)
	slices.SortFunc(direct, func(a, b string) int { return cmp.Compare(g.index(a), g.index(b)) })
	return slices.DeleteFunc(direct, func(name string) bool {
		return slices.ContainsFunc(direct, func(later string) bool { return later != name && g.comesAfter(later, name) })
	})
}

// comesAfter reports whether one level comes after another, at once or over others.
func (g Graph) comesAfter(level, other string) bool {
	return slices.ContainsFunc(g[g.index(level)].After, func(before string) bool {
		return before == other || g.comesAfter(before, other)
	})
}

// needed lists the levels that hold state, and those that these come after: where one of
// them went, data could be lost, or what is being deleted would wait for ever.
func (g Graph) needed(objects []Object) map[string]bool {
	needed := map[string]bool{}
	for i := range objects {
		if level := objects[i].Level; level != "" && objects[i].Stateful {
			needed[level] = true
			for _, l := range g {
				needed[l.Name] = needed[l.Name] || g.comesAfter(level, l.Name)
			}
		}
	}
	return needed
}

// Arrange puts the objects that have a level into its folder and its stage, and says what
// each needs of the levels before, besides what it is said to need.
func (g Graph) Arrange(objects []Object) {
	steps := steps(objects)
	for i := range objects {
		o := &objects[i]
		if o.Level == "" {
			continue
		}
		o.File = g.Folder(o.Level) + "/" + o.File
		o.Stage = g.index(o.Level)*stageStep + min(steps[o.ID()], stageStep-1)
		for _, id := range g.gates(o.Level, objects) {
			if !slices.Contains(o.Needs, id) {
				o.Needs = append(o.Needs, id)
			}
		}
	}
}

// gates lists the objects of the levels before that those of a level wait for.
func (g Graph) gates(level string, objects []Object) []krm.ID {
	byLevel := map[string][]krm.ID{}
	there := map[string]bool{}
	for i := range objects {
		o := &objects[i]
		if o.Level != "" && slices.Contains(g[g.index(o.Level)].Gates, o.GroupKind()) {
			byLevel[o.Level] = append(byLevel[o.Level], o.ID())
			there[o.Level] = true
		}
	}
	var gates []krm.ID
	for _, before := range g.waits(level, there) {
		slices.SortFunc(byLevel[before], krm.ID.Compare)
		gates = append(gates, byLevel[before]...)
	}
	return gates
}

// steps says after how many others of its level each object comes.
func steps(objects []Object) map[krm.ID]int {
	byID := make(map[krm.ID]*Object, len(objects))
	for i := range objects {
		byID[objects[i].ID()] = &objects[i]
	}
	steps := make(map[krm.ID]int, len(objects))
	var step func(*Object) int
	step = func(o *Object) int {
		id := o.ID()
		if n, known := steps[id]; known {
			return n
		}
		steps[id] = 0 // of objects that need each other the first counts
		n := 0
		for _, need := range o.Needs {
			if other := byID[need]; other != nil && other.Level == o.Level {
				n = max(n, step(other)+1)
			}
		}
		steps[id] = n
		return n
	}
	for i := range objects {
		step(&objects[i])
	}
	return steps
}
