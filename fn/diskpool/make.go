package diskpool

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// maker makes pools as the release writes them.
type maker struct{ *input }

// newPool is a pool on a disk of a node.
func (m *maker) newPool(node, name, link string, on *disk.Disk) *pool {
	uri := link
	if scheme := m.cfg.Spec.DiskURI; scheme != "path" {
		uri = scheme + "://" + link
	}
	spec := d.Object(d.F("node", d.Text(node)), d.F("disks", d.List(d.Text(uri))))
	if labels := m.labels(); len(labels) > 0 {
		spec.Set(topology, d.Object(d.F("labelled", textMap(labels))))
	}
	if secret := m.cfg.Spec.EncryptionSecret; secret != "" {
		spec.Set(encryption, d.Object(d.F("source", d.Object(d.F("secret", d.Object(d.F("name", d.Text(secret))))))))
	}
	if size := m.cfg.Spec.MaxExpansion; size != "" {
		spec.Set(expansion, d.Text(size))
	}
	if size := m.cfg.Spec.ClusterSize; size != "" {
		spec.Set(m.form.clusterKey(), d.Text(size))
	}
	return &pool{
		name: name, node: node, apiVersion: m.form.apiVersion, spec: spec, mark: markOf(on).String(), disk: on,
		live: m.Facts.Object(m.poolID(name)), isNew: true,
	}
}

// labels are those of new pools.
func (m *maker) labels() map[string]string {
	if !m.form.has(topology) {
		return nil
	}
	labels := map[string]string{labelSet: m.Object.Name}
	for key, value := range m.cfg.Spec.TopologyLabels {
		labels[key] = value
	}
	return labels
}

// object is the pool as it is rendered.
func (m *maker) object(p *pool) *krm.Object {
	apiVersion, spec := p.inForm(&m.form)
	o := krm.Make(apiVersion, poolKind, m.Object.Namespace, p.name, d.F("spec", spec.Made()))
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

// textMap writes texts in order of their keys.
func textMap(m map[string]string) d.Node {
	out := d.Object()
	for key, value := range m {
		out.Set(key, d.Text(value))
	}
	slices.SortFunc(out.Fields(), func(a, b d.Field) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
