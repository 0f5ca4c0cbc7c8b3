package main

import (
	"slices"
	"strings"
	"testing"
)

// TestChoose: which packages and scripts a changed file touches.
func TestChoose(t *testing.T) {
	repository := tree{
		systems: []string{"cstor", "cstorvolume", "diskpool", "localvolume", "hypercloud"},
		scripts: map[string]string{
			"cloud-nodes": "# Nodes.\npackage gke pkg\n", "cstor-preview": "package mirrors pkg\n", "local-status": "", "verify-local": "",
			"diskpool-links": "", "convert-diskpools": "", "hypercloud-mons": "", "plan": "package gke-two pkg\n", "plan-json": "", "disks-chosen": "",
		},
		packages: map[string]bool{"cmd/poolwright": true, "fn/cstor": true, "fn/cstor/pool": true, "fn/localvolume": true, "fn/disk": true, "schema": true, "nodeagent/guard": true},
		modules:  []string{"test/engines/kpt"},
	}
	all := "cloud-nodes convert-diskpools cstor-preview diskpool-links disks-chosen hypercloud-mons local-status plan plan-json verify-local"
	cstor := "cloud-nodes cstor-preview disks-chosen plan plan-json"
	for _, c := range []struct{ file, system, packages, scripts, left string }{
		{file: "fn/localvolume/render.go", packages: "fn/localvolume", scripts: "local-status verify-local"},
		{file: "fn/cstor/pool/pool.go", packages: "fn/cstor/pool", scripts: cstor},
		{file: "fn/localvolume/check_test.go", packages: "fn/localvolume"},
		{file: "fn/cstor/testdata/a/b.yaml", packages: "fn/cstor"},
		{file: "fn/disk/ledger.go", packages: "fn/disk", scripts: all},
		{file: "schema/cue/diskpool/spec.cue", packages: "schema", scripts: "convert-diskpools diskpool-links"},
		{file: "cmd/poolwright/plan_print.go", packages: "cmd/poolwright", scripts: "plan plan-json"},
		{file: "cmd/poolwright/root.go", packages: "cmd/poolwright", scripts: all},
		{file: "cmd/poolwright/testdata/script/local-status.txtar", packages: "cmd/poolwright", scripts: "local-status"},
		{file: "testdata/packages/gke/cstor.yaml", scripts: "cloud-nodes"},
		{file: "nodeagent/guard/rules.go", packages: "nodeagent/guard"},
		{file: "test/engines/kpt/package.go", left: "test/engines/kpt"},
		{file: "README.md"},
		{system: "localvolume", packages: "fn/localvolume", scripts: "local-status verify-local"},
		{system: "cstor", packages: "fn/cstor fn/cstor/pool", scripts: cstor},
	} {
		var files []string
		if c.file != "" {
			files = []string{c.file}
		}
		got := repository.choose(files, c.system)
		for what, lists := range map[string][2]string{
			"packages": {strings.Join(got.packages, " "), c.packages}, "scripts": {strings.Join(got.scripts, " "), c.scripts}, "modules": {strings.Join(got.left, " "), c.left},
		} {
			if lists[0] != lists[1] {
				t.Errorf("%s%s: the %s are %q, want %q", c.file, c.system, what, lists[0], lists[1])
			}
		}
	}
}

// TestTree: what is read of this repository has what the check goes by, and every system has scripts.
func TestTree(t *testing.T) {
	t.Chdir("../..")
	repository, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(repository.systems, "cstor") || !repository.packages["fn/cstor"] || repository.packages["test/engines/kpt"] || !slices.Contains(repository.modules, "test/engines/kpt") {
		t.Errorf("systems %v, modules %v", repository.systems, repository.modules)
	}
	for _, system := range repository.systems {
		if c := repository.choose(nil, system); len(c.scripts) < 20 || len(c.packages) == 0 {
			t.Errorf("%s has %d scripts and the packages %v", system, len(c.scripts), c.packages)
		}
	}
}
