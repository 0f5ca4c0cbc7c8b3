package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
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
// or the facts, or that of a CStorVolumeConfig among the facts.
func Claims(facts *inventory.Facts, rendered []*krm.Object, subject *Subject) ([]*krm.Object, error) {
	var claims []*krm.Object
	add := func(o *krm.Object) {
		if !slices.ContainsFunc(claims, func(other *krm.Object) bool { return other.ID() == o.ID() }) {
			claims = append(claims, o)
		}
	}
	isClaim := func(o *krm.Object) bool { return o.GroupKind() == krm.GroupKind{Kind: claimKind} }
	called := func(namespace, name string) bool {
		return name == subject.Name && (subject.Namespace == "" || subject.Namespace == namespace)
	}
	for _, o := range rendered {
		owner, _ := krm.ParseOwner(o.Owner())
		switch {
		case !isClaim(o) || owner.Kind != specKind:
		case subject == nil,
			strings.EqualFold(subject.Kind, specKind) && called(owner.Namespace, owner.Name),
			strings.EqualFold(subject.Kind, claimKind) && called(o.Namespace, o.Name):
			add(o)
		}
	}
	if subject != nil {
		for _, o := range facts.Objects("", claimKind) {
			switch {
			case strings.EqualFold(subject.Kind, claimKind) && called(o.Namespace, o.Name),
				strings.EqualFold(subject.Kind, volume.ConfigKind) && subject.Name == o.Node.Str("spec", "volumeName"):
				add(o)
			}
		}
		if len(claims) == 0 {
			return nil, fmt.Errorf("there is no claim of %s/%s: neither is it rendered nor among the facts; name a %s, a %s or a %s", subject.Kind, subject.Name, specKind, claimKind, volume.ConfigKind)
		}
	}
	slices.SortFunc(claims, func(a, b *krm.Object) int { return a.ID().Compare(b.ID()) })
	return claims, nil
}
