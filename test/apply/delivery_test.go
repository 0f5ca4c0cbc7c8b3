package apply

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/tool"
)

// TestDeliveryApplies applies what a HyperCloudStorage becomes with each delivery, strictly
// and against the definitions of Rook, Ceph-CSI, CDI, Flux and Argo CD.
func TestDeliveryApplies(t *testing.T) {
	for _, file := range tool.Upstream(t, "rook-ceph.yaml", "csi-ceph.yaml", "csi-snapshot.yaml", "cdi.yaml",
		"flux-kustomization.yaml", "flux-source.yaml", "flux-helmrelease.yaml", "argocd-application.yaml") {
		for _, o := range read(t, file) {
			if o.Kind == "CustomResourceDefinition" {
				apply(t, o)
			}
		}
	}
	if err := plane.AwaitServed(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rook-ceph", "cdi", "flux-system", "argocd"} {
		apply(t, parse(t, "namespace.yaml", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"))[0])
	}
	for _, delivery := range []string{
		"manifests",
		"{type: flux, path: a}",
		"{type: argocd, repoURL: 'https://git.example.com/a.git'}",
		fullArgoCD,
	} {
		engines := 0
		for _, o := range deliver(t, delivery) {
			if o.Kind == "CustomResourceDefinition" {
				continue // a stand-in for one of those above
			}
			stored := apply(t, o)
			if path := lost(o.Node, stored); path != "" {
				t.Errorf("%s: %s: the API server pruned or changed %s", delivery, o.Ref, path)
			}
			if delivery == fullArgoCD && o.Group() == "argoproj.io" {
				checkApplication(t, o)
			}
			if strings.HasSuffix(o.Group(), "fluxcd.io") || o.Group() == "argoproj.io" {
				engines++
			}
		}
		if want := delivery != "manifests"; want != (engines > 5) {
			t.Errorf("%s: %d objects of an engine", delivery, engines)
		}
	}
}

// fullArgoCD is a delivery by Argo CD with every field.
const fullArgoCD = "{type: argocd, repoURL: 'https://git.example.com/a.git', targetRevision: v1, path: clusters/a, project: storage, server: 'https://a.example.com:6443'}"

// checkApplication: an Application has the project, the cluster, and, where it is not of a chart, the revision and
// the path of its delivery.
func checkApplication(t *testing.T, o *krm.Object) {
	t.Helper()
	source := o.Node.Get("spec", "source")
	if source.Get("chart") == nil && (source.Str("repoURL") != "https://git.example.com/a.git" || source.Str("targetRevision") != "v1" || !strings.HasPrefix(source.Str("path"), "clusters/a/rendered/")) {
		t.Errorf("%s: the source is %s", o.Ref, document.AppendJSON(nil, source))
	}
	if project, server := o.Node.Str("spec", "project"), o.Node.Str("spec", "destination", "server"); project != "storage" || server != "https://a.example.com:6443" {
		t.Errorf("%s: project %q, and server %q", o.Ref, project, server)
	}
}

// deliver renders the package with manifests of operators, with CDI and a chart from a
// registry.
func deliver(t *testing.T, delivery string) []*krm.Object {
	t.Helper()
	const root = "../../testdata/packages/vendored"
	var p fn.Package
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "kustomization.yaml" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for _, o := range read(t, path) {
			o.Path = filepath.ToSlash(rel)
			if o.Kind == "HyperCloudStorage" {
				spec := o.Node.Get("spec")
				spec.Set("cdi", document.Object())
				spec.Set("delivery", *parse(t, "delivery", []byte("delivery: "+delivery+"\n"))[0].Node.Get("delivery"))
				spec.Set("rook", document.Object(document.F("version", document.Text("1.21")), document.F("chart", document.Object(document.F("url", document.Text("oci://charts.example.com/rook"))))))
			}
			p.Objects = append(p.Objects, o)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	result := fn.New(schema.Load(), systems.All()...).Render(p)
	var objects []*krm.Object
	for _, r := range result.Objects {
		if r.Object.Annotation(krm.AnnotationLocalConfig) != "true" { // the DiskLock stays in Git
			objects = append(objects, r.Object)
		}
	}
	if len(objects) == 0 {
		t.Fatal(result.Findings)
	}
	return objects
}
