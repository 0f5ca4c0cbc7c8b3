package kustomize

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// The tests compare with what kustomize gives when it runs the same function as
// a program. That program is the test binary itself, under its function's name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "poolwright" {
		os.Exit(m.Run())
	}
	data, err := io.ReadAll(os.Stdin)
	if err == nil {
		var list *krm.ResourceList
		if list, err = krm.ReadResourceList(&document.Source{Name: "stdin", Data: data}); err == nil {
			fs := toy(list)
			_ = list.Write(os.Stdout, fs) // a closed pipe is kustomize's
			if finding.Failed(fs) {
				os.Exit(1)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// toy is a function that adds, changes and removes: for each name of an Intent
// it wants a Pool, which says how many facts it saw.
func toy(list *krm.ResourceList) []finding.Finding {
	size := "small"
	if s := list.FunctionConfig; s != nil && s.Node.Str("spec", "size") != "" {
		size = s.Node.Str("spec", "size")
	}
	facts := 0
	for _, o := range list.Items {
		if o.Kind == inventoryKind {
			facts += len(o.Node.Seq("items"))
		}
	}
	wanted := map[string]*krm.Object{}
	var order []string
	for _, o := range list.Items {
		if o.Kind != "Intent" {
			continue
		}
		names := o.Node.Seq("spec", "names")
		if len(names) == 0 {
			return []finding.Finding{{Severity: finding.Error, Object: o.Ref, Field: "spec.names", Pos: o.Position(o.Node.Off), Message: "no names"}}
		}
		for i := range names {
			p := krm.Make("toy.io/v1", "Pool", o.Namespace, names[i].Value(),
				document.F("spec", document.Object(
					document.F("facts", document.Int(int64(facts))),
					document.F("intent", document.Text(o.Name)),
					document.F("size", document.Text(size)),
					document.F("serial", document.Text("0E4006924050")),
					document.F("configMapRef", document.Object(document.F("name", document.Text("settings")))))))
			p.SetLabel(krm.LabelManagedBy, krm.ManagedBy)
			p.SetAnnotation(krm.AnnotationOwner, o.Name)
			if names[i].Value() == "local" {
				p.SetAnnotation(krm.AnnotationLocalConfig, "true")
			}
			p.Raw = document.Append(nil, p.Node, 0)
			wanted[p.Name] = p
			order = append(order, p.Name)
		}
	}
	var items []*krm.Object
	for _, o := range list.Items {
		if o.Owner() == "" {
			items = append(items, o)
			continue
		}
		if p := wanted[o.Name]; p != nil {
			items = append(items, p)
			delete(wanted, o.Name)
		}
	}
	for _, name := range order {
		if p := wanted[name]; p != nil {
			items = append(items, p)
			delete(wanted, name)
		}
	}
	list.Items = items
	return nil
}
