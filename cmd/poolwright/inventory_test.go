package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// TestSnapshotHasAllThatIsRead holds that what a snapshot leaves out is not read:
// every package of the examples and of the scripts, as far as it can be read,
// renders from slimmed facts to the same bytes, findings and choices, and has the
// same risks.
func TestSnapshotHasAllThatIsRead(t *testing.T) {
	var dirs []string
	for _, pattern := range []string{"../../examples/*", "../../examples/cstor-cloud/commits/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	same := map[string]bool{} // what several scripts begin with
	for _, script := range scripts {
		for _, dir := range unpack(t, script) {
			if text := contents(t, dir); !same[text] {
				same[text] = true
				dirs = append(dirs, dir)
			}
		}
	}
	packages, facts, objects := 0, 0, 0
	compare := func(dir string, p folder.Package) {
		var options snapshot.Options
		options.Keep(p.Objects)
		slim := fn.Package{Output: p.Lock}
		n := 0
		for _, o := range p.Objects {
			slim.Objects = append(slim.Objects, slimFacts(t, options, o, &n))
		}
		whole := poolwright().Render(fn.Package{Objects: p.Objects, Output: p.Lock})
		slimmed := poolwright().Render(slim)
		if got, want := told(slimmed), told(whole); got != want {
			t.Errorf("%s: from slimmed facts\n%s\nwant\n%s", dir, got, want)
		}
		if got, want := risks(t, slimmed.Facts, p, whole), risks(t, whole.Facts, p, whole); got != want {
			t.Errorf("%s: from slimmed facts risks\n%s\nwant\n%s", dir, got, want)
		}
		if n > 0 {
			packages++
		}
		facts += n
		objects += len(whole.Objects)
	}
	for _, dir := range dirs {
		p, _, err := folder.Read(folder.Input{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		compare(dir, p)
		// Beside it is what a script puts into the package on the way.
		later, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "file-*.yaml", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range later {
			more, _, err := folder.Read(folder.Input{Dir: file, Output: folder.Stdout})
			if err != nil {
				t.Fatal(err)
			}
			compare(dir+" with "+file, with(p, more.Objects))
		}
	}
	t.Logf("%d packages with %d facts, %d objects rendered", packages, facts, objects)
	if packages < 50 || objects < 100 {
		t.Error("there are more packages than this")
	}
}

// TestInterruptedWriting interrupts the writing of a snapshot before each of its
// files: the folder is as it was, and nothing lies beside it.
func TestInterruptedWriting(t *testing.T) {
	parent := t.TempDir()
	f := inventoryFlags{output: filepath.Join(parent, "inventory"), format: snapshot.YAML}
	read := taken{from: "dump.yaml", Snapshot: &snapshot.Snapshot{Kinds: []snapshot.Kind{
		{Resource: cluster.Resource{Version: "v1", Kind: "Node", Plural: "nodes"}},
		{Resource: cluster.Resource{Version: "v1", Kind: "PersistentVolume", Plural: "persistentvolumes"}},
	}}}
	s := streams{out: io.Discard, err: io.Discard}
	if err := f.write(t.Context(), program{streams: s}, read); err != nil {
		t.Fatal(err)
	}
	holds := func(extension string) bool {
		files, err := filepath.Glob(filepath.Join(parent, "*", "*"))
		beside, err2 := os.ReadDir(parent)
		return err == nil && err2 == nil && len(beside) == 1 && slices.Equal(files, []string{
			filepath.Join(f.output, "nodes."+extension), filepath.Join(f.output, "persistentvolumes."+extension),
		})
	}
	f.format = snapshot.JSON // so that every file is another
	for n := 0; ; n++ {
		err := f.write(&fuse{Context: t.Context(), left: n}, program{streams: s}, read)
		switch {
		case err == nil && n > 2 && holds("json"):
			return
		case err == nil || !strings.HasSuffix(err.Error(), "interrupted; nothing was changed") || !holds("yaml"):
			t.Fatalf("interrupted after %d looks: %v", n, err)
		}
	}
}

// fuse is a context that is cancelled once it was asked a number of times.
type fuse struct {
	context.Context
	left int
}

func (f *fuse) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// with is a package with more facts, in place of those of the same identity.
func with(p folder.Package, facts []*krm.Object) folder.Package {
	added := map[krm.ID]bool{}
	for _, o := range facts {
		added[o.ID()] = true
		items := o.Node.Seq("items")
		for i := range items {
			added[o.Item(&items[i]).ID()] = true
		}
		o.Path = "inventory/" + o.Path
	}
	var objects []*krm.Object
	for _, o := range p.Objects {
		items := o.Node.Seq("items")
		for i := range items {
			if item := o.Item(&items[i]); !added[item.ID()] {
				item.Path = "inventory/" + item.Path
				objects = append(objects, item)
			}
		}
		if len(items) == 0 && !added[o.ID()] {
			objects = append(objects, o)
		}
	}
	p.Objects = append(objects, facts...)
	return p
}

// contents are the names and the text of all files in a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(&all, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// unpack writes the files of a script, and returns the folders that hold them.
func unpack(t *testing.T, script string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var dirs []string
	for line := range strings.Lines(string(archive.Comment)) {
		command := strings.Fields(line)
		if len(command) != 3 || command[0] != "package" && command[0] != "snapshot" {
			continue
		}
		top, _, _ := strings.Cut(command[2], "/")
		if err := copyFixture(command[0]+"s", command[1], filepath.Join(dir, command[2])); err != nil {
			t.Fatal(err)
		}
		// A snapshot that comes later hides what was there before.
		stage := filepath.Join(dir, fmt.Sprintf("%s-%d", top, len(dirs)))
		if err := os.CopyFS(stage, os.DirFS(filepath.Join(dir, top))); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, stage)
	}
	for _, f := range archive.Files {
		top, rest, below := strings.Cut(f.Name, "/")
		if !below {
			// Files that a script puts into a package on its way: beside each other
			// they would meet, so each is one package.
			top, rest = "file-"+f.Name, f.Name
		}
		path := filepath.Join(dir, top, rest)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if d := filepath.Join(dir, top); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// slimFacts gives an object, or what is in it, as a snapshot of it would be.
func slimFacts(t *testing.T, options snapshot.Options, o *krm.Object, n *int) *krm.Object {
	t.Helper()
	if o.Kind == "Inventory" || o.Kind == "List" {
		copied := *o.Node
		items := copied.Get("items")
		if items == nil || items.Kind() != document.Seq {
			return o
		}
		list := document.Object()
		for _, f := range copied.Fields() {
			if f.Key == "items" {
				kept := document.List()
				for i := range items.Items() {
					kept.Add(*slimFacts(t, options, o.Item(&items.Items()[i]), n).Node)
				}
				f.Value = kept
			}
			list.SetFields(append(list.Fields(), f))
		}
		slim := *o
		slim.Node = &list
		return &slim
	}
	kind, _ := poolwright().Kinds().Find(o.GroupKind())
	manifest := kind.Role != system.RoleFact && o.Annotation(krm.AnnotationInventory) != "true" && !strings.Contains(o.Path, "inventory/") && o.Raw != nil
	if kind.Keep == "" || !kind.Reads(o.Name) || manifest {
		return o // not a kind that is read, or not a fact
	}
	// A person writes what no API server sends: such a file is what it is.
	if o.Node.Get("metadata") == nil || o.Node.Get("metadata").Kind() != document.Map {
		return o
	}
	*n++
	item, keeps, err := options.Slim(&kind)(document.AppendJSON(nil, o.Node))
	if err != nil {
		t.Fatal(err)
	}
	if !keeps {
		return o
	}
	fact := *o
	fact.Node = snapshot.Facts(cluster.Resource{}, &kind, []snapshot.Item{item})[0].Node
	if kind.Tells == system.TellsEvents { // of several about one object a snapshot has one
		fact.Node.Get("metadata").Set("name", document.Text(o.Name))
	}
	return &fact
}

// otherPlace is where a message names the place of another object.
var otherPlace = regexp.MustCompile(`the first is at [^ ]+:[0-9]+;`)

// told is all that a render says, without where things stand.
func told(r fn.Result) string {
	var b strings.Builder
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "# %s\n%s", o.Path, o.Object.Raw)
	}
	var lines []string
	for _, f := range r.Findings {
		f.Pos = document.Position{}
		lines = append(lines, otherPlace.ReplaceAllString(f.String(), ""))
	}
	slices.Sort(lines)
	for _, c := range r.Choices {
		lines = append(lines, fmt.Sprintf("%+v", c))
	}
	return b.String() + strings.Join(lines, "\n")
}
