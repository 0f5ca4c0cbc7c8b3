package hypercloud

import (
	"maps"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

const csiKey = "csi.storage.k8s.io/"

// classManifests make the classes of volumes and snapshots.
type classManifests struct{ *manifests }

// addClasses makes the classes of volumes and snapshots.
func (m *classManifests) addClasses() {
	wanted := map[string]bool{}
	operator := m.cfg.Spec.Rook.OperatorNamespace
	implied := m.impliesDefault()
	for i := range m.cfg.Spec.Block {
		b := &m.cfg.Spec.Block[i]
		wanted[b.Name] = true
		m.addClass("block", i, &b.classConfig, implied && i == 0, class.Class{
			Name: b.Name, Provisioner: rbdDriver(operator), ReclaimPolicy: b.ReclaimPolicy,
			Parameters: map[string]string{
				"clusterID": m.Object.Namespace, "pool": b.Name, "imageFormat": "2", "imageFeatures": "layering", csiKey + "fstype": b.FSType,
			},
		}, rbdProvisioner, rbdNode)
	}
	for i := range m.cfg.Spec.Filesystem {
		f := &m.cfg.Spec.Filesystem[i]
		wanted[f.Name] = true
		m.addClass("filesystem", i, &f.classConfig, false, class.Class{
			Name: f.Name, Provisioner: cephfsDriver(operator), ReclaimPolicy: f.ReclaimPolicy,
			Parameters: map[string]string{"clusterID": m.Object.Namespace, "fsName": f.Name, "pool": f.Name + "-" + dataPoolName},
		}, cephfsProvisioner, cephfsNode)
	}
	for _, o := range m.Before {
		if o.GroupKind() != class.Kind() || wanted[o.Name] {
			continue
		}
		if user := class.UserOf(m.Facts, o.Name); user != "" {
			c := class.Read(o)
			m.add(levelClasses, "storageclass", c.Object())
			m.Defaults.Know(c.Name)
			m.Report(finding.Warning, "class-used", "spec", "StorageClass %s is no longer in the spec, and is kept while it is used: %s", o.Name, user)
		}
	}
}

// impliesDefault reports whether the first block pool has the default class, since the
// spec says of none that it has.
func (m *classManifests) impliesDefault() bool {
	for i := range m.cfg.Spec.Block {
		if d := m.cfg.Spec.Block[i].Default; d != nil && (*d || i == 0) {
			return false
		}
	}
	for i := range m.cfg.Spec.Filesystem {
		if d := m.cfg.Spec.Filesystem[i].Default; d != nil && *d {
			return false
		}
	}
	return true
}

// addClass makes a class of volumes, and that of their snapshots.
func (m *classManifests) addClass(list string, i int, want *classConfig, implied bool, c class.Class, provisioner, node string) {
	c.Binding, c.AllowsExpansion = "Immediate", true
	c.Default = implied || want.Default != nil && *want.Default
	forms := m.secrets(c.Parameters, provisioner, node)
	c.Parameters = forms[0]
	before := class.Before(m.Facts, m.Before, c.Name)
	if before != nil {
		if class.Rendered(m.Before, c.Name) == nil {
			addSecrets(before.Parameters, c.Parameters)
		}
		// Where only the release changed, the class keeps what it was made with.
		for _, form := range forms[1:] {
			if len(form) != len(before.Parameters) {
				continue
			}
			c.Parameters = form
			if maps.Equal(form, before.Parameters) {
				m.reportAt(finding.Info, "class-kept", []any{"spec", "rook", "version"}, "StorageClass %s keeps the parameters that it was made with; a class of another name gets those of release %s", c.Name, m.cfg.release)
			}
		}
	}
	for _, change := range c.Changes(before, classField) {
		m.reportAt(finding.Error, "class-changed", []any{"spec", list, i, change.Field}, "StorageClass %s %s", c.Name, change.Text)
	}
	m.Defaults.Know(c.Name)
	if c.Default {
		if first := m.Defaults.Take(c.Name, m.Object.Ref); first != "" {
			m.reportAt(finding.Error, "two-defaults", []any{"spec", list, i, "default"}, "StorageClass %s is a second default class%s, the first is %s; write default: false for one of them", c.Name, orElse(implied, ", as that of the first block pool is unless it says otherwise", ""), first)
		}
	}
	m.add(levelClasses, "storageclass", c.Object())
	if want.SnapshotClass {
		m.add(levelClasses, "volumesnapshotclass", krm.Make(snapshotGroup+"/v1", snapshotKind, "", c.Name,
			d.F("driver", d.Text(c.Provisioner)),
			d.F("parameters", d.Object(
				d.F("clusterID", d.Text(m.Object.Namespace)),
				d.F(csiKey+"snapshotter-secret-name", d.Text(provisioner)),
				d.F(csiKey+"snapshotter-secret-namespace", d.Text(m.Object.Namespace)),
			)),
			d.F("deletionPolicy", d.Text("Delete")),
		))
	}
}

// classField is the field of a pool or a filesystem in the spec that a field of its StorageClass comes from.
func classField(field string) string {
	switch field {
	case "parameters." + csiKey + "fstype":
		return "fsType"
	case "reclaimPolicy":
		return field
	}
	return "name"
}

// addSecrets completes the parameters of a live class, of which a snapshot leaves out the
// Secrets.
func addSecrets(live, wanted map[string]string) {
	isSecret := func(key string) bool { return strings.Contains(key, "-secret-name") }
	for key := range live {
		if isSecret(key) {
			return
		}
	}
	for key, value := range wanted {
		if isSecret(key) {
			live[key] = value
		}
	}
}

// secrets are the parameters with the Secrets that Rook makes, as the release wants them
// first, and then as others have made them.
func (m *classManifests) secrets(parameters map[string]string, provisioner, node string) []map[string]string {
	few := maps.Clone(parameters)
	add := func(to map[string]string, what, secret string) {
		to[csiKey+what+"-secret-name"], to[csiKey+what+"-secret-namespace"] = secret, m.Object.Namespace
	}
	add(few, "provisioner", provisioner)
	add(few, "controller-expand", provisioner)
	add(few, "node-stage", node)
	all := maps.Clone(few)
	add(all, "controller-publish", provisioner)
	add(all, "controller-modify", provisioner)
	add(all, "node-publish", node)
	if m.cfg.release >= withDrivers {
		return []map[string]string{all, few}
	}
	return []map[string]string{few, all}
}
