package cstor

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// place makes a pool that of another node, in the lock. Its claims keep their names, since
// they are bound, and the attachments to the old node are let go.
func (r *relocation) place(p *nodePool, to *inventory.Node) {
	from := p.node
	attached := map[string]krm.ID{} // by claim
	for _, o := range r.lock.volumes[from] {
		if o.Kind == volumeClaimKind {
			attached[o.Name] = r.lock.attachmentID(r.namespace, o.Name, from)
		}
	}
	if r.entryFollows(from, to.Name) {
		r.listed.of[to.Name] = r.listed.of[from]
		delete(r.listed.of, from)
	}
	r.lock.move(p, to)
	if from == to.Name {
		return
	}
	for claim, id := range attached {
		old := r.lock.objects[id]
		if old == nil {
			continue
		}
		r.released[id] = true
		// It tells what was bound, to who looks for the attachment of either node.
		r.lock.objects[r.lock.attachmentID(r.namespace, claim, from)] = old
		r.lock.objects[r.lock.attachmentID(r.namespace, claim, to.Name)] = old
	}
}

// move makes a pool that of another node, with everything that is known of its disks.
func (l *lock) move(p *nodePool, to *inventory.Node) {
	from, moved := p.node, *p.Pool // which may be the live cluster's own
	l.called[p.Hostname] = slices.DeleteFunc(l.called[p.Hostname], func(name string) bool { return name == from })
	moved.Hostname = to.Hostname
	p.Pool, p.node = &moved, to.Name
	set := l.sets[from]
	set.hostname = to.Hostname
	if from != to.Name {
		l.nodes = slices.DeleteFunc(l.nodes, func(name string) bool { return name == from || name == to.Name })
		l.nodes = append(l.nodes, to.Name)
		for _, of := range []map[string]string{l.hosts, l.uids, l.reasons} {
			delete(of, from)
		}
		if l.volumes[to.Name] = l.volumes[from]; len(l.volumes[to.Name]) > 0 {
			set.volumesOf = cmp.Or(set.volumesOf, from)
		}
		if set.volumesOf == to.Name {
			set.volumesOf = ""
		}
		delete(l.volumes, from)
		delete(l.known, from)
		delete(l.sets, from)
		delete(l.poolOf, from)
		l.uids[to.Name], l.reasons[to.Name] = to.UID, reasonMoved
		l.cameFrom[to.Name] = from
	}
	l.known[to.Name], l.hosts[to.Name], l.sets[to.Name], l.poolOf[to.Name] = true, to.Hostname, set, p
	l.called[to.Hostname] = []string{to.Name}
}
