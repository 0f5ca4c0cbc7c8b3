package disk

import (
	"slices"
	"strings"
)

// class is the reports that are proven to be of one disk: each shares a WWN, a serial number or a
// link with another one, and their WWNs do not contradict each other.
type class struct {
	into  *class // the class that it has become a part of, or nil
	disks []*Disk
	wwns  []string // digits
	first [1]string
}

// whole is the class that a class is a part of by now.
func (c *class) whole() *class {
	for c.into != nil {
		c = c.into
	}
	return c
}

// registry finds classes by the keys of identities (Identity.keys).
type registry struct {
	first map[string]*class
	// more has the further classes of a key that several disks have: the namespaces of an NVMe
	// controller share a serial number, and have WWNs of their own.
	more map[string][]*class
}

func newRegistry(size int) registry {
	return registry{first: make(map[string]*class, 2*size), more: map[string][]*class{}}
}

// find lists the classes that have one of the keys.
func (r *registry) find(keys []string) []*class {
	var found []*class
	add := func(c *class) {
		if c = c.whole(); !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	for _, key := range keys {
		if c := r.first[key]; c != nil {
			add(c)
		}
		for _, c := range r.more[key] {
			add(c)
		}
	}
	return found
}

// learn makes a class known by those keys that no report has: by what an object says, or the lock
// remembers, of its disk.
func (r *registry) learn(c *class, keys []string) {
	for _, key := range keys {
		if r.first[key] == nil {
			r.first[key] = c
		}
	}
}

// canBe reports whether an identity can be that of a class: it has one of its WWNs, or neither its
// WWN nor its serial number differs.
func (c *class) canBe(id *Identity) bool {
	if id.WWN != "" && slices.Contains(c.wwns, strings.TrimPrefix(id.WWN, "0x")) {
		return true
	}
	if contradict(c.wwns, digitsOf(id.WWN)) {
		return false
	}
	if id.Serial == "" {
		return true
	}
	said := evidence{}
	said.addSerial(number(id.Serial))
	return slices.ContainsFunc(c.disks, func(d *Disk) bool { return !otherSerial(said.serials, d.evidence().serials) })
}

// Is reports whether an identity that is remembered of a disk can be that of this one.
func (d *Disk) Is(id Identity) bool { return d.class.whole().canBe(&id) }

// join makes a disk known by an identity; what that connects becomes one class. It reports
// whether the identity can be that of the disk: one with another WWN cannot.
func (r *registry) join(d *Disk, id *Identity) bool {
	var room [8]string
	digits := strings.TrimPrefix(id.WWN, "0x")
	own := d.class.whole()
	if digits != "" {
		if contradict(own.wwns, digitsOf(id.WWN)) {
			return false
		}
		if own.wwns == nil {
			own.wwns = own.first[:0] // most have one
		}
		if !slices.Contains(own.wwns, digits) {
			own.wwns = append(own.wwns, digits)
		}
	}
	for _, key := range id.keys(room[:0]) {
		first := r.first[key]
		if first == nil {
			r.first[key] = own
			continue
		}
		united := false
		for _, c := range append([]*class{first}, r.more[key]...) {
			c = c.whole()
			switch {
			case c == own:
				united = true
			case !contradict(own.wwns, c.wwns) && (isWWN(key) || c.canBe(id)): // one WWN is one disk or its clone, whatever the serial numbers
				own, united = unite(own, c), true
			}
		}
		if !united {
			r.more[key] = append(r.more[key], own)
		}
	}
	return true
}

// unite makes one class of two, and returns it.
func unite(a, b *class) *class {
	if len(a.disks) > len(b.disks) {
		a, b = b, a
	}
	a.into = b
	b.disks = append(b.disks, a.disks...)
	slices.SortFunc(b.disks, func(x, y *Disk) int { return strings.Compare(x.called(), y.called()) })
	for _, digits := range a.wwns {
		if !slices.Contains(b.wwns, digits) {
			b.wwns = append(b.wwns, digits)
		}
	}
	return b
}

// same lists the reports of the disk, itself among them.
func (d *Disk) same() []*Disk { return d.class.whole().disks }
