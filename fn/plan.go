package fn

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Assess says what each change risks and why, and sorts the riskiest first. The rules lie
// beside the system that renders the object; what no rule knows is never safe. It leaves
// out the changes of what only operators fill in. The package says which disks its lock
// and what people wrote hold; the facts are its own, or those of a cluster, or nil where
// nothing is known.
func (f *Function) Assess(p Package, facts *inventory.Facts, changes []*change.Change) []*change.Change {
	if facts == nil {
		facts = inventory.New(nil)
	}
	pkg := classify(p, f.kinds, nil)
	a := assessor{function: f, facts: facts, disks: f.holdings(pkg, facts).open(f, facts, nil)}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c *change.Change) bool {
		var live *krm.Object
		if c.New != nil && !c.GitOnly() {
			live = facts.Object(c.New.ID())
		}
		switch {
		case c.Action != change.Create || live == nil:
			if a.assess(c); c.Action == change.Modify && len(c.Fields) == 0 {
				return true
			}
		case !f.standsAlone(c.New):
			a.takeOver(c, live)
		case !a.applied(c, live):
			return true
		}
		if live != nil && live.Deleting() {
			a.dying(c, live)
		}
		return false
	})
	changes = a.along(changes, pkg.manifests())
	change.Sort(changes)
	return changes
}

// FactsOf is what the inventory of a package shows, for Assess: Result.Facts of its render.
func (f *Function) FactsOf(p Package) *inventory.Facts {
	return inventory.New(classify(p, f.kinds, f.schemas.Kinds()).facts)
}

// assessor judges changes by what is known.
type assessor struct {
	function *Function
	facts    *inventory.Facts
	disks    *disk.Ledger
}

// bySystem has the system of an owner judge a change.
func (a assessor) bySystem(owner string, c *change.Change) {
	if s := a.function.of(owner); s != nil {
		s.Assess(a.facts, a.disks, c)
	}
	a.function.assessRest(c)
}

func (a assessor) assess(c *change.Change) {
	a.bySystem(a.owner(c), c)
	if c.Action == change.Remove && !c.Old.Deleting() {
		if keepers := gitops.Keepers(c.Old); len(keepers) > 0 {
			c.Judge(change.Safe, "", "it carries the protection of "+finding.Names(keepers)+": it stays in the cluster until that is lifted")
		}
	}
}

// takeOver judges an object that is rendered for the first time and exists already.
// What counts is how its spec changes; a snapshot has little of the rest.
func (a assessor) takeOver(c *change.Change, live *krm.Object) {
	edit := &change.Change{Ref: c.Ref, Action: change.Modify, Old: live, New: c.New}
	for _, field := range change.Fields(live.Node, c.New.Node) {
		// What is only there stays as it is, but in lists, which are applied as a whole.
		if field.Under("spec") && (field.Action != change.Remove || strings.Contains(field.Shape, "[]")) {
			edit.Fields = append(edit.Fields, field)
		}
	}
	if len(edit.Fields) > 0 {
		a.assess(edit)
	}
	switch owner := live.Owner(); {
	case a.function.kinds.Partial(c.New.GroupKind()): // others made it, and go on with it
	case owner == "":
		edit.Judge(change.Safe, "", "adopts the live "+c.Ref.String()+", which has no owner")
	case owner == c.New.Owner():
		edit.Judge(change.Safe, "", "exists already, as output of "+owner)
	default:
		edit.Judge(change.Disruptive, "", "adopts the live "+c.Ref.String()+" from "+owner+", which may apply it again, or delete it")
	}
	c.Fields, c.Risk, c.Reasons = edit.Fields, edit.Risk, edit.Reasons
}

// dying judges what is applied over a live object that is being deleted, and goes
// all the same.
func (a assessor) dying(c *change.Change, live *krm.Object) {
	gone := &change.Change{Ref: c.Ref, Action: change.Remove, Old: live}
	a.bySystem(a.owner(c), gone)
	for _, r := range gone.Reasons {
		c.Judge(r.Risk, "", "the live "+c.Ref.String()+" is being deleted, which applying does not stop: "+r.Text)
	}
}

// assessRest judges what the system said nothing about.
func (f *Function) assessRest(c *change.Change) {
	judged := make(map[string]bool, len(c.Reasons))
	for _, r := range c.Reasons {
		judged[r.Field] = true
	}
	if judged[""] {
		return
	}
	if c.Ref.GroupKind() == disklock.Kind() {
		c.Judge(change.Safe, "", "only Poolwright reads it: it remembers disks until they are free")
		return
	}
	if len(c.Fields) == 0 && c.Action != change.Modify {
		c.Judge(change.Disruptive, "", "no rule knows the kind "+c.Ref.Kind)
		return
	}
	for i := range c.Fields {
		field := &c.Fields[i]
		key := metaKey(field)
		switch {
		case judged[field.Path], gitops.Assess(c, field), f.assessRefused(c, field):
		case key == krm.AnnotationOwner && field.Action == change.Modify:
			c.Judge(change.Disruptive, field.Path, "adopts it from "+field.Old.Str()+", which may apply it again, or delete it")
		case key == krm.AnnotationOwner, key == krm.LabelManagedBy, key == krm.AnnotationRetained:
			c.Judge(change.Safe, field.Path, "says only whose output it is")
		case krm.ToolAnnotation(key):
			c.Judge(change.Safe, field.Path, "says only where a tool found it")
		case key != "" && !f.acted(key):
			c.Judge(change.Safe, field.Path, "labels and annotations of other tools do not affect the data")
		default:
			c.Judge(change.Disruptive, field.Path, "no rule knows the field "+field.Shape)
		}
	}
}

// metaKey is the key of the label or annotation that a field is, or "".
func metaKey(f *change.Field) string {
	for _, of := range []string{"metadata.labels", "metadata.annotations"} {
		if f.Under(of) {
			return strings.Trim(strings.TrimPrefix(f.Shape, of), ".[]")
		}
	}
	return ""
}

// acted reports whether controllers act on a label or annotation: those of an engine, of
// a storage system, or of Kubernetes' volumes, which may do anything to an object that
// carries it.
func (f *Function) acted(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	return found && slices.ContainsFunc(append(gitops.Domains(), f.kinds.Domains()...), func(acts string) bool {
		return domain == acts || strings.HasSuffix(domain, "."+acts)
	})
}
