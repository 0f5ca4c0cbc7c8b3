package folder

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
)

func names(objects []*krm.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Name)
	}
	return strings.Join(all, " ")
}

func secret(name string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\n"
}

// The lock is the folder of -o if it holds something of ours, else the default
// one; neither is ever input.
func TestReadFindsTheLock(t *testing.T) {
	dir := t.TempDir()
	pkg, out := filepath.Join(dir, "pkg"), filepath.Join(dir, "pkg", "out")
	put(t, filepath.Join(pkg, "b.yaml"), secret("b")+"---\n"+secret("c"))
	put(t, filepath.Join(pkg, "a.json"), `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}`)
	put(t, filepath.Join(pkg, "sub", "d.yml"), secret("d"))
	put(t, filepath.Join(pkg, fn.RenderedFolder, "x.yaml"), string(pool("x", "1").Raw))
	put(t, filepath.Join(out, "y.yaml"), secret("y"))

	read := func(output string) Package {
		t.Helper()
		p, fs, err := Read(Input{Dir: pkg, Output: output})
		if err != nil || len(fs) > 0 {
			t.Fatal(err, fs)
		}
		return p
	}
	for output, want := range map[string]string{"": "a b c y d|x", Stdout: "a b c y d|x", out: "a b c d|x"} {
		p := read(output)
		if got := names(p.Objects) + "|" + names(p.Lock); got != want {
			t.Errorf("-o %q: %s, want %s", output, got, want)
		}
	}
	put(t, filepath.Join(out, "z.yaml"), string(pool("z", "1").Raw))
	p := read(out)
	if got := names(p.Objects) + "|" + names(p.Lock); got != "a b c d|y z" {
		t.Errorf("got %s", got)
	}
	if o := p.Objects[2]; o.Path != "b.yaml" || o.Index != 1 || string(o.Raw) != secret("c") {
		t.Errorf("got %+v", o)
	}
	if o := p.Objects[3]; o.Path != "sub/d.yml" {
		t.Errorf("got %+v", o)
	}
}

func TestReadOneFileAndAStream(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	put(t, file, secret("a"))
	put(t, filepath.Join(dir, fn.RenderedFolder, "x.yaml"), string(pool("x", "1").Raw))
	p, fs, err := Read(Input{Dir: file})
	if err != nil || len(fs) > 0 || names(p.Objects) != "a" || names(p.Lock) != "x" {
		t.Errorf("%+v %v %v", p, fs, err)
	}
	p, fs, err = Read(Input{Dir: Stdin, Output: Stdout, Stdin: strings.NewReader(secret("s"))})
	if err != nil || len(fs) > 0 || names(p.Objects) != "s" || len(p.Lock) != 0 {
		t.Errorf("%+v %v %v", p, fs, err)
	}
	var bad *UsageError
	if _, _, err := Read(Input{Dir: filepath.Join(dir, "nowhere")}); !errors.As(err, &bad) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestRawEndsWithANewline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	put(t, file, strings.TrimSuffix(secret("a"), "\n"))
	p, _, err := Read(Input{Dir: file})
	if err != nil || string(p.Objects[0].Raw) != secret("a") {
		t.Errorf("%q, %v", p.Objects[0].Raw, err)
	}
}
