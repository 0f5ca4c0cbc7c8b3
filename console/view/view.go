// Package view is what a package and its inventory show to a person: everything that the pages and the API of the
// console say, computed once for each state of the files. It is pure: it knows no folder, no Git and no clock.
package view

import (
	"slices"
	"strings"
	"sync"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// View is a package as it is now. Its parts are computed when they are first asked for, by any number of goroutines.
type View struct {
	Files    map[string][]byte // of the package, by path with slashes
	Package  folder.Package
	Findings []finding.Finding // of reading it and of its render, sorted
	Plan     plan.Plan         // of a render
	Output   *folder.Plan      // the files that it writes; nil if it is refused

	function *fn.Function
	result   fn.Result
	unread   []finding.Finding // what of the package cannot be read

	facts    func() []*krm.Object
	ledger   func() *disk.Ledger
	statuses func() []health.Status
	stock    func() stock.Stock
	disks    func() []Disk
	specs    func() []Spec
	volumes  func() []Volume
	groups   func() []Group
	trees    func() []*health.Tree
	pools    func() []Pool

	mu      sync.Mutex
	answers map[string]answer   // of WhatIf
	losses  map[string][]string // of LossNames
}

// New reads and renders the files of a package. The error says why these are none.
func New(function *fn.Function, files map[string][]byte) (*View, error) {
	v := &View{Files: files, function: function}
	memory := make(folder.Memory, len(files))
	for name, data := range files {
		memory[name] = &document.Source{Name: name, Data: data}
	}
	pkg, unread, err := folder.Read(folder.Input{Dir: ".", Memory: memory, Refuse: function.RefuseNested})
	if err != nil {
		return nil, err
	}
	v.Package, v.unread, v.result = pkg, unread, pkg.Render(function, unread)
	v.Findings = finding.Sort(slices.Clone(v.result.Findings))
	v.Plan = plan.Plan{Against: fn.RenderedFolder, Findings: v.Findings, Transitions: v.result.Transitions}
	if !finding.Failed(v.Findings) {
		if v.Output, err = folder.NewPlan(fn.RenderedFolder, v.result.Objects, pkg); err != nil {
			return nil, err
		}
		v.Plan.Changes = function.Assess(pkg.Input(), v.result.Facts, plan.Between(function, pkg.Ours(), v.result.Output()))
		v.Plan.AddFiles(v.Output.Changes, len(pkg.Ours()) > 0)
	}
	v.facts = sync.OnceValue(func() []*krm.Object { facts, _ := function.Facts(pkg.Objects, false); return facts })
	v.ledger = sync.OnceValue(func() *disk.Ledger { return function.Ledger(pkg.Input(), v.index()) })
	v.statuses = sync.OnceValue(v.readStatuses)
	v.stock = sync.OnceValue(func() stock.Stock { return function.Stock(pkg.Input(), nil) })
	v.disks = sync.OnceValue(v.readDisks)
	v.specs = sync.OnceValue(v.readSpecs)
	v.volumes = sync.OnceValue(v.readVolumes)
	v.groups = sync.OnceValue(v.readGroups)
	v.trees = sync.OnceValue(v.readTrees)
	v.pools = sync.OnceValue(v.readPools)
	return v, nil
}

// index is what the inventory shows.
func (v *View) index() *inventory.Facts {
	if v.result.Facts != nil {
		return v.result.Facts
	}
	return v.function.FactsOf(v.Package.Input())
}

// Unread are the errors about what cannot be read, of which the rest is shown.
func (v *View) Unread() []finding.Finding {
	return slices.DeleteFunc(slices.Clone(v.unread), func(f finding.Finding) bool { return f.Severity != finding.Error })
}

// HasFacts reports whether the inventory has any node.
func (v *View) HasFacts() bool { return len(v.index().Nodes) > 0 }

// Nodes are the nodes of the inventory.
func (v *View) Nodes() []*inventory.Node { return v.index().Nodes }

// Statuses are those of the specs, the worst first.
func (v *View) Statuses() []health.Status { return v.statuses() }

func (v *View) readStatuses() []health.Status {
	statuses, _ := v.function.Status(v.Package.Input(), nil)
	slices.SortStableFunc(statuses, func(a, b health.Status) int {
		switch {
		case a.Phase.WorseThan(b.Phase):
			return -1
		case b.Phase.WorseThan(a.Phase):
			return 1
		}
		return 0
	})
	return statuses
}

// Transitions are those under way.
func (v *View) Transitions() []transition.Transition { return v.result.Transitions }

// Trees are the dependencies from claims to disks; of a package of which nothing runs, what is planned.
func (v *View) Trees() []*health.Tree { return v.trees() }

func (v *View) readTrees() []*health.Tree {
	if trees := v.function.Tree(v.facts(), krm.ID{}); len(trees) > 0 {
		return trees
	}
	return fn.PlannedTree(v.result.Choices, v.index())
}

// mostAnswers is how many answers about losses are kept.
const mostAnswers = 100

// answer is what comes of a loss.
type answer struct {
	fn.WhatIf
	err error
}

// WhatIf says what comes of some changes, each of which is written as for the command.
func (v *View) WhatIf(changes ...string) (*fn.WhatIf, error) {
	key := strings.Join(changes, "\n")
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, asked := v.answers[key]; asked {
		return &known.WhatIf, known.err
	}
	var a answer
	var parsed []resilience.Change
	if parsed, a.err = resilience.ParseChanges(changes); a.err == nil {
		a.WhatIf, a.err = v.function.WhatIf(fn.Question{Package: v.Package.Input(), Changes: parsed})
	}
	if v.answers == nil || len(v.answers) >= mostAnswers {
		v.answers = map[string]answer{}
	}
	a.Next, a.Package = fn.Result{}, fn.Package{} // which nobody shows
	v.answers[key] = a
	return &a.WhatIf, a.err
}

// LossNames lists what a loss may name.
func (v *View) LossNames(kind string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	names, known := v.losses[kind]
	if !known {
		if v.losses == nil {
			v.losses = map[string][]string{}
		}
		names = v.function.LossNames(v.index(), kind)
		v.losses[kind] = names
	}
	return names
}
