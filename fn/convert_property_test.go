package fn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestConvert holds on generated clusters that the config that is made of a CStorPoolCluster
// alone, written by hand or alive, renders the same: pools, disks, order and settings. For ten
// thousand of them: go test ./fn -run TestConvert -rapid.checks 10000
func TestConvert(t *testing.T) {
	clusters, pools := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		facts := w.facts()
		first := w.render(facts, nil)
		if finding.Failed(first.Findings) {
			return
		}
		grown := slices.DeleteFunc(w.grow(t, first), func(o *krm.Object) bool { return o.Kind != "BlockDevice" })
		facts = append(facts, w.grow(t, first)...)
		known := slices.Concat(w.nodes, w.devices, grown)
		var made []*krm.Object
		for _, o := range w.render(facts, reread(t, first)).Objects {
			if o.Object.Kind == "CStorPoolCluster" {
				made = append(made, alone(t, o.Object, rapid.Bool().Draw(t, "alive")))
				pools += len(o.Object.Node.Seq("spec", "pools"))
			}
		}
		clusters += len(made)
		checkConverted(t, made, known)
	})
	t.Logf("%d clusters with %d pools converted", clusters, pools)
	if clusters == 0 {
		t.Fatal("the generator made nothing to convert")
	}
}

// alone is an object as its author wrote it, or as it lives: without the marks of an owner.
func alone(t rapid.TB, o *krm.Object, alive bool) *krm.Object {
	bare := krm.Make(o.APIVersion, o.Kind, o.Namespace, o.Name, document.F("spec", *o.Node.Get("spec")))
	if alive {
		bare.SetAnnotation(krm.AnnotationInventory, "true")
	}
	return parsed(t, "alone.yaml", document.Append(nil, bare.Node, 0))[0]
}

func parsed(t rapid.TB, name string, text []byte) []*krm.Object {
	objects, err := krm.Parse(&document.Source{Name: name, Data: text})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return objects
}

// checkConverted converts objects, and renders what becomes of them again.
func checkConverted(t rapid.TB, objects, facts []*krm.Object) {
	done := poolwright().Convert(Package{Objects: slices.Concat(objects, facts)})
	if slices.ContainsFunc(done.Findings, func(f finding.Finding) bool { return f.Rule == "not-sayable" }) {
		return // pools that differ
	}
	if finding.Failed(done.Findings) || len(done.Specs) != len(objects) {
		t.Fatalf("%d specs of %d objects: %v", len(done.Specs), len(objects), done.Findings)
	}
	living := slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return o.Annotation(krm.AnnotationInventory) == "" })
	p := Package{Objects: slices.Concat(living, facts), Output: reread(t, Result{Objects: done.Rendered})}
	for _, spec := range done.Specs {
		p.Objects = append(p.Objects, parsed(t, "spec.yaml", spec.Text)...)
	}
	again := poolwright().Render(p)
	if finding.Failed(again.Findings) || text(again) != text(Result{Objects: done.Rendered}) {
		t.Fatalf("rendering twice changes the output: %v\n%s\n%s", again.Findings, text(Result{Objects: done.Rendered}), text(again))
	}
	for _, o := range objects {
		i := slices.IndexFunc(again.Objects, func(r Rendered) bool { return r.Object.ID() == o.ID() })
		if i < 0 || !document.Equal(again.Objects[i].Object.Node.Get("spec"), o.Node.Get("spec")) {
			t.Fatalf("%s is rendered otherwise than it was:\n%s\n%s", o.Ref, o.Raw, text(again))
		}
	}
}
