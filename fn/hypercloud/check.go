package hypercloud

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkCluster holds the spec against the release of Rook, and against the cluster as it
// is: some of it can never change.
func (s *storage) checkCluster() {
	c := &s.cfg.Spec.Ceph
	for _, before := range s.befores() {
		if dir := before.Node.Str("spec", "dataDirHostPath"); dir != "" && dir != c.DataDirHostPath {
			s.reportAt(finding.Error, "data-dir-changed", []any{"spec", "ceph", "dataDirHostPath"}, "the cluster has %s, and that never changes: the monitors would begin with nothing; write dataDirHostPath: %s", dir, dir)
			break
		}
	}
	s.checkImage()
	for _, o := range slices.Concat(s.in.Facts.Objects(cephGroup, clusterKind), s.in.Held) {
		if o.GroupKind() == gk(cephGroup, clusterKind) && o.Namespace == s.Object.Namespace && o.Name != s.Object.Name && o.Owner() != s.owner {
			s.reportAt(finding.Error, "namespace-taken", []any{"metadata", "namespace"}, "has %s already, and Rook takes one cluster a namespace; call the spec %s to take that over, or move it to another namespace", o.Ref, o.Name)
		}
	}
	if s.live == nil {
		return
	}
	if mons, said := s.live.Node.Get("spec", "mon", "count").Int(); said && int(mons) > c.Mons {
		s.reportAt(finding.Warning, "fewer-mons", []any{"spec", "ceph", "mons"}, "the live cluster has %d; with fewer, fewer may fail", mons)
	}
}

// checkImage settles the image of Ceph: what the spec leaves open stays as it was, as far
// as the release of Rook runs it.
func (s *storage) checkImage() {
	c, release := &s.cfg.Spec.Ceph, s.cfg.release
	path := []any{"spec", "ceph", "image"}
	newest := version{}
	from := ""
	for _, before := range s.befores() {
		image := before.Node.Str("spec", "cephVersion", "image")
		v, read := versionOf(image)
		if c.Image == "" && read && release.fits(v) {
			c.Image = image
		}
		if read && newest.less(v) {
			newest, from = v, image
		}
	}
	c.Image = cmp.Or(c.Image, release.image())
	v, read := versionOf(c.Image)
	first, last, known := release.runs()
	switch {
	case !known:
		s.reportAt(finding.Info, "newer-release", []any{"spec", "rook", "version"}, "%s is newer than the newest release that is known, %s; everything is rendered as for that, and whether it runs %s is not known", release, newestRelease, c.Image)
	case !read:
		s.reportAt(finding.Warning, "image-version", path, "%s has no version in its tag, so whether Rook %s runs it is not known; write one such as %s", c.Image, release, release.image())
	case !release.fits(v):
		s.reportAt(finding.Error, "image-not-run", path, "Rook %s runs Ceph v%d to v%d, and not %s; write one such as %s, or another rook.version", release, first, last, c.Image, release.image())
	case !v.exact:
		s.reportAt(finding.Warning, "image-version", path, "%s is no exact tag, and may be another Ceph tomorrow; write one such as %s", c.Image, release.image())
	}
	if read && v.less(newest) {
		s.reportAt(finding.Error, "ceph-downgrade", path, "the cluster has %s, and Ceph cannot go back to %s; write image: %s or a newer one", from, c.Image, from)
	}
}

// checkNames refuses a name that two classes would have.
func (s *storage) checkNames() {
	seen := map[string]string{}
	check := func(list string, i int, name string) {
		if first, found := seen[name]; found {
			s.reportAt(finding.Error, "name-twice", []any{"spec", list, i, "name"}, "%s is the name of %s, too, and both give their class that name; give one of them another", name, first)
			return
		}
		seen[name] = fmt.Sprintf("spec.%s[%d]", list, i)
	}
	for i := range s.cfg.Spec.Block {
		check("block", i, s.cfg.Spec.Block[i].Name)
	}
	for i := range s.cfg.Spec.Filesystem {
		check("filesystem", i, s.cfg.Spec.Filesystem[i].Name)
	}
	stores := map[string]bool{}
	for i := range s.cfg.Spec.Object {
		name := s.cfg.Spec.Object[i].Name
		if stores[name] {
			s.reportAt(finding.Error, "name-twice", []any{"spec", "object", i, "name"}, "%s is the name of two object stores; give one of them another", name)
		}
		stores[name] = true
	}
}

// checkMons holds the monitors and managers against the nodes that take them.
func (s *storage) checkMons() {
	take := func(daemon string) int {
		n := 0
		for _, node := range s.in.Facts.Nodes {
			if place.RefusePods(node, s.tolerations(daemon)) == "" {
				n++
			}
		}
		return n
	}
	c := &s.cfg.Spec.Ceph
	if n := take("mon"); c.Mons > n {
		severity := finding.Error
		for _, before := range s.befores() {
			if had, _ := before.Node.Get("spec", "mon", "count").Int(); int(had) == c.Mons {
				severity = finding.Warning // a node may be missing for a while
			}
		}
		s.reportAt(severity, "few-nodes", []any{"spec", "ceph", "mons"}, "%s, each on another node, and %s; write mons: %d, or add nodes", finding.Count(c.Mons, "monitor"), takePods(n), max(1, n-1+n%2))
	}
	if n := take("mgr"); c.Mgrs > n {
		s.reportAt(finding.Warning, "few-nodes-for-mgrs", []any{"spec", "ceph", "mgrs"}, "%s, each on another node, and %s; some of them wait", finding.Count(c.Mgrs, "manager"), takePods(n))
	}
}

