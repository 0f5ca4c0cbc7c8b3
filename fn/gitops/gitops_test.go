package gitops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestAnnotate shows every engine and mode on one object of each sort.
func TestAnnotate(t *testing.T) {
	claim := krm.ID{Kind: "PersistentVolumeClaim", Namespace: "openebs", Name: "a"}
	node := krm.ID{Group: "example.com", Kind: "Thing", Name: "b"}
	objects := map[string]Object{
		"stateful":     {Stateful: true, Stage: -1, Needs: []krm.ID{claim, node}},
		"stateless":    {Stage: 2},
		"intermediate": {Intermediate: true},
		"partial":      {Partial: true},
	}
	const (
		wave    = "argocd.argoproj.io/sync-wave=-1"
		depends = "config.kubernetes.io/depends-on=/namespaces/openebs/PersistentVolumeClaim/a,example.com/Thing/b"
		confirm = "argocd.argoproj.io/sync-options=Prune=confirm,Delete=confirm"
		hard    = "argocd.argoproj.io/compare-options=IgnoreExtraneous argocd.argoproj.io/sync-options=Prune=false,Delete=false"
		flux    = "kustomize.toolkit.fluxcd.io/prune=disabled"
		kpt     = "client.lifecycle.config.k8s.io/deletion=detach"
		local   = "config.kubernetes.io/local-config=true"
	)
	tests := []struct{ engine, protection, intermediates, object, want string }{
		{"all", "confirm", "local", "stateful", join(confirm, wave, kpt, depends, flux)},
		{"all", "hard", "local", "stateful", join(hard, wave, kpt, depends, flux)},
		{"all", "off", "local", "stateful", join(wave, depends)},
		{"argocd", "confirm", "local", "stateful", join(confirm, wave)},
		{"argocd", "hard", "local", "stateful", join(hard, wave)},
		{"argocd", "off", "local", "stateful", wave},
		{"flux", "confirm", "local", "stateful", flux},
		{"flux", "hard", "local", "stateful", flux},
		{"flux", "off", "local", "stateful", ""},
		{"kpt", "confirm", "local", "stateful", join(kpt, depends)},
		{"kpt", "hard", "local", "stateful", join(kpt, depends)},
		{"kpt", "off", "local", "stateful", depends},
		{"all", "confirm", "local", "stateless", "argocd.argoproj.io/sync-wave=2"},
		{"kpt", "hard", "local", "stateless", ""},
		{"all", "hard", "local", "intermediate", local},
		{"flux", "off", "local", "intermediate", local},
		{"all", "hard", "apply", "intermediate", ""},
		{"argocd", "off", "apply", "intermediate", ""},
		{"all", "confirm", "local", "partial", join(hard+",ServerSideApply=true", kpt, flux)},
		{"flux", "off", "local", "partial", join(hard+",ServerSideApply=true", kpt, flux)},
		{"kpt", "off", "apply", "partial", join(hard+",ServerSideApply=true", kpt, flux)},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			o := objects[test.object]
			o.Object = krm.Make("v1", "Thing", "openebs", "x")
			Policy{Engine: test.engine, Protection: test.protection, Intermediates: test.intermediates}.Annotate(o)
			if got := annotations(o.Node); got != test.want {
				t.Errorf("annotations %s\nwant        %s", got, test.want)
			}
		})
	}
}

func join(parts ...string) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(strings.Join(parts, " ")))), " ")
}

func annotations(n *document.Node) string {
	all := map[string]bool{}
	if a := n.Get("metadata", "annotations"); a != nil {
		for _, f := range a.Fields() {
			all[f.Key+"="+f.Value.Value()] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}

// TestNoForce: no mode may make an engine replace or force anything.
func TestNoForce(t *testing.T) {
	for _, engine := range []string{"all", "argocd", "flux", "kpt"} {
		for _, protection := range []string{"confirm", "hard", "off"} {
			o := Object{Object: krm.Make("v1", "Thing", "", "x"), Stateful: true, Stage: 1}
			Policy{Engine: engine, Protection: protection, Intermediates: "local"}.Annotate(o)
			if got := strings.ToLower(annotations(o.Node)); strings.Contains(got, "force") || strings.Contains(got, "replace") || strings.Contains(got, "hook") {
				t.Errorf("%s, %s: %s", engine, protection, got)
			}
		}
	}
}
