package scaffold

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/document"
)

// operators are those of a label selector, as terms call them.
func operators() map[selection.Operator]string {
	return map[selection.Operator]string{
		selection.In: "In", selection.NotIn: "NotIn", selection.NotEquals: "NotIn",
		selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
		selection.GreaterThan: "Gt", selection.LessThan: "Lt",
	}
}

// ParseTerms reads a label selector as kubectl does: "storage=cstor,zone in (a,b)".
// A key such as spec.details.driveType means the field. An empty text is no term.
func ParseTerms(text string) ([]selector.Term, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return nil, nil
	}
	var term selector.Term
	for _, r := range requirements {
		values := slices.Sorted(maps.Keys(r.Values()))
		switch operator, equal := operators()[r.Operator()]; {
		case isField(r.Key()) && !equal:
			term.MatchFields = append(term.MatchFields, selector.Requirement{Key: r.Key(), Operator: "In", Values: values})
		case isField(r.Key()):
			term.MatchFields = append(term.MatchFields, selector.Requirement{Key: r.Key(), Operator: operator, Values: values})
		case equal:
			term.MatchExpressions = append(term.MatchExpressions, selector.Requirement{Key: r.Key(), Operator: operator, Values: values})
		default:
			if term.MatchLabels == nil {
				term.MatchLabels = map[string]string{}
			}
			term.MatchLabels[r.Key()] = values[0]
		}
	}
	return []selector.Term{term}, nil
}

func isField(key string) bool {
	first, _, found := strings.Cut(key, ".")
	return found && !strings.Contains(key, "/") && slices.Contains([]string{"metadata", "spec", "status"}, first)
}

// reported makes fields of the keys that are those of a disk in a NodeInventory: nothing
// else is there to select it by, and it has no labels.
func reported(terms []selector.Term) []selector.Term {
	keys := []string{"path", "wwn", "serial", "model", "size", "rotational", "transport", "raid.controller"}
	var all []selector.Term
	for _, t := range terms {
		made := selector.Term{MatchFields: slices.Clone(t.MatchFields)}
		for _, key := range slices.Sorted(maps.Keys(t.MatchLabels)) {
			if slices.Contains(keys, key) {
				made.MatchFields = append(made.MatchFields, selector.Requirement{Key: key, Operator: "In", Values: []string{t.MatchLabels[key]}})
				continue
			}
			if made.MatchLabels == nil {
				made.MatchLabels = map[string]string{}
			}
			made.MatchLabels[key] = t.MatchLabels[key]
		}
		for _, r := range t.MatchExpressions {
			if slices.Contains(keys, r.Key) {
				made.MatchFields = append(made.MatchFields, r)
			} else {
				made.MatchExpressions = append(made.MatchExpressions, r)
			}
		}
		all = append(all, made)
	}
	return all
}

// termList writes terms as a spec has them.
func termList(terms []selector.Term) *document.Node {
	var items []document.Node
	for _, t := range terms {
		var fields []document.Field
		var pairs []document.Field
		for _, key := range slices.Sorted(maps.Keys(t.MatchLabels)) {
			pairs = append(pairs, document.F(key, document.Text(t.MatchLabels[key])))
		}
		if len(pairs) > 0 {
			fields = append(fields, document.F("matchLabels", document.Object(pairs...)))
		}
		if len(t.MatchExpressions) > 0 {
			fields = append(fields, document.F("matchExpressions", requirementList(t.MatchExpressions)))
		}
		if len(t.MatchFields) > 0 {
			fields = append(fields, document.F("matchFields", requirementList(t.MatchFields)))
		}
		items = append(items, document.Object(fields...))
	}
	list := document.List(items...)
	return &list
}

func requirementList(requirements []selector.Requirement) document.Node {
	var items []document.Node
	for _, r := range requirements {
		fields := []document.Field{document.F("key", document.Text(r.Key)), document.F("operator", document.Text(r.Operator))}
		var values []document.Node
		for _, v := range r.Values {
			values = append(values, document.Text(v))
		}
		if len(values) > 0 {
			fields = append(fields, document.F("values", document.List(values...)))
		}
		items = append(items, document.Object(fields...))
	}
	return document.List(items...)
}
