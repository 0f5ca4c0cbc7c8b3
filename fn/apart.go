package fn

import (
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Apart finds which files of an output are not applied with the rest of it: those in a
// folder that another object of the output has its engine apply. The files are given
// relative to the output folder.
func Apart(output []*krm.Object) func(file string) bool {
	var applied []string
	for _, o := range output {
		if folder := gitops.Applied(o); folder != "" {
			applied = append(applied, "/"+path.Clean(folder))
		}
	}
	return func(file string) bool {
		folder := "/" + path.Dir(file)
		return slices.ContainsFunc(applied, func(a string) bool { return strings.HasSuffix(a, folder) })
	}
}

// together leaves out what is applied apart. Without files there is no other place for it
// than among the rest, where it would be applied twice.
func together(rendered []Rendered) []Rendered {
	objects := make([]*krm.Object, len(rendered))
	for i := range rendered {
		objects[i] = rendered[i].Object
	}
	apart := Apart(objects)
	return slices.DeleteFunc(slices.Clone(rendered), func(r Rendered) bool { return apart(r.Path) })
}

// apartWithoutLock refuses output of which only that part is among the items that is
// applied together: which nodes and disks were chosen is in the other part.
func apartWithoutLock(output []*krm.Object) []finding.Finding {
	var findings []finding.Finding
	seen := map[string]bool{}
	for _, o := range output {
		owner := o.Owner()
		if gitops.Applied(o) == "" || seen[owner] {
			continue
		}
		seen[owner] = true
		if !slices.ContainsFunc(output, func(other *krm.Object) bool {
			return other.Owner() == owner && gitops.Applied(other) == "" && other.Group() != o.Group()
		}) {
			findings = append(findings, finding.Finding{
				Severity: finding.Error, Rule: "lock-missing", Object: o.Ref, Pos: o.At(),
				Message: "applies what is not among the items, and there it says what was chosen: kustomize shows the function only what is listed; use poolwright build, or poolwright render and no function",
			})
		}
	}
	return findings
}
