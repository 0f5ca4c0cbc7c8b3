package fn

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Notes of kustomize on the objects that it passes to functions: the names that they had,
// the first one first.
const (
	annotationPreviousNames      = "internal.config.kubernetes.io/previousNames"
	annotationPreviousNamespaces = "internal.config.kubernetes.io/previousNamespaces"
)

// refuseRenamed is the error for output that kustomize has renamed before it called the
// function: under another name it is no lock, and a second owner of the same disks.
func refuseRenamed(output []*krm.Object) []finding.Finding {
	var names []string
	for _, o := range output {
		name, _, _ := strings.Cut(o.Annotation(annotationPreviousNames), ",")
		namespace, _, _ := strings.Cut(o.Annotation(annotationPreviousNamespaces), ",")
		was := finding.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: cmp.Or(name, o.Name)}
		if was.Namespace != "" {
			was.Namespace = cmp.Or(namespace, was.Namespace)
		}
		if was.Name != o.Name || was.Namespace != o.Namespace {
			names = append(names, fmt.Sprintf("%s (was %s)", o.Ref, strings.TrimPrefix(was.String(), o.Kind+" ")))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []finding.Finding{{
		Severity: finding.Error, Rule: "renamed-output",
		Message: "namePrefix, nameSuffix or namespace of a kustomization renames what is rendered, which then claims the disks of the original: " + finding.Names(names) + "; remove it, or leave rendered out of its resources",
	}}
}
