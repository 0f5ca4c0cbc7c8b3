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
	var attachments []krm.ID
	claims := r.lock.volumes[from]
	for _, o := range claims {
		if o.Kind == volumeClaimKind {
			attachments = append(attachments, r.lock.attachmentID(r.namespace, o.Name, from))
		}
	}
	r.lock.move(p, to)
	if from == to.Name {
		return
	}
	for _, o := range claims {
		if o.Kind != volumeClaimKind {
			continue
		}
		// What was bound and attached is known by the old attachment.
		if old := r.lock.objects[attachments[0]]; old != nil {
			r.released[attachments[0]] = true
			r.lock.objects[r.lock.attachmentID(r.namespace, o.Name, from)] = old
			r.lock.objects[r.lock.attachmentID(r.namespace, o.Name, to.Name)] = old
		}
		attachments = attachments[1:]
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
