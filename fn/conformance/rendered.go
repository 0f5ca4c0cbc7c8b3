package conformance

import (
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Rendered compares an object as it was rendered with what is in the cluster under its name: whose it
// is, and the fields of its spec. What a snapshot does not keep is not compared.
func (c *Check) Rendered(facts *inventory.Facts, rendered *krm.Object) {
	live := facts.Object(rendered.ID())
	if live == nil {
		return
	}
	if owner := live.Owner(); owner != "" && owner != rendered.RenderedFor() {
		c.Error(Owner, live.Ref, "is rendered for %s, but exists as the output of %s", rendered.RenderedFor(), owner)
	}
	if paths := differences("spec", rendered.Node.Get("spec"), live.Node.Get("spec")); len(paths) > 0 {
		c.Error(Differs, live.Ref, "differs from the rendered one: %s; apply the rendered one, or change the spec to match", finding.Names(paths))
	}
}

// differences lists the paths of fields that two trees both have, and that are not the same.
func differences(path string, wanted, has *document.Node) []string {
	if wanted == nil || has == nil {
		return nil
	}
	switch {
	case wanted.Kind() == document.Map && has.Kind() == document.Map:
		var paths []string
		for i := range wanted.Fields() {
			f := &wanted.Fields()[i]
			paths = append(paths, differences(path+"."+f.Key, &f.Value, has.Get(f.Key))...)
		}
		return paths
	case wanted.Kind() == document.Seq && has.Kind() == document.Seq && len(wanted.Items()) == len(has.Items()):
		for i := range wanted.Items() {
			if len(differences(path, &wanted.Items()[i], &has.Items()[i])) > 0 {
				return []string{path}
			}
		}
		return nil
	case wanted.Kind() == document.Scalar && has.Kind() == document.Scalar && wanted.Value() == has.Value():
		return nil
	}
	return []string{path}
}

// Class compares a StorageClass as it was rendered with the one that exists, if the facts list it.
func (c *Check) Class(facts *inventory.Facts, rendered *krm.Object) {
	live := facts.Object(rendered.ID())
	if live == nil {
		if facts.Tells(rendered.Group(), rendered.Kind, "") {
			c.Error(Missing, rendered.Ref, "is rendered and missing; apply it")
		}
		return
	}
	wanted, has := class.Read(rendered), class.Read(live)
	for _, change := range wanted.Changes(&has, func(string) string { return "" }) {
		c.Error(Differs, live.Ref, "%s", change.Text)
	}
}
