package fn

import (
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
)

// Assess says what each change risks and why, with what the facts tell, and sorts
// the riskiest first. The rules lie beside the system that renders the object;
// what no rule knows is never safe.
func Assess(facts *inventory.Facts, changes []*change.Change) {
	for _, c := range changes {
		if s := systemOf(c.Owner()); s != nil {
			s.Assess(facts, c)
		}
		assessRest(c)
		if c.Action == change.Remove {
			if keepers := gitops.Keepers(c.Old); len(keepers) > 0 {
				c.Judge(change.Safe, "", "it carries the protection of "+place.Names(keepers)+": it stays in the cluster until that is lifted")
			}
		}
	}
	change.Sort(changes)
}

// RiskFacts are the kinds that Assess asks the facts about, by Group and Kind.
func RiskFacts() []krm.ID {
	return []krm.ID{
		{Kind: "PersistentVolumeClaim"},
		{Group: "storage.k8s.io", Kind: "StorageClass"},
		{Group: "cstor.openebs.io", Kind: "CStorPoolInstance"},
		{Group: "cstor.openebs.io", Kind: "CStorVolumeReplica"},
	}
}

// systemOf is the system of the spec that an owner annotation names, or nil.
func systemOf(owner string) system.System {
	parts := strings.Split(owner, "/")
	for _, s := range systems() {
		if kind := s.Kind(); len(parts) == 4 && parts[0] == kind.Group && parts[1] == kind.Kind {
			return s
		}
	}
	return nil
}

// assessRest judges what the system said nothing about.
func assessRest(c *change.Change) {
	judged := make(map[string]bool, len(c.Reasons))
	for _, r := range c.Reasons {
		judged[r.Field] = true
	}
	if judged[""] {
		return
	}
	if len(c.Fields) == 0 {
		c.Judge(change.Disruptive, "", "no rule knows the kind "+c.Ref.Kind)
		return
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		switch {
		case judged[f.Path], gitops.Assess(c, f):
		case f.Under("metadata.annotations[" + krm.AnnotationOwner + "]"), f.Under("metadata.labels[" + krm.LabelManagedBy + "]"):
			c.Judge(change.Safe, f.Path, "says only whose output it is")
		case f.Under("metadata.labels"), f.Under("metadata.annotations"):
			c.Judge(change.Safe, f.Path, "labels and annotations of others do nothing to the data")
		default:
			c.Judge(change.Disruptive, f.Path, "no rule knows the field "+f.Shape)
		}
	}
}
