package gitops

import (
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Chart is a Helm chart that an engine installs as part of a level.
type Chart struct {
	Name       string   // of the release
	Namespace  string   // that it is installed into, and made for it
	Level      string   // that it belongs to
	Repository string   // https://..., or oci://... without the name of the chart
	Chart      string   // its name
	Version    string   // a version or a range, such as 1.20.x
	After      []string // the releases that have to be there before
	Values     document.Node
}

// flux is the chart as a source and a HelmRelease. A release that goes takes what it
// installed along, so that it counts as stateful. No failure is answered by uninstalling.
func (c *Chart) flux(f Flux) []Object {
	name := f.Name + "-" + c.Name
	source, reference := c.repository(f, name), document.F("chart", c.chart(name))
	if c.oci() {
		source, reference = c.ociRepository(f, name), document.F("chartRef", document.Object(
			document.F("kind", document.Text("OCIRepository")), document.F("name", document.Text(name))))
	}
	spec := []document.Field{
		document.F("interval", document.Text("1h")),
		document.F("timeout", document.Text("15m")),
		document.F("releaseName", document.Text(c.Name)),
		document.F("targetNamespace", document.Text(c.Namespace)),
		document.F("storageNamespace", document.Text(c.Namespace)),
		reference,
	}
	var needs []krm.ID
	if len(c.After) > 0 {
		var after []document.Node
		for _, release := range c.After {
			after = append(after, document.Object(document.F("name", document.Text(f.Name+"-"+release))))
			needs = append(needs, krm.ID{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: f.Source.Namespace, Name: f.Name + "-" + release})
		}
		spec = append(spec, document.F("dependsOn", document.List(after...)))
	}
	spec = append(spec, document.F("install", document.Object(document.F("createNamespace", document.Bool(true)))))
	if len(c.Values.Fields()) > 0 {
		spec = append(spec, document.F("values", c.Values))
	}
	release := krm.Make("helm.toolkit.fluxcd.io/v2", "HelmRelease", f.Source.Namespace, name, document.F("spec", document.Object(spec...)))
	return []Object{
		{Object: source, File: strings.ToLower(source.Kind) + ".yaml", Level: c.Level},
		{Object: release, File: "helmrelease.yaml", Level: c.Level, Stateful: true, Needs: append(needs, source.ID())},
	}
}

func (c *Chart) oci() bool { return strings.HasPrefix(c.Repository, "oci://") }

func (c *Chart) repository(f Flux, name string) *krm.Object {
	return krm.Make("source.toolkit.fluxcd.io/v1", "HelmRepository", f.Source.Namespace, name, document.F("spec", document.Object(
		document.F("interval", document.Text("1h")),
		document.F("url", document.Text(c.Repository)),
	)))
}

func (c *Chart) chart(name string) document.Node {
	spec := []document.Field{document.F("chart", document.Text(c.Chart))}
	if c.Version != "" {
		spec = append(spec, document.F("version", document.Text(c.Version)))
	}
	spec = append(spec, document.F("sourceRef", document.Object(document.F("kind", document.Text("HelmRepository")), document.F("name", document.Text(name)))))
	return document.Object(document.F("spec", document.Object(spec...)))
}

func (c *Chart) ociRepository(f Flux, name string) *krm.Object {
	spec := []document.Field{
		document.F("interval", document.Text("1h")),
		document.F("url", document.Text(strings.TrimSuffix(c.Repository, "/")+"/"+c.Chart)),
		// Of the layers of a chart's artifact this is the one that Helm reads.
		document.F("layerSelector", document.Object(
			document.F("mediaType", document.Text("application/vnd.cncf.helm.chart.content.v1.tar+gzip")), document.F("operation", document.Text("copy")))),
	}
	if c.Version != "" {
		spec = append(spec, document.F("ref", document.Object(document.F("semver", document.Text(c.Version)))))
	}
	return krm.Make("source.toolkit.fluxcd.io/v1", "OCIRepository", f.Source.Namespace, name, document.F("spec", document.Object(spec...)))
}
