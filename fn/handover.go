package fn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// handover decides when a disk of an object that is no longer rendered is free: once the
// inventory contains the kind of the object, and shows that the object does not hold the disk.
// Until then the disk is in the DiskLock of the spec.
type handover struct {
	pkg      *prepared
	facts    *inventory.Facts
	locked   map[string][]locked        // what the locks of specs hold, by owner
	released map[string][]disklock.Disk // of the DiskLocks, by owner
}

func newHandover(pkg *prepared, facts *inventory.Facts, locked map[string][]locked) *handover {
	h := &handover{pkg: pkg, facts: facts, locked: locked, released: map[string][]disklock.Disk{}}
	for _, owner := range pkg.owners {
		lock := disklock.Of(pkg.lock[owner])
		h.released[owner] = lock.Released
	}
	return h
}

// occupant is the object that exists in the cluster once an object of the lock is applied: that
// object, or the spec that a lock remembers. It has no kind where there is none.
func (f *Function) occupant(owner string, o *krm.Object) finding.Ref {
	kind, _ := f.kinds.Find(o.GroupKind())
	spec, _ := krm.ParseOwner(owner)
	switch {
	case kind.Role != system.RoleLock:
		return o.Ref
	case f.kinds.IsApplied(spec.GroupKind()):
		return f.specRef(owner)
	}
	return finding.Ref{}
}

// forget drops the released disks that nothing holds any more, and reports whether there were any. The ledger has
// taken up what they are known by, which the next render will not know: it is not for choosing.
func (h *handover) forget(ledger *disk.Ledger) (forgot bool) {
	for owner, disks := range h.released {
		standing := slices.DeleteFunc(slices.Clone(disks), func(e disklock.Disk) bool { return !h.stands(ledger, &e) })
		forgot = forgot || len(standing) < len(disks)
		h.released[owner] = standing
	}
	return forgot
}

