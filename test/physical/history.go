package physical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// History is a cluster, the package that describes it, and what was committed before.
type History struct {
	Rand
	World   *World
	Specs   []*Spec
	Lock    []Chunk
	Story   []string
	commits []commit
	seen    *Package // the last snapshot
	planned []string // events
	Tally
}

// commit is what Git has of the package.
type commit struct {
	specs []Spec
	lock  []Chunk
}

// NewHistory begins with some machines, some disks of which people hold, and with specs.
func NewHistory(seed uint64) *History {
	r := NewRand(seed)
	h := &History{Rand: r, World: NewWorld(r)}
	w := h.World
	for _, host := range w.Hosts {
		w.Report(r, host)
	}
	for _, d := range w.free() {
		switch {
		case r.In(1, 4):
			h.tell(w.HoldByHand(r, d))
		case r.In(1, 12):
			d.Content = Pick(r, []string{"ext4", "xfs", "LVM2_member"})
			if d.Content == "LVM2_member" {
				d.ContentLinks = []string{"lvm-pv-uuid-" + r.Hex(6)}
			}
		case r.In(1, 12):
			d.ContentLinks = []string{"lvm-pv-uuid-" + r.Hex(6)}
		}
	}
	if r.In(1, 6) { // a machine of which nobody reports anything
		host := Pick(r, w.Hosts)
		w.Devices = slices.DeleteFunc(w.Devices, func(b *Device) bool { return b.Host == host })
		w.Entries = slices.DeleteFunc(w.Entries, func(e *Entry) bool { return e.Host == host })
	}
	h.Specs = DrawSpecs(r, w)
	return h
}

func (h *History) tell(text string) {
	if text != "" {
		h.Story = append(h.Story, text)
	}
}

// Broken is a render that breaks a rule, with all that it was made of.
type Broken struct {
	*Violation
	World   *World
	Package *Package
	Story   []string
}

// Step renders after an event, and lets people do what the errors ask for.
func (h *History) Step(event string, p *Package) *Broken {
	broken, errors := h.render(p)
	row := h.row(event)
	row.Happened++
	if broken == nil && errors == nil {
		row.Rendered++
	}
	for try := 0; broken == nil && errors != nil && try <= tries; try++ {
		asked := rulesOf(errors)
		h.mend(errors, try)
		broken, errors = h.render(h.Now())
		left := rulesOf(errors)
		for _, rule := range asked {
			h.error(rule).Seen++
			if broken == nil && !slices.Contains(left, rule) {
				h.error(rule).Mended++
			}
		}
	}
	return broken
}

// render renders, holds the rules, and commits; or returns the errors.
func (h *History) render(p *Package) (*Broken, []finding.Finding) {
	out := Check(h.World, p)
	h.Renders++
	h.Unknown += out.Unknown
	if out.Violation != nil {
		return &Broken{out.Violation, h.World, p, slices.Clone(h.Story)}, nil
	}
	if out.Failed {
		h.Failed++
		return nil, out.Rendered.Findings
	}
	h.count(out)
	h.Lock = out.Rendered.Lock
	h.bind()
	var specs []Spec
	for _, s := range h.Specs {
		specs = append(specs, *s)
	}
	h.commits = append(h.commits, commit{specs, h.Lock})
	return nil, nil
}

// specs are those of a commit.
func (h *History) specs(c commit) {
	h.Specs = nil
	for _, s := range c.specs {
		h.Specs = append(h.Specs, &s)
	}
}

// bind remembers which disks are meant by what is rendered, whatever their names mean later.
func (h *History) bind() {
	for _, o := range parsed(h.Lock) {
		for _, hold := range HoldsOf(o) {
			if len(h.World.Bound[hold.key()]) == 0 {
				h.World.Bound[hold.key()] = h.World.resolve(&hold)
			}
		}
	}
}

// Now is the package with a snapshot of all kinds but some.
func (h *History) Now(but ...string) *Package {
	p := &Package{Lock: h.Lock}
	for _, kind := range AllKinds() {
		if !slices.Contains(but, kind) {
			p.Kinds = append(p.Kinds, kind)
		}
	}
	p.Chunks = h.World.Snapshot(p.Kinds)
	h.seen = p
	return h.specced(p)
}

// specced is a package with the specs of now.
func (h *History) specced(p *Package) *Package {
	with := &Package{Kinds: p.Kinds, Lock: h.Lock}
	for _, c := range p.Chunks {
		if strings.HasPrefix(c.File, "inventory/") {
			with.Chunks = append(with.Chunks, c)
		}
	}
	for _, s := range h.Specs {
		with.Chunks = append(with.Chunks, s.chunk())
	}
	return with
}

// RunPackage renders one package: the first of a cluster, or one after a few events.
func RunPackage(seed uint64) (*History, *Broken) {
	h := NewHistory(seed)
	if broken := h.Step(begin, h.Now()); broken != nil || h.In(1, 2) {
		return h, broken
	}
	if h.In(2, 3) {
		h.World.Apply(h.Lock)
		h.tell("what is rendered is applied")
	}
	what := ""
	for range 1 + h.IntN(3) {
		what = h.event()
	}
	return h, h.Step(what, h.snapshot())
}

// RunHistory applies so many events, and renders after each.
func RunHistory(seed uint64, count int) (*History, *Broken) {
	h := NewHistory(seed)
	broken := h.Step(begin, h.Now())
	for i := 0; i < count && broken == nil; i++ {
		what := h.event()
		broken = h.Step(what, h.snapshot())
	}
	return h, broken
}

// snapshot is the package with facts of now, or older ones, or not all of them.
func (h *History) snapshot() *Package {
	switch {
	case h.In(1, 8):
		h.tell("the snapshot is the one before")
		return h.specced(h.seen)
	case h.In(1, 5):
		kind := Pick(h.Rand, AllKinds()[1:])
		h.tell("the snapshot lacks " + kind)
		return h.Now(kind)
	}
	return h.Now()
}

// String prints a violation as a package that can become a script.
func (b *Broken) String() string {
	return fmt.Sprintf("%s\n%s\n%s", b.Error(), strings.Join(b.Story, "\n"), b.Package)
}
