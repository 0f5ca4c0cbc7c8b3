package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

// TestReportFolds: a large cluster must not bury what matters under a line for each of
// its disks.
func TestReportFolds(t *testing.T) {
	spec := finding.Ref{APIVersion: "dao.mayadata.io/v1alpha1", Kind: "CStorClusterConfig", Namespace: "openebs", Name: "prod"}
	var fs []finding.Finding
	for i := range 802 {
		fs = append(fs, finding.Finding{Severity: finding.Warning, Rule: "inactive", Object: spec, Message: fmt.Sprintf("disk d%d", i)})
	}
	fs = append(fs, finding.Finding{Severity: finding.Error, Rule: "other", Object: spec, Message: "last"})
	var b strings.Builder
	if err := report(streams{err: &b}, fs); err != errFindings {
		t.Errorf("the error among them is lost: %v", err)
	}
	want := "warning: CStorClusterConfig openebs/prod: disk d4\n" +
		"error: CStorClusterConfig openebs/prod: last\n" +
		"warning: CStorClusterConfig openebs/prod: and 797 more like this (inactive); -v prints all\n"
	if got := b.String(); strings.Count(got, "\n") != finding.Few+2 || !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
	b.Reset()
	verbose := true
	if err := report(streams{err: &b, verbose: &verbose}, fs); err != errFindings || strings.Count(b.String(), "\n") != len(fs) {
		t.Errorf("verbose: %v, %d lines of %d", err, strings.Count(b.String(), "\n"), len(fs))
	}
}