// hold adds to a ledger the holders that no inventory shows, and that may exist all the same.
func (h *handover) hold(ledger *disk.Ledger) {
	for _, owner := range h.pkg.owners {
		for _, held := range h.locked[owner] {
			if held.exists() && !h.tells(held.object) {
				ledger.Add(assumed(held.object, owner), held.disks)
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(h.released)) {
		for _, e := range h.released[owner] {
			ledger.Add(assumed(e.Holder, owner), []disk.Hold{e.Hold()})
		}
	}
}

func assumed(object finding.Ref, owner string) disk.Holder {
	return disk.Holder{Object: object, Owner: owner, Source: disk.Live, Assumed: true}
}

// tells reports whether the inventory contains the kind of an object.
func (h *handover) tells(object finding.Ref) bool {
	id := idOf(object)
	return h.facts.Tells(id.Group, id.Kind, id.Namespace)
}

// stands reports whether the object that held a disk may still hold it.
func (h *handover) stands(ledger *disk.Ledger, e *disklock.Disk) bool {
	return !h.tells(e.Holder) || showsHold(ledger.Named(e.Hold()), e.Holder)
}

// showsHold reports whether the inventory shows that an object holds one of the disks.
func showsHold(disks []*disk.Disk, object finding.Ref) bool {
	id := idOf(object)
	return slices.ContainsFunc(disks, func(d *disk.Disk) bool {
		return slices.ContainsFunc(d.Holders(), func(holder *disk.Holder) bool {
			return holder.Source == disk.Live && !holder.Assumed && idOf(holder.Object) == id
		})
	})
}

func idOf(ref finding.Ref) krm.ID { return (&krm.Object{Ref: ref}).ID() }

// remember lists the disks of objects that are no longer rendered for a spec, and that may still
// hold them.
func (h *handover) remember(ledger *disk.Ledger, owner string, objects []gitops.Object, kept map[*disk.Disk]bool) []disklock.Disk {
	var all []disklock.Disk
	for _, held := range h.locked[owner] {
		if !held.exists() {
			continue
		}
		for _, hold := range held.disks {
			for _, d := range ledger.Named(hold) {
				if kept[d] {
					continue
				}
				e := disklock.Disk{Holder: held.object, Device: hold.Device, Identity: hold.Identity, Role: hold.Role}
				if d.Is(e.Identity) { // and not another disk under its name
					e.Identity = e.Identity.With(d.Known())
				}
				if !e.Identity.Empty() || e.Device.Name != "" {
					e.Identity.Path = "" // it is known by more
				}
				if h.stands(ledger, &e) {
					all = append(all, e)
				}
			}
		}
	}
	for _, e := range h.released[owner] {
		if !h.rendered(ledger, owner, objects, &e) {
			all = append(all, e)
		}
	}
	return inOrder(all)
}

// inOrder sorts disks, and leaves out those that are the same.
func inOrder(disks []disklock.Disk) []disklock.Disk {
	slices.SortStableFunc(disks, func(a, b disklock.Disk) int { return a.Compare(&b) })
	return slices.CompactFunc(disks, func(a, b disklock.Disk) bool { return a.Compare(&b) == 0 })
}

// known lists the disks of what is rendered for a spec, with everything by which they are known. The
// locks of a system have that of their disks already, and so has a BlockDevice, in its name, and an object
// that carries the identity of its disk beside the link.
func (h *handover) known(ledger *disk.Ledger, owner string, objects []gitops.Object) []disklock.Disk {
	memory := h.pkg.memories[owner]
	var all []disklock.Disk
	for i, o := range objects {
		kind, _ := h.pkg.kinds.Find(o.GroupKind())
		if kind.Role == system.RoleLock || kind.ByName {
			continue
		}
		gone := kind.Grows && h.tells(o.Ref) && h.facts.Object(o.ID()) == nil
		for _, hold := range h.pkg.function.holds(o.Object) {
			if hold.Device.Name != "" {
				continue
			}
			var reports []*disk.Disk
			if d := ledger.Meant(memory.Recall(o.ID(), hold)); d != nil {
				reports = append(d.Others(), d)
			}
			e := memory.Known(o.Ref, hold, reports)
			e.Applied = kind.Grows && !gone && (e.Applied || showsHold(reports, o.Ref))
			// What grows has an entry for each disk: without one, no render has chosen it.
			if e.Identity.Empty() || !kind.Grows && len(hold.Identity.Links) > 0 && hold.Identity.Says(&e.Identity) {
				continue
			}
			if all == nil {
				all = make([]disklock.Disk, 0, len(objects)-i) // most have one
			}
			all = append(all, e)
		}
	}
	return inOrder(all)
}

// rendered reports whether the object that held a disk is rendered again, with the disk.
func (h *handover) rendered(ledger *disk.Ledger, owner string, objects []gitops.Object, e *disklock.Disk) bool {
	disks := ledger.Named(e.Hold())
	for _, o := range objects {
		if o.ID() != idOf(e.Holder) {
			continue
		}
		for _, hold := range h.pkg.recalled(owner, o.Object) {
			if slices.ContainsFunc(ledger.Named(hold), func(d *disk.Disk) bool { return slices.Contains(disks, d) }) {
				return true
			}
		}
	}
	return false
}

// add adds the DiskLock to what is rendered for a spec, if there is anything to remember. kept
// are the disks of what is rendered.
func (h *handover) add(ledger *disk.Ledger, spec *system.Spec, out *system.Output, kept map[*disk.Disk]bool) {
	owner := spec.Object.OwnerKey()
	lock := disklock.Lock{Disks: h.known(ledger, owner, out.Objects), Released: h.remember(ledger, owner, out.Objects, kept)}
	if o := lock.Make(spec.Object.ID()); o != nil {
		out.Objects = append(out.Objects, gitops.Object{Object: o, File: disklock.File})
	}
	out.Findings = append(out.Findings, h.findings(spec, h.going(spec, out, lock.Released))...)
}

// going leaves out the disks of objects that may not go, which an error reports.
func (h *handover) going(spec *system.Spec, out *system.Output, released []disklock.Disk) []disklock.Disk {
	if len(released) == 0 {
		return nil
	}
	s := h.pkg.function.of(spec.Object.OwnerKey())
	kept := map[krm.ID]bool{}
	for _, o := range spec.Before {
		kept[o.ID()] = s != nil && destroys(&s.Declaration, out, o)
	}
	for _, o := range out.Objects {
		delete(kept, o.ID()) // it goes without the disk
	}
	return slices.DeleteFunc(slices.Clone(released), func(e disklock.Disk) bool { return kept[idOf(e.Holder)] })
}

// findings says of each object that is no longer rendered which disks it keeps, and until when.
func (h *handover) findings(spec *system.Spec, released []disklock.Disk) []finding.Finding {
	var findings []finding.Finding
	for len(released) > 0 {
		first := &released[0]
		var names []string
		for len(released) > 0 && released[0].Holder == first.Holder {
			names = append(names, released[0].String())
			released = released[1:]
		}
		severity, until := finding.Warning, "until the inventory shows that the removal is done, and the inventory does not contain the kind "+first.Holder.Kind+": run poolwright inventory"
		if h.tells(first.Holder) {
			severity, until = finding.Info, "until the inventory shows that the removal is done: apply what is rendered, and run poolwright inventory"
		}
		findings = append(findings, spec.Finding(severity, "held-until-gone", "", fmt.Sprintf(
			"%s is no longer rendered with %s, which %s reserved %s", first.Holder, finding.Names(names), finding.Agree(len(names), "stays", "stay"), until)))
	}
	return findings
}

// depart remembers the disks of specs that are gone, of which nothing else is rendered.
func (h *handover) depart(r *reconciler, chosen *chosen) []finding.Finding {
	var findings []finding.Finding
	for _, owner := range h.pkg.owners {
		s := h.pkg.function.of(owner)
		if chosen.failed || s == nil || h.pkg.spec(owner) != nil || !h.departs(owner, chosen.leave) {
			continue
		}
		object := *h.pkg.lock[owner][0] // at which the findings are
		if consent := h.pkg.consented(owner); consent != nil {
			object = *consent
		}
		object.Ref = h.pkg.function.specRef(owner)
		if h.pkg.partial {
			r.keepAll(&object, h.pkg.lock[owner])
			continue
		}
		gone := &system.Spec{Object: &object, Consent: system.NewConsent(nil)}
		for _, o := range h.pkg.lock[owner] {
			if disklock.Is(o) {
				gone.Before = append(gone.Before, o)
			}
		}
		var out system.Output
		h.add(chosen.in.Disks, gone, &out, nil)
		findings = append(findings, out.Findings...)
		protect(gone, &out, &s.Declaration, h.pkg.policy.Policy)
		r.reconcile(gone, &out, &s.Declaration)
	}
	return findings
}

// giveUp adds the disks that the locks of specs hold that are gone, and that are not in what stays of
// what was rendered for those.
func (h *handover) giveUp(ledger *disk.Ledger, leave departures, given, more map[grip]bool) {
	for _, owner := range h.pkg.ownersWithoutSpec() {
		var kept map[*disk.Disk]bool
		if gone, out := h.pkg.removal(h.facts, owner); gone != nil {
			if finding.Failed(out.Findings) {
				continue
			}
			kept = h.pkg.kept(ledger, owner, out.Objects)
		} else if !h.departs(owner, leave) {
			continue
		}
		stays := func(d *disk.Disk) bool { return kept[d] }
		for _, held := range h.locked[owner] {
			for _, hold := range held.disks {
				if g := gripOf(owner, hold); !given[g] && !slices.ContainsFunc(ledger.Named(hold), stays) {
					more[g] = true
				}
			}
		}
	}
}

// departs reports whether all that was rendered for a spec goes in this render, or has gone.
func (h *handover) departs(owner string, leave departures) bool {
	if h.pkg.remembered(owner) || h.pkg.partial {
		return h.pkg.remembered(owner)
	}
	if findings, judged := leave[owner]; judged {
		return !finding.Failed(findings)
	}
	if h.pkg.consented(owner) == nil {
		return false
	}
	_, inSteps := h.pkg.function.of(owner).System.(system.Remover)
	return !inSteps
}
