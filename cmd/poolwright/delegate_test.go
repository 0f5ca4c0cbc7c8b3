package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/controller/delegate"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
)

// TestDelegated: a judgement by poolwright serve is that of a render in this process: the same files,
// messages and findings, for every example and every package of the tests.
func TestDelegated(t *testing.T) {
	function := poolwright()
	service, err := delegate.New(function, delegate.Options{URL: served(t), MaxOutput: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	compare := func(name string, p hydration.Package, f hydration.Facts) (files map[string][]byte) {
		t.Helper()
		here, err := hydration.Judge(t.Context(), function, hydration.InProcess{Function: function}, p, f)
		there, err2 := hydration.Judge(t.Context(), function, service, p, f)
		if err != nil || err2 != nil {
			if err == nil || err2 == nil || err.Error() != err2.Error() {
				t.Errorf("%s: here %v, there %v", name, err, err2)
			}
			return nil
		}
		for what, of := range map[string]func(*hydration.Judgement) string{
			"findings": func(j *hydration.Judgement) string {
				var b strings.Builder
				for i := range j.Findings {
					b.WriteString(j.Findings[i].String() + " (" + j.Findings[i].Rule + ")\n")
				}
				return b.String()
			},
			"message": func(j *hydration.Judgement) string { return j.Message() },
			"comment": func(j *hydration.Judgement) string { return j.Plan.Markdown() },
			"files": func(j *hydration.Judgement) string {
				var b strings.Builder
				files := j.Publish(time.Time{}, time.Time{}, 0)
				for _, name := range slices.Sorted(maps.Keys(files)) {
					b.WriteString("-- " + name + " --\n" + string(files[name]))
				}
				return b.String()
			},
		} {
			if want, got := of(here), of(there); want != got {
				t.Errorf("%s: %s: got\n%s\nwant\n%s", name, what, got, want)
			}
		}
		return here.Publish(time.Time{}, time.Time{}, 0)
	}
	judged, published := 0, 0
	for _, pattern := range []string{"../../examples/*", "../../examples/cstor-cloud/commits/*", "../../testdata/packages/*"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil || len(dirs) == 0 {
			t.Fatal(pattern, err)
		}
		for _, dir := range dirs {
			p, f := committed(t, dir)
			if len(p.Files) == 0 {
				continue
			}
			judged++
			compare(dir, p, f)
			files := compare(dir+", nothing rendered", without(p, "rendered/"), f)
			if len(files) > 0 {
				published++
			}
			// What a person did to a file, and a policy that moves the files.
			next := without(p, "rendered/")
			maps.Copy(next.Files, files)
			for name, data := range files {
				if strings.HasPrefix(name, "rendered/") && !strings.HasSuffix(name, "kustomization.yaml") {
					next.Files[name] = append([]byte("# by hand\n"), data...)
				}
			}
			compare(dir+", by hand", next, f)
			moved := without(next, "rendered/")
			for name, data := range next.Files {
				if rest, is := strings.CutPrefix(name, "rendered/"); is && !strings.HasSuffix(name, "kustomization.yaml") {
					moved.Files["rendered/old/"+rest] = data
				}
			}
			compare(dir+", in other files", moved, f)
			compare(dir+", without facts", next, hydration.Facts{Files: map[string][]byte{}, Digest: "none"})
		}
	}
	if judged < 30 || published < 20 {
		t.Errorf("%d packages, of which %d have an output", judged, published)
	}
	// A change that is a step of several.
	p, f := committed(t, "../../testdata/packages/mirrors")
	maps.Copy(p.Files, compare("mirrors", p, f))
	running, _ := committed(t, "../../testdata/snapshots/mirrors")
	for name, data := range running.Files {
		text := strings.NewReplacer("phase: ONLINE", "phase: DEGRADED").Replace(string(data))
		if name == "bd-n1-0.yaml" {
			text = strings.Replace(text, "state: Active", "state: Inactive", 1)
		}
		p.Files["inventory/"+name] = []byte(text)
	}
	p.Files["cstor.yaml"] = []byte(strings.Replace(string(p.Files["cstor.yaml"]), "  name: prod\n", "  name: prod\n  annotations: {poolwright.io/replace: bd-n1-0}\n", 1))
	p.Files["cstor.yaml"] = []byte(strings.Replace(string(p.Files["cstor.yaml"]), "raidType: mirror", "raidType: mirror, compression: lz4", 1))
	j, err := hydration.Judge(t.Context(), function, service, p, f)
	if err != nil || !strings.Contains(j.Message(), "(step 1 of about 2: ") {
		t.Errorf("no step: %v\n%s\n%v", err, j.Message(), j.Findings)
	}
	compare("a step", p, f)

	p, f = committed(t, "../../testdata/packages/two-specs")
	p.Files["forms.yaml"] = []byte(otherForms)
	p.Files["again.json"] = []byte(`{"apiVersion": "v1", "kind": "ConfigMap",` + "\n" + `  "metadata": {"name": "one", "namespace": "openebs"}}`)
	compare("other forms", p, f)
}

// otherForms are ways to write YAML of which the text that is sent has no trace, with mistakes behind them.
const otherForms = `
# A comment
---

apiVersion: poolwright.io/v1alpha1   # and another
kind: VolumeTemplate
metadata: {name: logs, annotations: {a: &x "1", b: *x}}
spec: {template: {kind: Volume, spec: {storageClassName: local,

  sparseLoopDevice: {size: large, sizes: 1}}}}
---
# Data
unknown: true
---
apiVersion: v1
kind: ConfigMap
metadata:
    namespace: openebs

    name: "one"
data:
    text: |+
        with

        lines


---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: openebs, name: one}
`

// committed are the files of a package, and the facts that its inventory is of.
func committed(t *testing.T, dir string) (hydration.Package, hydration.Facts) {
	t.Helper()
	p := hydration.Package{Files: map[string][]byte{}, Digest: "p", Dir: "clusters/prod"}
	memory := folder.Memory{}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || !hydration.Reads(filepath.ToSlash(name)) {
			return err
		}
		data, err := os.ReadFile(file)
		p.Files[filepath.ToSlash(name)] = data
		memory[filepath.ToSlash(name)] = &document.Source{Name: name, Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f := hydration.Facts{Files: map[string][]byte{}, Digest: "f"}
	plan, err := memory.PlanInventory(nil)
	if err != nil {
		t.Fatal(dir, err)
	}
	for _, c := range plan.Changes {
		f.Files[c.Path()] = p.Files[inventory.Folder+"/"+c.Path()]
	}
	return p, f
}

// without is a package without the files below a folder.
func without(p hydration.Package, prefix string) hydration.Package {
	p.Files = maps.Clone(p.Files)
	maps.DeleteFunc(p.Files, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
	return p
}
