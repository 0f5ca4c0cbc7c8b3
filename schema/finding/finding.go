// Package finding is the form of everything Poolwright has to say about its
// input: what object, which field, where in the file, what is wrong and what to
// do about it. Findings go to standard error as one line each, and to results[]
// of a ResourceList.
package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// Severity ranks a finding. Only an Error stops a render.
type Severity string

// The severities of the KRM function specification.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Ref names an object. Namespace is empty for cluster-scoped objects.
type Ref struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// GroupKind names a kind of object in all of its versions. Group is "" for the core
// group.
type GroupKind struct{ Group, Kind string }

// Compare orders kinds by group, then name.
func (k GroupKind) Compare(other GroupKind) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), cmp.Compare(k.Kind, other.Kind))
}

// String is the name as kubectl takes it: Kind.group, or Kind of the core group.
func (k GroupKind) String() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// Group is the API group of the object, "" for the core group.
func (r Ref) Group() string {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// GroupKind is the kind of the object.
func (r Ref) GroupKind() GroupKind { return GroupKind{r.Group(), r.Kind} }

// String gives "Kind namespace/name", or "Kind name".
func (r Ref) String() string {
	switch {
	case r.Kind == "":
		return r.Name
	case r.Namespace == "":
		return strings.TrimSuffix(r.Kind+" "+r.Name, " ")
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Finding is one thing to say.
type Finding struct {
	Severity Severity
	Object   Ref               // zero where no object is meant
	Field    string            // spec.poolConfig.raidType, spec.list[2].key; "" for the whole object
	Pos      document.Position // zero where it is not known
	Message  string            // what is wrong and what to do, one line
	Rule     string            // short stable name of the rule, for machines: "enum", "unknown-field"
	Current  string            // the value found, where one is meant
	Proposed string            // the value proposed, where there is one
}

// String gives "file:line:col: severity: Kind namespace/name: field: message",
// leaving out what is not known.
func (f Finding) String() string {
	var b strings.Builder
	if f.Pos.File != "" {
		b.WriteString(f.Pos.File + ":")
		if f.Pos.Line > 0 {
			b.WriteString(strconv.Itoa(f.Pos.Line) + ":")
			if f.Pos.Column > 0 {
				b.WriteString(strconv.Itoa(f.Pos.Column) + ":")
			}
		}
		b.WriteString(" ")
	}
	b.WriteString(string(f.Severity) + ": ")
	if ref := f.Object.String(); ref != "" {
		b.WriteString(ref + ": ")
	}
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.Message)
	return b.String()
}

// Sort orders findings by place, then object, field and text, and drops repeats.
func Sort(fs []Finding) []Finding {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Object.Kind, b.Object.Kind),
			cmp.Compare(a.Object.Namespace, b.Object.Namespace),
			cmp.Compare(a.Object.Name, b.Object.Name),
			cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(fs)
}

// Failed reports whether any finding is an error.
func Failed(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == Error })
}
