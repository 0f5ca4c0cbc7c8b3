package preview_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/picture"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/generated"
	"github.com/poolwright/poolwright/test/mutation"
)

// sixVolumes are six claims with their pools, and with what the operators made of them.
func sixVolumes(t *testing.T) []*krm.Object {
	t.Helper()
	var objects []*krm.Object
	for _, pattern := range []string{"packages/six-volumes/*.yaml", "packages/six-volumes/inventory/*.yaml", "snapshots/six-volumes-made/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := krm.Parse(&document.Source{Name: file, Data: text})
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, parsed...)
		}
	}
	return objects
}

// shown is a preview as people and programs read it.
type shown struct {
	chains   preview.Preview
	text     string
	findings []finding.Finding
	drawn    []byte
}

// previewAll renders the package, and previews every claim and every CStorVolumeConfig.
func previewAll(objects []*krm.Object) shown {
	function := generated.Function()
	result := function.Render(fn.Package{Objects: objects})
	kept, _ := function.Facts(objects, false)
	facts := inventory.New(kept)
	var rendered []*krm.Object
	for _, o := range result.Objects {
		rendered = append(rendered, o.Object)
	}
	claims, _ := preview.Claims(facts, rendered, nil)
	for _, kind := range []krm.GroupKind{{Kind: "PersistentVolumeClaim"}, {Group: "cstor.openebs.io", Kind: "CStorVolumeConfig"}} {
		for _, o := range facts.Objects(kind.Group, kind.Kind) {
			more, err := preview.Claims(facts, rendered, &preview.Subject{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
			if err == nil {
				claims = append(claims, more...)
			}
		}
	}
	var s shown
	s.chains, s.findings = preview.Of(facts, rendered, claims)
	var b strings.Builder
	for _, c := range s.chains.Chains {
		for _, o := range c.Objects {
			b.Write(document.Append(nil, o.Node, 0))
		}
		fmt.Fprintln(&b, c.Placement, c.Candidates, c.On)
	}
	s.text = b.String()
	zone := func(node string) string {
		if n := facts.Node(node); n != nil {
			return n.Zone
		}
		return ""
	}
	p := picture.Picture{Title: "all", Pools: s.chains.Draw(picture.FromTrees(function.Tree(kept, krm.ID{}), zone))}
	s.drawn = append(p.SVG(), p.DOT()...)
	return s
}

// TestDamaged damages the facts in a few places: the preview never panics, leaves its input
// alone, does not depend on its order, never has two replicas of a volume on one pool, and is
// drawn as XML.
func TestDamaged(t *testing.T) {
	whole := sixVolumes(t)
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		objects := make([]*krm.Object, len(whole))
		for i, o := range whole {
			n := mutation.Clone(o.Node)
			objects[i] = krm.NewObject(o.Source, &n)
		}
		for range rapid.IntRange(0, 6).Draw(t, "mistakes") {
			i := rapid.IntRange(0, len(objects)-1).Draw(t, "object")
			mutation.Mutate(t, objects[i].Node)
			objects[i] = krm.NewObject(objects[i].Source, objects[i].Node)
		}
		before := written(objects)
		s := previewAll(objects)
		if written(objects) != before {
			t.Fatal("the facts were changed")
		}
		if again := previewAll(rapid.Permutation(objects).Draw(t, "order")); !twice(objects) && (again.text != s.text || !bytes.Equal(again.drawn, s.drawn)) {
			t.Fatalf("in another order:\n%s\nwant\n%s", again.text, s.text)
		}
		for _, f := range s.findings {
			if f.Message == "" || f.Object.Kind == "" && f.Object.Name == "" {
				t.Fatalf("a finding about nothing: %v", f)
			}
			if f.Severity == finding.Error {
				refused++
			}
		}
		for _, c := range s.chains.Chains {
			on := map[string]bool{}
			for _, o := range c.Objects {
				if o.Kind == "CStorVolumeReplica" && c.Placement != "" {
					if on[o.Name] {
						t.Fatalf("two replicas are %s", o.Name)
					}
					on[o.Name] = true
				}
			}
		}
		svg, _, _ := bytes.Cut(s.drawn, []byte("</svg>\n"))
		d := xml.NewDecoder(io.MultiReader(bytes.NewReader(svg), strings.NewReader("</svg>")))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
	if refused == 0 {
		t.Error("nothing was ever refused")
	}
}

func written(objects []*krm.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.Write(document.Append(nil, o.Node, 0))
	}
	return b.String()
}

// twice reports whether two objects have one identity: which of them counts is an error of
// the package, and reported before.
func twice(objects []*krm.Object) bool {
	var ids []krm.ID
	for _, o := range objects {
		ids = append(ids, o.ID())
	}
	slices.SortFunc(ids, krm.ID.Compare)
	return len(slices.Compact(ids)) < len(objects)
}
