package fn

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// mostDrainRenders is how many renders of a drain are tried.
const mostDrainRenders = 500

// drain takes everything off a node: it renders with consent until no render changes anything, and each time has the facts follow as
// the operators would. settled are the facts without what other changes lose; they follow, too.
func (f *Function) drain(p Package, q Question, pkg *prepared, node string, settled []*krm.Object) (Package, []*krm.Object, *resilience.DrainPlan) {
	d := &resilience.DrainPlan{Node: node, Steps: []resilience.DrainStep{}}
	p, drainers := f.consentToDrain(p, pkg, node)
	facts := pkg.objects()
	said := map[resilience.DrainStep]bool{}
	var result Result
	for len(drainers) > 0 {
		next := f.prepareFor(p, q)
		next.setObjects(*facts)
		if result = next.render(); finding.Failed(result.Findings) {
			d.Blocked = firstOf(result.Findings, finding.Error)
			return p, settled, d
		}
		output := readBack(result.Objects)
		if sameOutput(p.Output, output) {
			break
		}
		if d.Renders++; d.Renders == mostDrainRenders {
			d.Blocked = fmt.Sprintf("it is not done after %d renders", d.Renders)
			return p, settled, d
		}
		for _, step := range stepsOf(result.Transitions) {
			if !said[step] {
				said[step] = true
				d.Steps = append(d.Steps, step)
			}
		}
		for _, s := range drainers {
			*facts, settled = s.Settle(*facts, p.Output, output), s.Settle(settled, p.Output, output)
		}
		p.Output = append(output, othersIn(p.Output)...)
	}
	left := f.prepareFor(p, q)
	left.setObjects(settled)
	if stays := f.storage(left.index()).On(node); len(stays) > 0 {
		d.Blocked = finding.Names(stays) + finding.Agree(len(stays), " stays", " stay") + " on node " + node
		if why := firstOf(result.Findings, finding.Warning); why != "" {
			d.Blocked += "; " + why
		} else if len(drainers) == 0 {
			d.Blocked += "; Poolwright drains cStor pools: see the documentation of its storage system"
		}
	}
	return p, settled, d
}

// consentToDrain puts the wish and the consent into every spec that has something on a node.
func (f *Function) consentToDrain(p Package, pkg *prepared, node string) (Package, []system.Drainer) {
	var drainers []system.Drainer
	for _, spec := range pkg.specs {
		drainer, drains := f.of(spec.Object.OwnerKey()).System.(system.Drainer)
		if !drains {
			continue
		}
		at := slices.Index(p.Objects, spec.Object) // -1 of one in a List
		if changed := drainer.Drain(spec, node); changed != nil && at >= 0 {
			p.Objects = slices.Clone(p.Objects)
			p.Objects[at] = changed
			if !slices.Contains(drainers, drainer) {
				drainers = append(drainers, drainer)
			}
		}
	}
	return p, drainers
}

// stepsOf are the steps that a render takes.
func stepsOf(transitions []transition.Transition) []resilience.DrainStep {
	var steps []resilience.DrainStep
	for i := range transitions {
		for _, s := range transitions[i].Steps {
			if s.State == transition.Now {
				steps = append(steps, resilience.DrainStep{Kind: s.Kind, Text: s.What})
			}
		}
	}
	return steps
}

// firstOf is the first finding of a severity, or "".
func firstOf(fs []finding.Finding, severity finding.Severity) string {
	for _, f := range fs {
		if f.Severity == severity {
			return f.Object.String() + ": " + f.Message
		}
	}
	return ""
}

// readBack reads rendered objects as the next render does.
func readBack(rendered []Rendered) []*krm.Object {
	var objects []*krm.Object
	for _, r := range rendered {
		read, err := krm.Parse(&document.Source{Name: RenderedFolder + "/" + r.Path, Data: r.Object.Raw})
		if err != nil {
			panic(err) // the program has written it
		}
		objects = append(objects, read...)
	}
	return objects
}

// sameOutput reports whether two outputs have the same objects.
func sameOutput(before, after []*krm.Object) bool {
	text := map[krm.ID][]byte{}
	for _, o := range before {
		if o.RenderedFor() != "" {
			text[o.ID()] = o.Raw
		}
	}
	if len(text) != len(after) {
		return false
	}
	for _, o := range after {
		if !bytes.Equal(bytes.TrimSpace(text[o.ID()]), bytes.TrimSpace(o.Raw)) {
			return false
		}
	}
	return true
}

// othersIn are the objects of an output folder that Poolwright did not render.
func othersIn(output []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(output), func(o *krm.Object) bool { return o.RenderedFor() != "" })
}
