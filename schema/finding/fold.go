package finding

import (
	"fmt"
	"regexp"
)

// More counts findings of one kind that were folded away.
type More struct {
	Severity Severity
	Rule     string
	Object   Ref // without a name where there are several
	Count    int
}

// Few is how many findings of one kind are shown to a person: a large cluster must not bury
// what matters under a line for each of its disks.
const Few = 5

// Line counts the findings that are left out, and says where they are.
func (m More) Line(where string) string {
	about := ""
	if m.Object != (Ref{}) {
		about = m.Object.String() + ": "
	}
	return fmt.Sprintf("%s: %sand %d more like this (%s); %s", m.Severity, about, m.Count, m.Rule, where)
}

// Fold keeps the first few findings of each kind, in their order, and counts the
// others. Of one kind are those of one severity and rule about one object, and about
// one field, whichever item of a list it is in. Where a kind has them about more than
// a few objects, those about the first few objects are kept.
//
// An error about a file is a kind of its own: each has a cause that has to be found.
func Fold(fs []Finding, few int) (kept []Finding, more []More) {
	counts := map[fold]*tally{}
	objects := map[fold]int{}
	for _, f := range fs {
		key := foldOf(f)
		t := counts[key]
		if t == nil {
			t = &tally{}
			counts[key] = t
			all := key
			all.object = Ref{APIVersion: key.object.APIVersion, Kind: key.object.Kind}
			if objects[all]++; objects[all] > few && all.object.Kind != "" {
				if counts[all] == nil {
					counts[all] = &tally{kept: few}
				}
				t = counts[all]
				counts[key] = t
				key = all
			}
		}
		if t.kept < few {
			t.kept++
			kept = append(kept, f)
			continue
		}
		if t.more == 0 {
			t.more = len(more) + 1
			more = append(more, More{Severity: f.Severity, Rule: f.Rule, Object: key.object})
		}
		more[t.more-1].Count++
	}
	return kept, more
}

// tally is how many findings of a kind were kept, and which of the others counts the
// rest, from 1.
type tally struct{ kept, more int }

// fold is a kind of finding.
type fold struct {
	severity    Severity
	rule        string
	object      Ref
	field, file string
}

var item = regexp.MustCompile(`\[[^\]]*\]`)

func foldOf(f Finding) fold {
	key := fold{severity: f.Severity, rule: f.Rule, object: f.Object, field: item.ReplaceAllString(f.Field, "[]")}
	if f.Severity == Error && f.Object == (Ref{}) {
		key.file = f.Pos.File
	}
	return key
}
