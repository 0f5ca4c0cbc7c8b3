package disk

import (
	"iter"
	"slices"
	"strings"
)

// site is the disks of one node, or of a host of which the facts have no node.
type site struct {
	host     string
	disks    []*Disk // as reported
	ranked   []*Disk // see Ledger.On
	byKernel map[string]*Disk
	double   map[string][]*Disk // kernel names that several reports have
	vague    []*Disk            // of which no kernel name is known, missing ones among them
	byPath   map[string][]*Disk // every path and link, made when it is first asked for
}

// sites finds sites by their hosts.
type sites struct {
	byHost map[string]*site
	known  map[string]spot // by every name of a node
	// homeless has the disks of hosts that are not among the nodes of the facts, by their paths: a
	// node may be back under another name.
	homeless map[string][]*Disk
	// luns has the disks with a by-path link of a LUN (lunOf), of all nodes: a target may give each node another
	// disk under one number.
	luns map[string][]*Disk
}

// spot is the sites that a node, given by name or hostname label, may be.
type spot struct {
	sites []*site
	stray bool // the facts have nodes, and not this one
}

func (l *Ledger) spot(node string) spot {
	at, found := l.sites.known[node]
	if found {
		return at
	}
	at.stray = node != "" && len(l.facts.Nodes) > 0 && l.facts.Node(node) == nil && len(l.facts.Host(node)) == 0
	for _, host := range l.hosts(node) {
		s := l.sites.byHost[host]
		if s == nil {
			size := len(l.devicesAt(host))
			s = &site{host: host, disks: make([]*Disk, 0, size), byKernel: make(map[string]*Disk, size)}
			l.sites.byHost[host] = s
		}
		at.sites = append(at.sites, s)
	}
	l.sites.known[node] = at
	return at
}

// hosts are the names of the nodes that a name or a hostname label means; the text itself where
// the facts have no such node.
func (l *Ledger) hosts(node string) []string {
	named, labelled := l.facts.Node(node), l.facts.Host(node)
	var hosts []string
	if named != nil {
		hosts = append(hosts, named.Name)
	}
	for _, n := range labelled {
		if !slices.Contains(hosts, n.Name) {
			hosts = append(hosts, n.Name)
		}
	}
	if len(hosts) == 0 {
		return []string{node}
	}
	slices.Sort(hosts)
	return hosts
}

// settle enters a disk at its site.
func (l *Ledger) settle(d *Disk) {
	if d.Node != "" {
		at := l.spot(d.Node)
		d.sites, d.stray = at.sites, at.stray
	}
	vague := true
	for path := range d.paths() {
		if lun := lunOf(path); lun != "" && !slices.Contains(l.sites.luns[lun], d) {
			l.sites.luns[lun] = append(l.sites.luns[lun], d)
		}
		if d.stray {
			l.sites.homeless[path] = append(l.sites.homeless[path], d)
		}
		if isKernelName(path) {
			vague = false
			for _, s := range d.sites {
				s.enter(d, path)
			}
		}
	}
	for _, s := range d.sites {
		if !d.Missing() {
			s.disks = append(s.disks, d)
		}
		if vague {
			s.vague = append(s.vague, d)
		}
	}
}

// enter enters a disk under a kernel name.
func (s *site) enter(d *Disk, kernel string) {
	first := s.byKernel[kernel]
	if first == nil || first == d {
		s.byKernel[kernel] = d
		return
	}
	if s.double == nil {
		s.double = map[string][]*Disk{}
	}
	if len(s.double[kernel]) == 0 {
		s.double[kernel] = []*Disk{first}
	}
	s.double[kernel] = append(s.double[kernel], d)
}

// paths yields the paths of the disk on its node, kernel names and links, some of them twice.
func (d *Disk) paths() iter.Seq[string] {
	return func(yield func(string) bool) {
		if d.Path != "" && !yield(d.Path) {
			return
		}
		if d.Missing() {
			for _, link := range d.Links {
				if !yield(link) {
					return
				}
			}
		}
		if d.Device != nil {
			if d.Device.Path != d.Path && d.Device.Path != "" && !yield(d.Device.Path) {
				return
			}
			for _, link := range d.Device.Links {
				if !yield(link) {
					return
				}
			}
		}
		if d.Entry != nil {
			if path := d.Entry.Identity.Path; path != d.Path && path != "" && !yield(path) {
				return
			}
			for _, link := range d.Entry.Links {
				if !yield(link) {
					return
				}
			}
		}
	}
}

// kernelNames yields what the kernel calls the disk; two names where its reports are of two boots, or of
// two paths to it.
func (d *Disk) kernelNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for path := range d.paths() {
			if isKernelName(path) && !yield(path) {
				return
			}
		}
	}
}

// isKernelName reports whether the kernel calls a disk so. Device mapper and md number what is made of
// disks with names of their own.
func isKernelName(path string) bool {
	name, found := strings.CutPrefix(path, "/dev/")
	return found && strings.IndexByte(name, '/') < 0 && !strings.HasPrefix(name, "dm-") && !strings.HasPrefix(name, "md")
}

func (d *Disk) hasKernelName() bool {
	for range d.kernelNames() {
		return true
	}
	return false
}

// at lists the reports at a path of a node, given by name or hostname label.
func (l *Ledger) at(node, path string) []*Disk {
	if path == "" {
		return nil
	}
	var found []*Disk
	for _, s := range l.spot(node).sites {
		if s.byPath == nil {
			s.byPath = make(map[string][]*Disk, 4*len(s.disks)) // a kernel name, and a link or two by id and by path
			for _, d := range s.disks {
				for p := range d.paths() {
					if !slices.Contains(s.byPath[p], d) {
						s.byPath[p] = append(s.byPath[p], d)
					}
				}
			}
		}
		there := s.byPath[path]
		if len(there) == 0 {
			there = s.byPath[wholeDisk(path)]
		}
		for _, d := range there {
			if !slices.Contains(found, d) {
				found = append(found, d)
			}
		}
	}
	return found
}
