package gitops

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Argo has Argo CD apply an application, each level by an Application of its own, in
// waves: those of one wave begin when those before are healthy, provided that Argo CD is
// aware of how healthy an Application is.
type Argo struct {
	Name     string // of the application, with which the names of what is made begin
	RepoURL  string // the repository, as Argo CD knows it
	Revision string
	Path     string // where the output of the spec lies in the repository, such as rendered/x
	Project  string
	Server   string // the cluster that it is applied to
	// Namespace is that of the spec, for what has none.
	Namespace string
}

const (
	argoNamespace = "argocd"
	argoFile      = "application.yaml"
	argoFinalizer = "resources-finalizer.argocd.argoproj.io/foreground"
)

// Encode arranges the objects, and adds an Application for each chart and each level.
// Whether an object is stateful is to be known.
func (a Argo) Encode(g Graph, objects []Object, charts []Chart) []Object {
	there := map[string]bool{}
	for i := range objects {
		o := &objects[i]
		o.Engine = "argocd"
		there[o.Level] = true
	}
	needed := g.needed(objects)
	for i := range charts {
		needed[charts[i].Level] = true
	}
	g.Arrange(objects)
	undefined := undefined(objects)
	for i := range charts {
		c := &charts[i]
		objects = append(objects, Object{Object: a.chart(c), File: argoFile, Engine: "argocd", Stage: g.index(c.Level)*stageStep + chartStep(c, charts)})
	}
	for _, level := range g {
		if there[level.Name] {
			objects = append(objects, Object{
				Object: a.application(a.Name+"-"+g.Folder(level.Name), a.levelSource(g, level.Name), a.Namespace, needed[level.Name], undefined[level.Name]),
				File:   argoFile, Engine: "argocd", Stage: g.index(level.Name) * stageStep,
			})
		}
	}
	return objects
}

// chartStep is how many charts come before one, one after the other.
func chartStep(c *Chart, charts []Chart) int {
	step := 0
	for i := range charts {
		if slices.Contains(c.After, charts[i].Name) && charts[i].Name != c.Name {
			step = max(step, chartStep(&charts[i], charts)+1)
		}
	}
	return min(step, stageStep-1)
}

// undefined lists the levels with objects whose kinds are defined by another one, or by
// nothing that is seen here.
func undefined(objects []Object) map[string]bool {
	levels := map[string]bool{}
	for i := range objects {
		o := &objects[i]
		if o.Level != "" && !defined(o.GroupKind(), o.Level, objects) {
			levels[o.Level] = true
		}
	}
	return levels
}

// application is one Application. One that others hold state by leaves what it applied
// when it goes: without a finalizer, Argo CD deletes nothing but the Application.
func (a Argo) application(name string, source document.Node, namespace string, needed, undefined bool) *krm.Object {
	options := []document.Node{document.Text("CreateNamespace=true"), document.Text("ServerSideApply=true")}
	if undefined {
		options = append(options, document.Text(skipDryRun))
	}
	o := krm.Make(argoGroup+"/v1alpha1", "Application", argoNamespace, name, document.F("spec", document.Object(
		document.F("project", document.Text(cmp.Or(a.Project, "default"))),
		document.F("source", source),
		document.F("destination", document.Object(
			document.F("server", document.Text(cmp.Or(a.Server, "https://kubernetes.default.svc"))), document.F("namespace", document.Text(namespace)))),
		document.F("syncPolicy", document.Object(
			document.F("automated", document.Object(document.F("prune", document.Bool(true)), document.F("selfHeal", document.Bool(true)))),
			document.F("retry", document.Object(
				document.F("limit", document.Int(10)),
				document.F("backoff", document.Object(
					document.F("duration", document.Text("30s")), document.F("factor", document.Int(2)), document.F("maxDuration", document.Text("5m")))),
			)),
			document.F("syncOptions", document.List(options...)),
		)),
	)))
	if !needed {
		o.Node.Get("metadata").Set("finalizers", document.List(document.Text(argoFinalizer)))
	}
	return o
}

func (a Argo) levelSource(g Graph, level string) document.Node {
	return document.Object(
		document.F("repoURL", document.Text(a.RepoURL)),
		document.F("targetRevision", document.Text(cmp.Or(a.Revision, "HEAD"))),
		document.F("path", document.Text(a.Path+"/"+g.Folder(level))),
	)
}

// chart is the Application of a chart, which is never deleted with what it installed.
func (a Argo) chart(c *Chart) *krm.Object {
	helm := []document.Field{document.F("releaseName", document.Text(c.Name))}
	if len(c.Values.Fields()) > 0 {
		helm = append(helm, document.F("valuesObject", c.Values))
	}
	source := document.Object(
		document.F("repoURL", document.Text(argoRepository(c))),
		document.F("chart", document.Text(c.Chart)),
		document.F("targetRevision", document.Text(cmp.Or(c.Version, "*"))),
		document.F("helm", document.Object(helm...)),
	)
	return a.application(a.Name+"-"+c.Name, source, c.Namespace, true, true)
}

// argoRepository is a repository of charts as Argo CD writes it: one of OCI has no scheme.
func argoRepository(c *Chart) string { return strings.TrimPrefix(c.Repository, "oci://") }
