package hypercloud

import (
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// graph is in which order a HyperCloudStorage is applied.
func graph() gitops.Graph {
	after := map[level][]level{
		levelRoles: {levelDefinitions}, levelOperators: {levelRoles}, levelCluster: {levelOperators},
		levelPools: {levelCluster}, levelClasses: {levelPools}, levelToolbox: {levelCluster},
		levelCDI: {levelOperators, levelClasses}, // it fills volumes of a class
	}
	gates := map[level][]krm.GroupKind{
		levelOperators: {gk(appsGroup, deploymentKind)},
		levelCluster:   {gk(cephGroup, clusterKind)},
		levelPools:     {gk(cephGroup, poolKind), gk(cephGroup, filesystemKind), gk(cephGroup, subvolumesKind), gk(cephGroup, storeKind)},
		levelClasses:   {gk(storageGroup, classKind)},
		levelCDI:       {gk(cdiGroup, cdiKind)},
	}
	timeouts := map[level]string{levelOperators: "20m", levelCluster: "45m", levelPools: "20m", levelCDI: "20m"}
	var g gitops.Graph
	for _, l := range levels() {
		var before []string
		for _, b := range after[l] {
			before = append(before, b.word())
		}
		g = append(g, gitops.Level{Name: l.word(), After: before, Gates: gates[l], Timeout: timeouts[l]})
	}
	return g
}

// delivering puts the output into the form in which it reaches the cluster.
type delivering struct{ *manifests }

// deliver puts what is wanted into the order in which it is to be applied, and adds what
// is a configuration of an engine for it.
func (v *delivering) deliver(ordered []gitops.Object) []gitops.Object {
	objects := v.objects
	if v.cfg.charted() {
		objects = slices.DeleteFunc(objects, func(o gitops.Object) bool { return o.Group() == csiGroup }) // of their chart
	}
	declared := System{}.Declare()
	for i := range objects {
		if o := &objects[i]; !o.Copy {
			o.Stateful = declared.Stateful(o.Object)
		}
	}
	c := &v.cfg.Spec.Delivery
	at := path.Join(c.Path, "rendered", strings.ToLower(strings.Join([]string{specKind, v.Object.Namespace, v.Object.Name}, ".")))
	switch c.Type {
	case deliverFlux:
		return gitops.Flux{
			Name: v.Object.Name, Source: gitops.Source{Kind: c.Source.Kind, Name: c.Source.Name, Namespace: c.Source.Namespace},
			Path: "./" + at, Checks: checks(),
		}.Encode(graph(), objects, v.charts())
	case deliverArgoCD:
		return gitops.Argo{
			Name: v.Object.Name, Namespace: v.Object.Namespace, RepoURL: c.RepoURL, Revision: c.TargetRevision, Path: at,
			Project: c.Project, Server: c.Server,
		}.Encode(graph(), objects, v.charts())
	}
	return graph().Encode(objects, ordered)
}

// Where the charts are published, and the release that their values speak of.
const (
	rookCharts = "https://charts.rook.io/release"
	csiCharts  = "https://ceph.github.io/ceph-csi-operator"
	rookChart  = "rook-ceph"
	csiChart   = "ceph-csi-drivers"
)

// charts are those that bring the operators of Ceph and, from Rook 1.20 on, the CSI
// drivers. The definitions stay when a release goes; to turn them off would delete them.
func (v *delivering) charts() []gitops.Chart {
	rook := &v.cfg.Spec.Rook
	version := rook.Chart.Version
	if version == "" {
		version = chartVersion(rook.Version)
	}
	url := rook.Chart.URL
	if url == "" {
		url = rookCharts
	}
	charts := []gitops.Chart{{
		Name: rookChart, Namespace: rook.OperatorNamespace, Level: levelOperators.word(), Repository: url, Chart: rookChart, Version: version,
		Values: d.Object(d.F("crds", d.Object(d.F("enabled", d.Bool(true))))),
	}}
	if v.cfg.release >= withDrivers {
		charts = append(charts, gitops.Chart{
			Name: csiChart, Namespace: rook.OperatorNamespace, Level: levelOperators.word(), Repository: csiCharts, Chart: csiChart,
			After: []string{rookChart}, Values: v.driverValues(),
		})
	}
	return charts
}

// chartVersion is the chart of a release of Rook: its newest patch, or the one that is
// named.
func chartVersion(version string) string {
	version = strings.TrimPrefix(version, "v")
	if strings.Count(version, ".") < 2 {
		return version + ".x"
	}
	return "v" + version
}

// driverValues are those that the chart of the drivers needs: with its own defaults the
// drivers have names that no class of Rook knows, and take no snapshots.
func (v *delivering) driverValues() d.Node {
	namespace := v.cfg.Spec.Rook.OperatorNamespace
	driver := func(name string, snapshots bool) d.Node {
		n := d.Object(d.F("enabled", d.Bool(true)), d.F("name", d.Text(name)))
		if snapshots {
			n.Set("snapshotPolicy", d.Text("volumeSnapshot"))
		}
		return n
	}
	block := slices.ContainsFunc(v.cfg.Spec.Block, func(b blockConfig) bool { return b.SnapshotClass })
	files := slices.ContainsFunc(v.cfg.Spec.Filesystem, func(f filesystemConfig) bool { return f.SnapshotClass })
	off := d.Object(d.F("enabled", d.Bool(false)))
	return d.Object(
		d.F("operatorConfig", d.Object(
			d.F("namespace", d.Text(namespace)),
			d.F("driverSpecDefaults", d.Object(
				d.F("imageSet", d.Object(d.F("name", d.Text(imageSetName)))),
				d.F("nodePlugin", d.Object(d.F("priorityClassName", d.Text("system-node-critical")))),
				d.F("controllerPlugin", d.Object(d.F("priorityClassName", d.Text("system-cluster-critical")))),
			)),
		)),
		d.F("drivers", d.Object(
			d.F("rbd", driver(rbdDriver(namespace), block)), d.F("cephfs", driver(cephfsDriver(namespace), files)),
			d.F("nfs", off), d.F("nvmeof", off),
		)),
	)
}
