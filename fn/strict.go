package fn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// refused reports the fields of an object for which somebody refuses it (system.Kind.Strict): those
// that its kind does not have. running says that the object exists in the cluster. Its
// definition there keeps them, so that every edit meets them.
func (f *Function) refused(o *krm.Object, running bool) []finding.Finding {
	kind, _ := f.kinds.Find(o.GroupKind())
	if kind.Strict == "" {
		return nil
	}
	found := f.schemas.Unknown(o.Position, o.Ref, o.Node)
	for i := range found {
		if running {
			found[i].Severity = finding.Warning
			found[i].Message += "; remove it from the running object: " + kind.Strict + " refuses every edit that leaves it there"
		} else {
			found[i].Message += "; correct or remove it: " + kind.Strict + " refuses an object that has it"
		}
	}
	return found
}

// reportRefused reports such fields of manifests that people wrote and of running objects.
func (pkg *prepared) reportRefused() {
	for _, o := range pkg.others {
		pkg.findings = append(pkg.findings, pkg.function.refused(o, false)...)
	}
	facts := pkg.facts
	if pkg.live != nil {
		facts = pkg.live
	}
	for _, o := range facts {
		pkg.findings = append(pkg.findings, pkg.function.refused(o, true)...)
	}
}

// withoutRefused drops what is said of fields that no spec can say where they are no fields at all.
func withoutRefused(said, refused []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(said, func(s finding.Finding) bool {
		return slices.ContainsFunc(refused, func(f finding.Finding) bool {
			rest, below := strings.CutPrefix(s.Field, f.Field)
			return below && s.Object == f.Object && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	})
}

var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// assessRefused judges the change of a field that its kind does not have.
func (f *Function) assessRefused(c *change.Change, field *change.Field) bool {
	o, risk := c.New, change.Disruptive
	if field.Action == change.Remove {
		o, risk = c.Old, change.Safe
	}
	for _, u := range f.refused(o, false) {
		if shape := indexes.ReplaceAllString(u.Field, "[]"); field.Shape == shape || strings.HasPrefix(field.Shape, shape+".") {
			c.Judge(risk, field.Path, u.Message)
			return true
		}
	}
	return false
}
