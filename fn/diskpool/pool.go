package diskpool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// pool is one DiskPool of a set: of an earlier run, alive, or new.
type pool struct {
	name, node string
	apiVersion string
	spec       d.Node // as it was rendered, or as it lives; of a new one, as it is to be
	mark       string // the annotation of its disk
	chosen     string // words that say why it is where it is
	replaces   string // the name of the pool that it takes the place of, or ""
	live       *krm.Object
	disk       *disk.Disk // nil where it is not found
	gone       bool       // it is known not to live
	isNew      bool
	consent    bool // it may go
	leaving    bool // another one takes its place
}

// readPool reads a DiskPool.
func readPool(o *krm.Object) *pool {
	p := &pool{
		name: o.Name, node: o.Node.Str("spec", "node"), apiVersion: o.APIVersion,
		mark: o.Annotation(annotationDisk), chosen: o.Annotation(annotationChosen), replaces: o.Annotation(annotationReplaces),
	}
	if spec := o.Node.Get("spec"); spec != nil {
		p.spec = *spec
	}
	return p
}

// uri is the disk as the pool names it, "" for none.
func (p *pool) uri() string {
	if disks := p.spec.Seq("disks"); len(disks) > 0 {
		return disks[0].Value()
	}
	return ""
}

// setting is what a pool has of what new pools get of the spec, as text.
func (p *pool) setting(field string) string {
	switch field {
	case "topologyLabels":
		labels := p.spec.StrMap("topology", "labelled")
		delete(labels, labelSet)
		return pairs(labels)
	case "encryptionSecret":
		return p.spec.Str(encryption, "source", "secret", "name")
	case "maxExpansion":
		return p.spec.Str(expansion)
	case "clusterSize":
		return cmp.Or(p.spec.Str(cluster), p.spec.Str(cluster29))
	case "diskURI":
		scheme, _ := splitURI(p.uri())
		return cmp.Or(scheme, "path")
	}
	return ""
}

// pairs writes labels in order.
func pairs(labels map[string]string) string {
	var all []string
	for key, value := range labels {
		all = append(all, key+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// sameDisk reports whether two pools name one disk.
func (s *set) sameDisk(a, b *pool) bool {
	_, first := splitURI(a.uri())
	_, second := splitURI(b.uri())
	if strings.TrimLeft(first, "/") == strings.TrimLeft(second, "/") && a.node == b.node {
		return true
	}
	return a.disk != nil && a.disk == b.disk
}

// find looks for the disk of a pool: by the identity that it remembers, then by its link.
func (s *set) find(p *pool) *disk.Disk {
	hold, found := holdOf(p.node, p.uri())
	if !found {
		return nil
	}
	var candidates []*disk.Disk
	if m := readMark(p.mark); m.wwn != "" || m.serial != "" {
		candidates = s.in.Disks.Named(disk.Hold{Identity: disk.Identity{WWN: m.wwn, Serial: m.serial, Node: p.node}})
	}
	candidates = slices.Concat(candidates, s.in.Disks.Named(hold))
	for _, there := range candidates {
		if !there.Missing() && !there.Inactive() && s.in.Disks.NodeOf(there) == p.node {
			return there
		}
	}
	return nil
}

// hasLink reports whether a pool's link still names its disk.
func (p *pool) hasLink() bool {
	_, path := splitURI(p.uri())
	path = "/" + strings.TrimLeft(path, "/")
	return slices.Contains(p.disk.Known().Links, path) || p.disk.HasPath(func(have string) bool { return have == path }) || slices.Contains(p.disk.ByPathLinks(), path)
}

func (s *set) poolRef(name string) finding.Ref {
	return finding.Ref{APIVersion: s.form.apiVersion, Kind: poolKind, Namespace: s.Object.Namespace, Name: name}
}

func (s *set) poolID(name string) krm.ID {
	return krm.ID{Group: group, Kind: poolKind, Namespace: s.Object.Namespace, Name: name}
}

// inForm is the spec of a pool as the release writes it. What the release cannot say stays
// as it is, with the version that can.
func (p *pool) inForm(f *form) (apiVersion string, spec d.Node) {
	spec = p.spec
	for i := range spec.Fields() {
		switch key := spec.Fields()[i].Key; key {
		case "node", "disks":
		case cluster, cluster29:
			if !f.knows(cluster) {
				return p.apiVersion, p.spec
			}
		default:
			if !f.knows(key) {
				return p.apiVersion, p.spec
			}
		}
	}
	spec = spec.Copy()
	for i := range spec.Fields() {
		if key := spec.Fields()[i].Key; key == cluster || key == cluster29 {
			spec.Fields()[i].Key = f.clusterKey()
		}
	}
	return f.apiVersion, spec
}

// object is the pool as it is rendered.
func (s *set) object(p *pool) *krm.Object {
	apiVersion, spec := p.inForm(&s.form)
	o := krm.Make(apiVersion, poolKind, s.Object.Namespace, p.name, d.F("spec", spec.Made()))
	if p.mark != "" {
		o.SetAnnotation(annotationDisk, p.mark)
	}
	if p.chosen != "" {
		o.SetAnnotation(annotationChosen, p.chosen)
	}
	if p.replaces != "" {
		o.SetAnnotation(annotationReplaces, p.replaces)
	}
	return o
}

// newPool is a pool on a disk of a node.
func (s *set) newPool(node, name, link string, on *disk.Disk) *pool {
	uri := link
	if scheme := s.cfg.Spec.DiskURI; scheme != "path" {
		uri = scheme + "://" + link
	}
	spec := d.Object(d.F("node", d.Text(node)), d.F("disks", d.List(d.Text(uri))))
	if labels := s.labels(); len(labels) > 0 {
		spec.Set(topology, d.Object(d.F("labelled", textMap(labels))))
	}
	if secret := s.cfg.Spec.EncryptionSecret; secret != "" {
		spec.Set(encryption, d.Object(d.F("source", d.Object(d.F("secret", d.Object(d.F("name", d.Text(secret))))))))
	}
	if size := s.cfg.Spec.MaxExpansion; size != "" {
		spec.Set(expansion, d.Text(size))
	}
	if size := s.cfg.Spec.ClusterSize; size != "" {
		spec.Set(s.form.clusterKey(), d.Text(size))
	}
	return &pool{
		name: name, node: node, apiVersion: s.form.apiVersion, spec: spec, mark: markOf(on).String(), disk: on,
		live: s.in.Facts.Object(s.poolID(name)), isNew: true,
	}
}

// labels are those of new pools.
func (s *set) labels() map[string]string {
	if !s.form.has(topology) {
		return nil
	}
	labels := map[string]string{labelSet: s.Object.Name}
	for key, value := range s.cfg.Spec.TopologyLabels {
		labels[key] = value
	}
	return labels
}

// textMap writes texts in order of their keys.
func textMap(m map[string]string) d.Node {
	out := d.Object()
	for key, value := range m {
		out.Set(key, d.Text(value))
	}
	slices.SortFunc(out.Fields(), func(a, b d.Field) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
