package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema"
)

const (
	specKind  = "CStorVolumeClass"
	claimKind = "PersistentVolumeClaim"
)

// Subject is what a person asks about: a CStorVolumeClass, a PersistentVolumeClaim or a
// CStorVolumeConfig. An empty namespace is any.
type Subject struct{ Kind, Namespace, Name string }

// Claims finds the claims to preview, by namespace and name: with no subject those of every
// CStorVolumeClass as they are rendered; else those of one class, one claim of the package
// or the facts, or that of a CStorVolumeConfig among the facts, and where that has none the
// config itself.
func Claims(facts *inventory.Facts, rendered []*krm.Object, subject *Subject) ([]*krm.Object, error) {
	found := map[krm.ID]*krm.Object{}
	for _, o := range rendered {
		if owner, _ := krm.ParseOwner(o.Owner()); isClaim(o) && owner.Kind == specKind && (subject == nil || subject.is(specKind, owner.Namespace, owner.Name) || subject.is(claimKind, o.Namespace, o.Name)) {
			found[o.ID()] = o
		}
	}
	if subject != nil {
		for _, o := range facts.Objects("", claimKind) {
			if found[o.ID()] == nil && subject.is(claimKind, o.Namespace, o.Name) {
				found[o.ID()] = o
			}
		}
		for _, o := range facts.Objects(pool.APIGroup, volume.ConfigKind) {
			if subject.is(volume.ConfigKind, o.Namespace, o.Name) {
				asked := claimOf(facts, rendered, o)
				found[asked.ID()] = asked
			}
		}
		if len(found) == 0 {
			return nil, subject.missing(facts, rendered)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *krm.Object) int { return a.ID().Compare(b.ID()) }), nil
}

func isClaim(o *krm.Object) bool { return o.GroupKind() == krm.GroupKind{Kind: claimKind} }

// is reports whether an object is the subject.
func (s *Subject) is(kind, namespace, name string) bool {
	return strings.EqualFold(s.Kind, kind) && name == s.Name && (s.Namespace == "" || s.Namespace == namespace)
}

// claimOf is the claim that a CStorVolumeConfig was made for, as it is rendered or else
// exists, or the config where there is none.
func claimOf(facts *inventory.Facts, rendered []*krm.Object, config *krm.Object) *krm.Object {
	for _, o := range facts.Objects("", claimKind) {
		if o.Node.Str("spec", "volumeName") != config.Name && "pvc-"+o.Node.Str("metadata", "uid") != config.Name {
			continue
		}
		if i := slices.IndexFunc(rendered, func(r *krm.Object) bool { return r.ID() == o.ID() }); i >= 0 {
			return rendered[i]
		}
		return o
	}
	return config
}

// missing says that the subject is not there, and what there is.
func (s *Subject) missing(facts *inventory.Facts, rendered []*krm.Object) error {
	var names []string
	for _, objects := range [][]*krm.Object{rendered, facts.Objects("", claimKind), facts.Objects(pool.APIGroup, volume.ConfigKind)} {
		for _, o := range objects {
			if strings.EqualFold(o.Kind, s.Kind) {
				names = append(names, o.Name)
			}
			if owner, _ := krm.ParseOwner(o.Owner()); isClaim(o) && strings.EqualFold(owner.Kind, s.Kind) {
				names = append(names, owner.Name)
			}
		}
	}
	return fmt.Errorf("there is no claim of %s/%s: neither is it rendered nor among the facts%s; name a %s, a %s or a %s", s.Kind, s.Name, schema.DidYouMean(s.Name, names), specKind, claimKind, volume.ConfigKind)
}
