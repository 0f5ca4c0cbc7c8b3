package view

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/schema/finding"
)

// Spec is a document that a person wrote.
type Spec struct {
	Kind      string       `json:"kind"`
	Namespace Text         `json:"namespace"`
	Name      string       `json:"name"`
	File      string       `json:"file"`
	Line      int          `json:"line"`
	State     health.Phase `json:"state"`
	Reason    Text         `json:"reason"`
	Message   Text         `json:"message"`
	Findings  int          `json:"findings"`

	Object *krm.Object `json:"-"`
}

// Specs are those of the package, by kind, namespace and name.
func (v *View) Specs() []Spec { return v.specs() }

func (v *View) readSpecs() []Spec {
	statuses := v.byObject()
	count := map[finding.Ref]int{}
	for _, f := range v.Findings {
		if f.Severity != finding.Info {
			count[f.Object]++
		}
	}
	var all []Spec
	for _, o := range v.function.Kinds().Specs(v.Package.Objects) {
		at := o.At()
		s := Spec{Kind: o.Kind, Namespace: Text(o.Namespace), Name: o.Name, File: at.File, Line: at.Line, State: health.Progressing, Findings: count[o.Ref], Object: o}
		if st, known := statuses[o.Ref]; known {
			s.State, s.Reason, s.Message = st.Phase, Text(st.Reason), Text(st.Message)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// byObject are the statuses by their specs.
func (v *View) byObject() map[finding.Ref]*health.Status {
	statuses := map[finding.Ref]*health.Status{}
	for i := range v.statuses() {
		statuses[v.statuses()[i].Spec] = &v.statuses()[i]
	}
	return statuses
}

// SpecNamed finds a spec, or else the most similar name of its kind.
func (v *View) SpecNamed(kind, namespace, name string) (found *Spec, near string) {
	var names []string
	for i := range v.specs() {
		s := &v.specs()[i]
		switch {
		case s.Kind != kind || string(s.Namespace) != namespace:
		case s.Name == name:
			return s, ""
		default:
			names = append(names, s.Name)
		}
	}
	return nil, nearest(name, names)
}

// FindingsOf are those about a spec, errors first.
func (v *View) FindingsOf(ref finding.Ref) []finding.Finding {
	var about []finding.Finding
	for _, severity := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		for _, f := range v.Findings {
			if f.Object == ref && f.Severity == severity {
				about = append(about, f)
			}
		}
	}
	return about
}

// SpecObjects are the specs as objects.
func (v *View) SpecObjects() []*krm.Object {
	return v.function.Kinds().Specs(v.Package.Objects)
}

// Inside are the specs of the volumes in a group.
func (v *View) Inside(group finding.Ref) []*krm.Object {
	var inside []*krm.Object
	for _, g := range v.groups() {
		if g.Stock.Object != group {
			continue
		}
		for _, of := range v.volumes() {
			if of.Stock.Group == g.Stock.LVM && of.Stock.Node == g.Stock.Node && of.Stock.Spec && of.Stock.Owner == "" {
				if s, _ := v.SpecNamed(of.Stock.Object.Kind, "", of.Name); s != nil {
					inside = append(inside, s.Object)
				}
			}
		}
	}
	return inside
}

// Order is the spec of a volume or a group that a person orders.
func (v *View) Order(o stock.Order) *krm.Object { return v.function.Order(o) }
