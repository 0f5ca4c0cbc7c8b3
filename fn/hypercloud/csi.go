package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Files of the CSI drivers and of what all of them get, which is applied first.
const (
	operatorConfFile = "1-operatorconfig"
	driverFile       = "2-driver"
)

// addDrivers makes the CSI drivers, which Rook itself made up to release 1.19. They come
// before the CephCluster of their level, also where files are applied in their order.
func (m *manifests) addDrivers() {
	if m.cfg.release < withDrivers {
		return
	}
	operator := m.cfg.Spec.Rook.OperatorNamespace
	defaults := d.Object(
		d.F("log", d.Object(d.F("verbosity", d.Int(0)))),
		d.F("attachRequired", d.Bool(true)),
		d.F("fsGroupPolicy", d.Text("File")),
		d.F("snapshotPolicy", d.Text("volumeSnapshot")),
	)
	if m.hasImageSet() {
		defaults.Set("imageSet", d.Object(d.F("name", d.Text(imageSetName))))
	}
	m.add(levelCluster, operatorConfFile, krm.Make(csiGroup+"/v1", operatorConfKind, operator, operatorConfName, d.F("spec", d.Object(
		d.F("driverSpecDefaults", defaults),
	))))
	for _, name := range []string{cephfsDriver(operator), rbdDriver(operator)} {
		m.add(levelCluster, driverFile, krm.Make(csiGroup+"/v1", driverKind, operator, name, d.F("spec", d.Object(
			d.F("clusterName", d.Text(m.Object.Namespace)),
		))))
	}
}

// hasImageSet reports whether the operator comes with the ConfigMap of the images of its CSI
// drivers: without its name in the OperatorConfig, they are not those of the release. An
// operator that is not in the package is assumed to be complete; drivers that name a
// ConfigMap that is missing do not start.
func (m *manifests) hasImageSet() bool {
	is := func(o *krm.Object) bool { return o.GroupKind() == gk("", "ConfigMap") && o.Name == imageSetName }
	return slices.ContainsFunc(m.Manifests, is) || slices.ContainsFunc(m.Before, is) || !slices.ContainsFunc(m.Manifests, isOperator)
}

// compare reports what a manifest sets in another way than Poolwright would.
func (c *copying) compare(ours, theirs *krm.Object) {
	if all := unlike(ours.Node.Get("spec"), theirs.Node.Get("spec"), "spec"); len(all) > 0 {
		c.Report(finding.Warning, "driver-differs", "spec.rook", "%s of the package is used as it is, and differs from what Poolwright renders without it: %s; change the manifest, or remove it to have it rendered", theirs.Ref, strings.Join(all, ", "))
	}
}

// unlike lists the fields of an object that another one lacks, or has with another value.
func unlike(ours, theirs *d.Node, path string) []string {
	if ours.Kind() != d.Map {
		if theirs.Str() == ours.Str() {
			return nil
		}
		has := "is not set"
		if theirs != nil && theirs.Kind() != d.Null {
			has = "is " + theirs.Str()
		}
		return []string{path + " " + has + ", not " + ours.Str()}
	}
	var all []string
	for _, f := range ours.Fields() {
		all = append(all, unlike(&f.Value, theirs.Get(f.Key), path+"."+f.Key)...)
	}
	return all
}
