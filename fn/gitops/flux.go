package gitops

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Flux has Flux apply an application, each level by a Kustomization of its own. It goes
// from one level to the next as soon as everything of the one is well.
type Flux struct {
	Name   string // of the application, with which the names of what is made begin
	Source Source
	Path   string // where the output of the spec lies in the source, such as ./rendered/x
	Checks []Check
}

// Source is the object from which Flux takes what it applies.
type Source struct{ Kind, Name, Namespace string }

// Check configures the health of a kind that an engine does not know: each is an
// expression in CEL over an object, "" for none.
type Check struct {
	krm.GroupKind
	Version                     string
	InProgress, Failed, Current string
}

// What a Kustomization does unless a level says otherwise.
const (
	fluxTimeout = "10m"
	fluxFile    = "flux.yaml" // never kustomization.yaml, which is kustomize's own
)

// Encode adds to the objects what the charts become, arranges all of them, and adds a
// Kustomization for each level. Whether an object is stateful is to be known.
func (f Flux) Encode(g Graph, objects []Object, charts []Chart) []Object {
	for i := range charts {
		objects = append(objects, charts[i].flux(f)...)
	}
	there := map[string]bool{}
	for i := range objects {
		o := &objects[i]
		o.Engine = "flux"
		there[o.Level] = true
	}
	needed := g.needed(objects)
	g.Arrange(objects)
	for _, level := range g {
		if there[level.Name] {
			objects = append(objects, Object{
				Object: f.kustomization(g, level, objects, there, needed[level.Name]), File: fluxFile, Engine: "flux", Stage: g.index(level.Name) * stageStep,
			})
		}
	}
	return objects
}

// kustomization applies one level. One that others hold state by stays when the
// Kustomization goes: Flux removes all of them at once, and without an operator what is
// being deleted would wait for ever.
func (f Flux) kustomization(g Graph, level Level, objects []Object, there map[string]bool, needed bool) *krm.Object {
	var spec []document.Field
	if waits := g.waits(level.Name, there); len(waits) > 0 {
		var items []document.Node
		for _, before := range waits {
			items = append(items, document.Object(document.F("name", document.Text(f.level(g, before)))))
		}
		spec = append(spec, document.F("dependsOn", document.List(items...)))
	}
	deletion := "MirrorPrune"
	if needed {
		deletion = "Orphan"
	}
	spec = append(spec,
		document.F("interval", document.Text("10m")),
		document.F("retryInterval", document.Text("1m")),
		document.F("timeout", document.Text(cmp.Or(level.Timeout, fluxTimeout))),
		document.F("path", document.Text(f.Path+"/"+g.Folder(level.Name))),
		document.F("sourceRef", document.Object(document.F("kind", document.Text(f.Source.Kind)), document.F("name", document.Text(f.Source.Name)))),
		document.F("prune", document.Bool(true)),
		document.F("deletionPolicy", document.Text(deletion)),
		document.F("wait", document.Bool(true)),
	)
	if checks := f.checks(level.Name, objects); len(checks) > 0 {
		spec = append(spec, document.F("healthCheckExprs", document.List(checks...)))
	}
	return krm.Make(fluxGroup+"/v1", "Kustomization", f.Source.Namespace, f.level(g, level.Name), document.F("spec", document.Object(spec...)))
}

// level is what the Kustomization of a level is called.
func (f Flux) level(g Graph, level string) string { return f.Name + "-" + g.Folder(level) }

// checks lists those of the kinds that a level holds.
func (f Flux) checks(level string, objects []Object) []document.Node {
	var checks []document.Node
	for _, c := range f.Checks {
		if !slices.ContainsFunc(objects, func(o Object) bool { return o.Level == level && o.GroupKind() == c.GroupKind }) {
			continue
		}
		fields := []document.Field{
			document.F("apiVersion", document.Text(c.Group+"/"+c.Version)), document.F("kind", document.Text(c.Kind)),
		}
		for _, e := range []struct{ field, text string }{{"inProgress", c.InProgress}, {"failed", c.Failed}, {"current", c.Current}} {
			if e.text != "" {
				fields = append(fields, document.F(e.field, document.Text(e.text)))
			}
		}
		checks = append(checks, document.Object(fields...))
	}
	return checks
}
