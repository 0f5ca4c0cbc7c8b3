package diskpool

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// pool is one DiskPool of a set: of an earlier run, alive, or new.
type pool struct {
	name, node string
	apiVersion string
	spec       d.Node // as it was rendered, or as it is in the cluster; of a new one, as it is to be
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

// path is the path by which the pool names its disk.
func (p *pool) path() string {
	_, path := splitURI(p.uri())
	return "/" + strings.TrimLeft(path, "/")
}

// use is what the pool makes of its disk: nothing that a probe knows.
func (p *pool) use() disk.Use {
	size, _ := strconv.ParseInt(readMark(p.mark).size, 10, 64) // 0 where it is not known
	return disk.Use{Path: p.path(), Size: size}
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
