package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// retention decides about the rest of what holds data and is no longer wanted.
type retention struct{ *manifests }

// leavePools decides about the pools and everything else that holds data and is no longer
// in the spec.
func (r *retention) leavePools() {
	wanted := map[krm.ID]bool{}
	for i := range r.objects {
		wanted[r.objects[i].ID()] = true
	}
	for _, before := range r.Before {
		id := before.ID()
		if wanted[id] {
			continue
		}
		l, file, field := levelPools, "", ""
		name := before.Name
		kind := before.Kind
		switch before.GroupKind() {
		case gk(cephGroup, poolKind):
			file, field = "cephblockpool", "spec.block"
		case gk(cephGroup, filesystemKind):
			file, field = "cephfilesystem", "spec.filesystem"
		case gk(cephGroup, subvolumesKind):
			file, field, kind, name = "cephfilesystemsubvolumegroup", "spec.filesystem", filesystemKind, before.Node.Str("spec", "filesystemName")
		case gk(cephGroup, storeKind):
			file, field = "cephobjectstore", "spec.object"
		case gk(cdiGroup, cdiKind):
			l, file, field = levelCDI, "cdi", "spec.cdi"
		default:
			continue
		}
		live := r.Facts.Object(id)
		allowed := r.Consent.Covers(kind, name) || r.whole
		if allowed || live == nil && r.Facts.Tells(id.Group, id.Kind, r.Object.Namespace) {
			r.released[id] = true
			continue
		}
		kept := krm.Make(before.APIVersion, before.Kind, before.Namespace, before.Name, document.F("spec", plain(*before.Node.Get("spec"))))
		r.add(l, file, kept, r.needs(l)...)
		if before.Kind == kind {
			r.Report(finding.Warning, "held", field, "%s is no longer in the spec, but is held: removing it loses its data; to release it, annotate the spec with %s: %s/%s; %s explains how",
				before.Ref, krm.AnnotationAllowRemoval, kind, name, guide)
		}
	}
	r.reportUnlisted(wanted)
}

// reportUnlisted reports what holds data, was rendered once, and exists, and that neither
// the spec nor the output has any more. A snapshot does not keep enough of it to render it
// again.
func (r *retention) reportUnlisted(wanted map[krm.ID]bool) {
	for _, of := range []struct{ group, kind, field string }{
		{cephGroup, poolKind, "spec.block"}, {cephGroup, filesystemKind, "spec.filesystem"}, {cephGroup, storeKind, "spec.object"}, {cdiGroup, cdiKind, "spec.cdi"},
	} {
		for _, live := range r.Facts.Objects(of.group, of.kind) {
			if live.Owner() != r.owner || live.Deleting() || wanted[live.ID()] || r.before(live.ID()) != nil || r.whole || r.Consent.Covers(of.kind, live.Name) {
				continue
			}
			r.Report(finding.Warning, "unlisted", of.field, "%s exists but is in neither the spec nor the output; it is not deleted, but it is unmanaged: write it into the spec, restore rendered/ from Git, or, to release it, annotate the spec with %s: %s/%s; %s explains how",
				live.Ref, krm.AnnotationAllowRemoval, of.kind, live.Name, guide)
		}
	}
}