func takePods(n int) string {
	if n == 1 {
		return "1 node takes pods"
	}
	return finding.Count(n, "node") + " take pods"
}

// domainLabel is the label of a node that says in which failure domain it is.
func domainLabel(domain string) string {
	switch domain {
	case "zone":
		return inventory.LabelZone
	case "rack":
		return "topology.rook.io/rack"
	}
	return inventory.LabelHostname
}

// domains counts the failure domains with disks of a class, "" for any. A disk of which no
// class is said may be of any.
func (s *storage) domains(class string) (count int, unlabelled []string) {
	label := domainLabel(s.cfg.Spec.Storage.FailureDomain)
	seen := map[string]bool{}
	for _, h := range s.hosts {
		if !slices.ContainsFunc(h.devices, func(v *device) bool { return class == "" || v.DeviceClass == "" || v.DeviceClass == class }) {
			continue
		}
		value := h.name
		if s.cfg.Spec.Storage.FailureDomain != "host" {
			if value = ""; h.node != nil {
				value = h.node.Object.Label(label)
			}
		}
		if value == "" {
			unlabelled = append(unlabelled, h.name)
			continue
		}
		seen[value] = true
	}
	return len(seen), unlabelled
}

// copied is a pool, a filesystem or an object store of the spec.
type copied struct {
	*copies
	list       string // the field of spec that it is in
	index      int
	kind, name string
}

func (c *copied) String() string { return c.kind + " " + c.name }

// copied lists everything that has copies.
func (s *storage) copied() []copied {
	var all []copied
	for i := range s.cfg.Spec.Block {
		b := &s.cfg.Spec.Block[i]
		all = append(all, copied{&b.copies, "block", i, poolKind, b.Name})
	}
	for i := range s.cfg.Spec.Filesystem {
		f := &s.cfg.Spec.Filesystem[i]
		all = append(all, copied{&f.copies, "filesystem", i, filesystemKind, f.Name})
	}
	for i := range s.cfg.Spec.Object {
		o := &s.cfg.Spec.Object[i]
		all = append(all, copied{&o.copies, "object", i, storeKind, o.Name})
	}
	return all
}

// checkDomains holds the copies of everything against the failure domains with disks. A
// default that is too much is said once.
func (s *storage) checkDomains() {
	if len(s.hosts) == 0 {
		s.Report(finding.Error, "no-disks", "spec.storage", "no disk is left for the cluster, and one without OSDs serves nothing; poolwright explain says why each disk is refused")
		return
	}
	domain, told := s.cfg.Spec.Storage.FailureDomain, false
	for _, c := range s.copied() {
		path, about := []any{"spec", c.list, c.index, "replicas"}, c.String()+" wants "
		if _, said := s.written(path); !said {
			path, about = []any{"spec", "storage", "replicas"}, ""
		}
		s.checkFewer(&c, path)
		if c.Replicas == 1 && !c.AllowUnsafe {
			s.reportAt(finding.Error, "unsafe", []any{"spec", c.list, c.index, "allowUnsafe"}, "%s has one copy, and is lost with its disk; write replicas: 2 or more, or, to put up with that, allowUnsafe: true", &c)
		}
		n, unlabelled := s.domains(c.DeviceClass)
		if c.Replicas <= n || about == "" && told {
			continue
		}
		told = told || about == ""
		class := orElse(c.DeviceClass != "", " of class "+c.DeviceClass, "")
		if len(unlabelled) > 0 {
			class += fmt.Sprintf("; %s %s no label %s", finding.Names(unlabelled), orElse(len(unlabelled) == 1, "has", "have"), domainLabel(domain))
		}
		s.reportAt(finding.Error, "replicas", path, "%s%s, each %s another %s, and %s%s; add devices to more of them, or lower replicas (for 1, every pool needs allowUnsafe: true)",
			about, orElse(c.Replicas == 1, "1 copy", fmt.Sprintf("%d copies", c.Replicas)), orElse(domain == "host", "on", "in"), domain, haveDisks(n, domain), class)
	}
}

func haveDisks(n int, domain string) string {
	if n == 1 {
		return "1 " + domain + " has disks"
	}
	return finding.Count(n, domain) + " have disks"
}

// checkFewer warns of fewer copies than what lives has.
func (s *storage) checkFewer(c *copied, path []any) {
	live := s.in.Facts.Object(krm.ID{Group: cephGroup, Kind: c.kind, Namespace: s.Object.Namespace, Name: c.name})
	if live == nil {
		return
	}
	size, said := live.Node.Get("spec", "replicated", "size").Int()
	if !said {
		size, _ = live.Node.Get("spec", "metadataPool", "replicated", "size").Int()
	}
	if int(size) > c.Replicas {
		s.reportAt(finding.Warning, "fewer-replicas", path, "the live %s has %d copies; with %d, fewer disks may fail", c, size, c.Replicas)
	}
}

// befores are the cluster as it was rendered and as it lives, as far as they are there.
func (s *storage) befores() []*krm.Object {
	if s.unused {
		return nil
	}
	return slices.DeleteFunc([]*krm.Object{s.locked, s.live}, func(o *krm.Object) bool { return o == nil })
}
