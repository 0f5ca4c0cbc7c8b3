package disk

import "slices"

// suspect is another report or hold that may be of the same disk: nothing proves it, and nothing
// proves the contrary.
type suspect struct {
	*Disk
	why string // as in "it may be the same disk as x: " + why
}

// suspects lists what may be the same disk as one, and is not proven to be:
//   - at its node, what has the same kernel name, or no kernel name that distinguishes it,
//   - what shares a serial number or link with it that several disks have,
//   - at a node that is not among the facts, what has one of its paths,
//   - at any node, what has a by-path link of the same LUN.
//
// Two WWNs, serial numbers, slots or sizes that differ prove two disks (evidence.differs).
func (l *Ledger) suspects(d *Disk) []suspect {
	if l.plain(d) {
		return nil
	}
	var found []suspect
	var known *evidence
	class := d.class.whole()
	vague := false // nothing but the node is the same
	add := func(others []*Disk, why string) {
		for _, other := range others {
			if other == d || other.class.whole() == class || slices.ContainsFunc(found, func(s suspect) bool { return s.Disk == other }) {
				continue
			}
			if vague && d.reportedWith(other) {
				continue
			}
			if known == nil {
				known = d.evidence()
			}
			if !known.differs(other.evidence()) {
				found = append(found, suspect{other, why})
			}
		}
	}
	if len(l.known.more) > 0 {
		var room [8]string
		id := d.Known()
		for _, c := range l.known.find(id.keys(room[:0])) {
			add(c.disks, "they share a serial number or link")
		}
	}
	if len(l.sites.homeless) > 0 && !d.stray {
		for path := range d.paths() {
			add(l.sites.homeless[path], "same path, and its node is missing from the inventory")
		}
	}
	if len(l.sites.luns) > 0 {
		for _, same := range class.disks {
			for path := range same.paths() {
				add(l.sites.luns[lunOf(path)], "same target and LUN")
			}
		}
	}
	for _, s := range d.sites {
		vague = true
		if !d.hasKernelName() {
			add(s.disks, "no identifier distinguishes them")
		}
		add(s.vague, "no identifier distinguishes them")
		vague = false
		if len(s.double) > 0 {
			for kernel := range d.kernelNames() {
				add(s.double[kernel], "both are "+kernel+" on node "+s.host)
			}
		}
	}
	return found
}

// plain reports whether nothing can be suspected of a disk, as of most: all reports of its nodes have a
// kernel name, no two the same, and no identity is that of several disks.
func (l *Ledger) plain(d *Disk) bool {
	return len(l.known.more) == 0 && len(l.sites.homeless) == 0 && len(l.sites.luns) == 0 &&
		!slices.ContainsFunc(d.sites, func(s *site) bool { return len(s.vague) > 0 || len(s.double) > 0 })
}

// reportedWith reports whether the node disk manager, or the agent of one node, reports both: each
// reports a disk once.
func (d *Disk) reportedWith(other *Disk) bool {
	return d.Device != nil && other.Device != nil || d.Entry != nil && other.Entry != nil && d.Entry.Object == other.Entry.Object
}

// evidence is everything that distinguishes the disk from others.
func (d *Disk) evidence() *evidence {
	e := &evidence{size: d.Size()}
	e.add(&d.Identity, nil)
	if d.Device != nil {
		e.add(&Identity{}, d.Device.Links)
	}
	if d.Entry != nil {
		e.add(&d.Entry.Identity, d.Entry.Links)
	}
	return e
}

// judgeSuspects objects to what may be a disk that somebody else has, or that has data; and to
// each of two reports that are both there, of which only one can be chosen. It does not speak
// against the disk of somebody who has it already.
func (l *Ledger) judgeSuspects(d *Disk, want *Want, v *Verdict) {
	if want.Mine != nil && slices.ContainsFunc(d.Holders(), func(h *Holder) bool { return h.Source != Manifest && want.Mine(*h) }) {
		return
	}
	for _, s := range l.suspects(d) {
		reason := l.judge(s.Disk, want).Occupied()
		if reason == "" && (d.Missing() || s.stray || s.Inactive()) {
			continue
		}
		if reason != "" {
			reason = ", which cannot be used: " + reason
		}
		v.object(Uncertain, "it may be the same disk as %s (%s)%s", s.called(), s.why, reason)
		return
	}
	for _, f := range l.filters {
		if (want.Mine == nil || !want.Mine(f.by)) && f.Matches(d) {
			v.object(Uncertain, "it may be taken by %s: its filter matches the disk, and its node %s is missing from the inventory", f.by, f.Node)
			return
		}
	}
	for _, n := range d.naming {
		if want.Mine == nil || !want.Mine(n.by) {
			v.object(Uncertain, "%s names it: %s", n.by, n.path)
			return
		}
	}
}
