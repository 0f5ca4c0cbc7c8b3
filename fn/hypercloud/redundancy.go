package hypercloud

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/schema/finding"
)

// redundancy holds copies and daemons against the nodes and disks that there are.
type redundancy struct {
	*input
	members *members
}

// checkMons holds the monitors and managers against the nodes that take them.
func (r *redundancy) checkMons() {
	take := func(daemon string) int {
		n := 0
		for _, node := range r.Facts.Nodes {
			if place.RefuseNew(node, r.tolerations(daemon)) == "" {
				n++
			}
		}
		return n
	}
	c := &r.cfg.Spec.Ceph
	if n := take("mon"); c.Mons > n {
		severity := finding.Error
		for _, before := range r.befores() {
			if had, _ := before.Node.Get("spec", "mon", "count").Int(); int(had) == c.Mons {
				severity = finding.Warning // a node may be missing for a while
			}
		}
		r.reportAt(severity, "few-nodes", []any{"spec", "ceph", "mons"}, "%s, each on another node, and %s; write mons: %d, or add nodes", finding.Count(c.Mons, "monitor"), takePods(n), max(1, n-1+n%2))
	}
	if n := take("mgr"); c.Mgrs > n {
		r.reportAt(finding.Warning, "few-nodes-for-mgrs", []any{"spec", "ceph", "mgrs"}, "%s, each on another node, and %s; some of them wait", finding.Count(c.Mgrs, "manager"), takePods(n))
	}
}

func takePods(n int) string {
	return finding.Count(n, "node") + finding.Agree(n, " takes pods", " take pods")
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

// domains counts the failure domains with disks of a class, "" for any. A disk whose class
// is not known may be of any.
func (r *redundancy) domains(class string) (count int, unlabelled []string) {
	label := domainLabel(r.cfg.Spec.Storage.FailureDomain)
	seen := map[string]bool{}
	for _, h := range r.members.hosts {
		if !slices.ContainsFunc(h.devices, func(v *device) bool { return class == "" || v.class() == "" || v.class() == class }) {
			continue
		}
		value := h.name
		if r.cfg.Spec.Storage.FailureDomain != "host" {
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
func (r *redundancy) copied() []copied {
	var all []copied
	for i := range r.cfg.Spec.Block {
		b := &r.cfg.Spec.Block[i]
		all = append(all, copied{&b.copies, "block", i, poolKind, b.Name})
	}
	for i := range r.cfg.Spec.Filesystem {
		f := &r.cfg.Spec.Filesystem[i]
		all = append(all, copied{&f.copies, "filesystem", i, filesystemKind, f.Name})
	}
	for i := range r.cfg.Spec.Object {
		o := &r.cfg.Spec.Object[i]
		all = append(all, copied{&o.copies, "object", i, storeKind, o.Name})
	}
	return all
}

// checkDomains holds the copies of everything against the failure domains with disks. A
// default that is too much is said once.
func (r *redundancy) checkDomains() {
	if len(r.members.hosts) == 0 {
		if why := prerequisite.NoReports(r.Facts); why != "" && len(r.cfg.Spec.Storage.Nodes) == 0 {
			r.Report(finding.Error, noDisks, "spec.storage", "%s; poolwright doctor shows what else is missing", why)
			return
		}
		r.Report(finding.Error, noDisks, "spec.storage", "no disk is left for the cluster, and one without OSDs serves nothing; poolwright explain says why each disk is refused")
		return
	}
	domain, told := r.cfg.Spec.Storage.FailureDomain, false
	for _, c := range r.copied() {
		path, about := []any{"spec", c.list, c.index, "replicas"}, c.String()+" wants "
		if _, said := written(r.Object, path); !said {
			path, about = []any{"spec", "storage", "replicas"}, ""
		}
		r.checkFewer(&c, path)
		if c.Replicas == 1 && !c.AllowUnsafe {
			r.reportAt(finding.Error, "unsafe", []any{"spec", c.list, c.index, "allowUnsafe"}, "%s has one copy, and is lost with its disk; write replicas: 2 or more, or, to put up with that, allowUnsafe: true", &c)
		}
		if !r.checkClass(&c) {
			continue
		}
		n, unlabelled := r.domains(c.DeviceClass)
		if c.Replicas <= n || about == "" && told {
			continue
		}
		told = told || about == ""
		class := orElse(c.DeviceClass != "", " of class "+c.DeviceClass, "")
		if len(unlabelled) > 0 {
			class += fmt.Sprintf("; %s %s no label %s", finding.Names(unlabelled), finding.Agree(len(unlabelled), "has", "have"), domainLabel(domain))
		}
		r.reportAt(finding.Error, fewDomains, path, "%s%s, each %s another %s, and %s%s; add devices to more of them, or lower replicas (for 1, every pool needs allowUnsafe: true)",
			about, finding.Count(c.Replicas, "copy"), orElse(domain == "host", "on", "in"), domain, haveDisks(n, domain), class)
	}
}

func haveDisks(n int, domain string) string {
	return finding.Count(n, domain) + finding.Agree(n, " has disks", " have disks")
}

// checkFewer warns of fewer copies than the cluster has.
func (r *redundancy) checkFewer(c *copied, path []any) {
	live := r.Facts.Object(krm.ID{Group: cephGroup, Kind: c.kind, Namespace: r.Object.Namespace, Name: c.name})
	if live == nil {
		return
	}
	size, said := live.Node.Get("spec", "replicated", "size").Int()
	if !said {
		size, _ = live.Node.Get("spec", "metadataPool", "replicated", "size").Int()
	}
	if int(size) > c.Replicas {
		r.reportAt(finding.Warning, "fewer-replicas", path, "the live %s has %d copies; with %d, fewer disks may fail", c, size, c.Replicas)
	}
}
