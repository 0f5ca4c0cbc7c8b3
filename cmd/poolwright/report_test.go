package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

// TestReportFoldsNotes: a large cluster must not bury what matters under a line
// for each node, and no warning may be left out.
func TestReportFoldsNotes(t *testing.T) {
	spec := finding.Ref{APIVersion: "dao.mayadata.io/v1alpha1", Kind: "CStorClusterConfig", Namespace: "openebs", Name: "prod"}
	var fs []finding.Finding
	for i := range 100 {
		for _, severity := range []finding.Severity{finding.Info, finding.Warning} {
			fs = append(fs, finding.Finding{Severity: severity, Rule: "awaiting-volumes", Object: spec, Message: fmt.Sprintf("node n%d", i)})
		}
	}
	var b strings.Builder
	if err := report(&b, fs); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "info: "); got != maxNotes+1 {
		t.Errorf("%d notes instead of %d:\n%s", got, maxNotes+1, b.String())
	}
	if got := strings.Count(b.String(), "warning: "); got != 100 {
		t.Errorf("%d of 100 warnings", got)
	}
	if !strings.Contains(b.String(), "and 90 more like this (awaiting-volumes)") {
		t.Errorf("the rest is not counted:\n%s", b.String())
	}
}
