package localvolume

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// checkName holds what is rendered against what a person wrote under the same name.
func (t *template) checkName(i *item) {
	for _, o := range t.all.entries {
		if o.template == nil && o.Object.ID() == t.cfg.id(i.name) {
			t.Report(finding.Error, "collision", "", "renders %s, and the package has one of that name at %s:%d; rename the template, or take that out", t.called(i), o.Object.At().File, o.Object.At().Line)
		}
	}
}

// checkSpecimen holds an object as the template would make it on some node against the limits of LVM, where it
// makes none: what is wrong with it is wrong on every node.
func (t *template) checkSpecimen() {
	if t.cfg.wanted == nil {
		return
	}
	i := &item{name: itemName(t.Object.Name, "node", 1)}
	t.enter(i)
	i.entry.checkNames()
	for _, f := range i.entry.Findings {
		t.Collect(t.Finding(f.Severity, f.Rule, fieldOf(f.Field), t.called(i)+": "+f.Message))
	}
}

// collect takes over what the checks found of what is rendered, once for all objects of which
// it is the same.
func (t *template) collect() {
	type key struct {
		severity    finding.Severity
		rule, field string
	}
	first, others := map[key]string{}, map[key][]string{}
	var order []key
	for _, i := range t.items {
		t.checkName(i)
		for _, f := range i.entry.Findings {
			said := i.held != "" && f.Severity != finding.Error && slices.Contains([]string{"node-missing", "disk-missing", "disk-unknown", "other-node"}, f.Rule)
			if said {
				continue
			}
			k := key{f.Severity, f.Rule, fieldOf(f.Field)}
			switch _, found := first[k]; {
			case !found:
				first[k] = t.called(i) + ": " + f.Message
				order = append(order, k)
			case !slices.Contains(others[k], i.name):
				others[k] = append(others[k], i.name)
			}
		}
	}
	for _, k := range order {
		message := first[k]
		if more := others[k]; len(more) > 0 {
			message += fmt.Sprintf("; the same goes for %s", finding.Names(more))
		}
		t.Collect(t.Finding(k.severity, k.rule, k.field, message))
	}
}

// fieldOf is the field of a template that becomes a field of what is rendered.
func fieldOf(field string) string {
	switch {
	case field == "spec.nodeName":
		return "spec.nodeSelector"
	case field == "spec."+raw, strings.HasPrefix(field, "spec."+raw+"."), strings.HasPrefix(field, "spec."+partition+".disk"), strings.HasPrefix(field, "spec."+devices):
		return "spec.diskSelector"
	case field == "spec", strings.HasPrefix(field, "spec."):
		return "spec.template." + field
	}
	return field
}
