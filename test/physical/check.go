package physical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Rule is what a render has broken.
type Rule string

// The rules.
const (
	TwoOwners   Rule = "two-owners"     // one disk has two owners
	TwoObjects  Rule = "two-objects"    // one disk is in two objects of one owner
	HasData     Rule = "has-data"       // a disk was chosen that is reported to hold data
	SecondTime  Rule = "no-fixed-point" // the second render changes something, or fails: --check is not green
	ByContent   Rule = "by-content"     // a disk is named by what is on it
	Ambiguous   Rule = "ambiguous"      // a name that two disks of the node have
	NotReadable Rule = "not-readable"   // the package itself is broken, a fault of the test
)

// Violation is a rule that is broken, and how.
type Violation struct {
	Rule Rule
	On   string // the disk, or what of a second render is not as it was
	Text string
}

func (v *Violation) Error() string { return string(v.Rule) + ": " + v.Text }

// Outcome is what came of a check.
type Outcome struct {
	Rendered  Rendered
	Failed    bool             // there are errors: nothing is written, which is safe
	Chosen    map[*Disk]string // disks that were not rendered before, and their owners
	Unknown   int              // disks with two owners that nobody could know of
	Violation *Violation
}

// grip is a hold on a disk, and what is said by it.
type grip struct {
	Hold
	disks  []*Disk
	said   map[*Disk][]string
	source string
}

// Check renders a package, and holds the rules against the world that it is of.
func Check(w *World, p *Package) Outcome {
	r, err := p.Render()
	if err != nil {
		return Outcome{Violation: &Violation{NotReadable, "", err.Error()}}
	}
	if finding.Failed(r.Findings) {
		return Outcome{Rendered: r, Failed: true}
	}
	out := Judge(w, p, r)
	if out.Violation == nil {
		out.Violation = again(p, r)
	}
	return out
}

// Judge holds what was rendered of a package against the world.
func Judge(w *World, p *Package, r Rendered) Outcome {
	objects, output, err := p.objects()
	if err != nil {
		return Outcome{Violation: &Violation{NotReadable, "", err.Error()}}
	}
	out := Outcome{Rendered: r}
	j := &judge{world: w, evidence: newEvidence(w, objects), out: &out}
	for _, g := range j.grips("the lock", output) {
		j.before = append(j.before, g)
		if !slices.Contains(p.Kinds, liveKind(&g.Hold)) {
			j.hidden = append(j.hidden, g) // nobody knows whether it exists
		}
	}
	j.live = j.grips("", facts(objects))
	j.now = j.grips("rendered", parsed(r.Lock))
	for _, rule := range []func() *Violation{j.byContent, j.apart, j.once, j.empty} {
		if v := rule(); v != nil && out.Violation == nil {
			out.Violation = v
		}
	}
	return out
}

// liveKind is the plural of the kind that shows whether a rendered object exists.
func liveKind(h *Hold) string {
	switch {
	case h.Kind == "CStorClusterStorageSet":
		return "cstorpoolclusters"
	case strings.HasPrefix(h.Object, "VolumeLock /volumegroup-"):
		return "volumegroups"
	case h.Kind == "VolumeLock":
		return "volumes"
	}
	return strings.ToLower(h.Kind) + "s"
}

func parsed(chunks []Chunk) []*krm.Object {
	var all []*krm.Object
	for _, c := range chunks {
		read, err := krm.Parse(&document.Source{Name: c.File, Data: []byte(c.Text)})
		if err != nil {
			continue // what was rendered is well formed; a kustomization is no object of ours
		}
		all = append(all, read...)
	}
	return all
}

// judge holds one render against the world.
type judge struct {
	world             *World
	evidence          *evidence
	before, live, now []grip
	hidden            []grip // of before: those that may exist by the snapshot
	out               *Outcome
}

func (j *judge) grips(source string, objects []*krm.Object) []grip {
	var all []grip
	for _, o := range objects {
		for _, h := range HoldsOf(o) {
			g := grip{Hold: h, disks: j.world.On(&h), said: map[*Disk][]string{}, source: source}
			for _, d := range g.disks {
				var at []Place
				for _, host := range j.world.hosts(h.Node) {
					if p, here := d.On(host); here {
						at = append(at, p)
					}
				}
				g.said[d] = j.evidence.hold(d, &h, at)
			}
			all = append(all, g)
		}
	}
	return all
}

// isNew reports whether a rendered hold on a disk is one that neither the lock nor the cluster has.
func (j *judge) isNew(g *grip, d *Disk) bool {
	for _, was := range slices.Concat(j.before, j.live) {
		if was.Owner == g.Owner && slices.Contains(was.disks, d) {
			return false
		}
	}
	return true
}

// apart: no disk has two owners.
func (j *judge) apart() *Violation {
	var found *Violation
	chosen := map[*Disk]string{}
	for i := range j.now {
		g := &j.now[i]
		for _, d := range g.disks {
			if !j.isNew(g, d) {
				continue
			}
			chosen[d] = g.Owner
			for _, other := range slices.Concat(j.now, j.live, j.hidden) {
				if other.Owner == g.Owner || !slices.Contains(other.disks, d) {
					continue
				}
				if !j.evidence.joined(d, g.said[d], other.said[d]) {
					j.out.Unknown++
				} else if found == nil {
					found = &Violation{TwoOwners, d.ID, fmt.Sprintf("disk %s is chosen by %s, and %s", j.world.called(d), g, &other)}
				}
			}
		}
	}
	j.out.Chosen = chosen
	return found
}

