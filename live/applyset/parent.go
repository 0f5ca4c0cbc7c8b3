package applyset

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/document"
)

// Kinds are those of which the parent says that there may be members. known is false for a parent that
// says nothing.
func Kinds(parent *hydrations.Hydration) (kinds []krm.GroupKind, known bool) {
	text, known := parent.Metadata.Annotations[annotationKinds]
	for name := range strings.SplitSeq(text, ",") {
		if kind, group, _ := strings.Cut(name, "."); kind != "" {
			kinds = append(kinds, krm.GroupKind{Group: group, Kind: kind})
		}
	}
	return kinds, known
}

// Declare writes into the parent of which kinds, and in which namespaces, there may be members. It is
// called before the first member of a kind is applied, so that none is ever lost. Nothing is written
// where the parent says so already.
func (s Set) Declare(ctx context.Context, c *cluster.Cluster, parent *hydrations.Hydration, members []krm.ID) error {
	kinds, namespaces := map[string]bool{}, map[string]bool{}
	for _, id := range members {
		name := id.Kind
		if id.Group != "" {
			name += "." + id.Group
		}
		kinds[name] = true
		if id.Namespace != "" && id.Namespace != s.Parent.Namespace {
			namespaces[id.Namespace] = true
		}
	}
	wanted := map[string]string{
		annotationTooling:    tooling,
		annotationKinds:      strings.Join(slices.Sorted(maps.Keys(kinds)), ","),
		annotationNamespaces: strings.Join(slices.Sorted(maps.Keys(namespaces)), ","),
	}
	same := parent.Metadata.Labels[labelID] == s.ID
	annotations := document.Object()
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		same = same && parent.Metadata.Annotations[key] == wanted[key]
		annotations.Set(key, document.Text(wanted[key]))
	}
	if same {
		return nil
	}
	kind := hydrations.Kind()
	r := cluster.Resource{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Plural: "hydrations", Namespaced: true}
	o := document.Object(
		document.F("apiVersion", document.Text(r.APIVersion())), document.F("kind", document.Text(r.Kind)),
		document.F("metadata", document.Object(
			document.F("name", document.Text(s.Parent.Name)), document.F("namespace", document.Text(s.Parent.Namespace)),
			document.F("uid", document.Text(parent.Metadata.UID)),
			document.F("labels", document.Object(document.F(labelID, document.Text(s.ID)))),
			document.F("annotations", annotations),
		)),
	)
	if _, _, err := c.Apply(ctx, r, s.Parent.Namespace, s.Parent.Name, parentManager, &o, false); err != nil {
		return c.Explain(err, "write the ApplySet into Hydration "+s.Parent.String())
	}
	if parent.Metadata.Annotations == nil {
		parent.Metadata.Annotations = map[string]string{}
	}
	maps.Copy(parent.Metadata.Annotations, wanted)
	parent.Metadata.Labels = map[string]string{labelID: s.ID}
	return nil
}

// parentManager is who writes into the parent: its spec is a person's.
const parentManager = "poolwright-applyset"