// once: no disk is in two objects of one owner, nor twice in one.
func (j *judge) once() *Violation {
	for i := range j.now {
		g := &j.now[i]
		for _, other := range slices.Concat(j.now[i+1:], j.live) {
			if other.Owner != g.Owner || other.Kind != g.Kind || other.Object == g.Object && (other.source == "" || other.Node == g.Node && other.Text == g.Text) {
				continue
			}
			for _, d := range g.disks {
				if !slices.Contains(other.disks, d) || j.inLock(g, d) && j.inLock(&other, d) || !j.evidence.joined(d, g.said[d], other.said[d]) {
					continue
				}
				return &Violation{TwoObjects, d.ID, fmt.Sprintf("disk %s is in %s, and in %s", j.world.called(d), g, &other)}
			}
		}
	}
	return nil
}

// inLock reports whether an earlier render had the same.
func (j *judge) inLock(g *grip, d *Disk) bool {
	return slices.ContainsFunc(j.before, func(was grip) bool { return was.Object == g.Object && slices.Contains(was.disks, d) })
}

// empty: no disk is chosen that a report shows to hold data.
func (j *judge) empty() *Violation {
	for i := range j.now {
		g := &j.now[i]
		for _, d := range g.disks {
			own := d.Mark != "" && strings.HasPrefix(g.Object, strings.Replace(d.Mark, "/", " /", 1))
			// Its own object may live where the snapshot does not show it: claims show that the disk is its own.
			own = own || slices.ContainsFunc(j.world.holders(d), func(l *Live) bool {
				return l.Rendered && strings.Contains(l.Text, "poolwright.io/owner: "+g.Owner+"\n")
			})
			if d.Content != "" && !own && j.isNew(g, d) && j.evidence.shown(d, g.said[d]) {
				return &Violation{HasData, d.ID, fmt.Sprintf("disk %s has %s, and is chosen by %s", j.world.called(d), d.Content, g)}
			}
		}
	}
	return nil
}

// byContent: what is rendered names disks, not what is on them; and one disk of a node, not two.
func (j *judge) byContent() *Violation {
	for i := range j.now {
		g := &j.now[i]
		if g.Path != "" && strings.HasPrefix(g.Path, byID) && len(tokens("", g.Path)) == 0 {
			return &Violation{ByContent, g.Text, fmt.Sprintf("%s names a disk by what is on it", g)}
		}
		if len(g.disks) == 2 && j.isNew(g, g.disks[0]) && len(j.world.hosts(g.Node)) == 1 {
			host := j.world.hosts(g.Node)[0]
			_, first := g.disks[0].On(host)
			_, second := g.disks[1].On(host)
			if names := tokens(g.Node, g.Path); first && second && j.evidence.apart(g.disks[0], g.disks[1]) && j.evidence.named(g.disks[0], names) && j.evidence.named(g.disks[1], names) {
				return &Violation{Ambiguous, g.Text, fmt.Sprintf("%s means %s as well as %s", g, j.world.called(g.disks[0]), j.world.called(g.disks[1]))}
			}
		}
	}
	return nil
}

// again: a second render changes nothing.
func again(p *Package, first Rendered) *Violation {
	second, err := p.With(first.Lock).Render()
	if err != nil {
		return &Violation{SecondTime, "", err.Error()}
	}
	for _, f := range second.Findings {
		if f.Severity == finding.Error {
			return &Violation{SecondTime, f.Object.Kind + " " + f.Rule, "the second render fails: " + f.String()}
		}
	}
	if changed := differences(first.Lock, second.Lock); len(changed) > 0 {
		file, _, _ := strings.Cut(changed[0], " ")
		return &Violation{SecondTime, file, strings.Join(changed, "; ")}
	}
	return nil
}

// differences lists the files that are not the same, with the first lines that differ.
func differences(a, b []Chunk) []string {
	text := func(chunks []Chunk) map[string]string {
		all := map[string]string{}
		for _, c := range chunks {
			all[c.File] += c.Text
		}
		return all
	}
	was, is := text(a), text(b)
	var found []string
	for file, then := range was {
		switch now, there := is[file]; {
		case !there:
			found = append(found, file+" is gone")
		case now != then:
			found = append(found, file+lines(then, now))
		}
	}
	for file := range is {
		if _, known := was[file]; !known {
			found = append(found, file+" is new")
		}
	}
	slices.Sort(found)
	return found
}

func lines(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range was {
		if i >= len(is) || was[i] != is[i] {
			return fmt.Sprintf(" line %d: %q, then %q", i+1, was[i], strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""))
		}
	}
	return " has more lines"
}

func (g *grip) String() string {
	switch g.source {
	case "":
		return fmt.Sprintf("%s (there already: %s)", g.Object, g.Text)
	case "rendered":
		return fmt.Sprintf("%s of %s (%s)", g.Object, g.Owner, g.Text)
	}
	return fmt.Sprintf("%s of %s (in %s: %s)", g.Object, g.Owner, g.source, g.Text)
}

// called names a disk with where it is.
func (w *World) called(d *Disk) string {
	text := d.ID + " (" + string(d.Bus)
	for _, s := range []string{d.WWN, d.UUID, d.Serial, d.Handle} {
		if s != "" {
			text += " " + s
		}
	}
	for _, at := range d.Places {
		text += fmt.Sprintf(", %s of node %s", at.Kernel, at.Host.Name)
	}
	return text + ")"
}
