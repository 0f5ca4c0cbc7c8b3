package gitops

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// meal is the kitchen with a stove that is stateful, by a chart, and what is made of it.
func meal() (objects []Object, charts []Chart) {
	stove := thing("stove", "Stove", "a")
	stove.Stateful = true
	return []Object{stove, thing("pots", "Pot", "p")}, []Chart{
		{Name: "pipes", Namespace: "home", Level: "gas", Repository: "https://charts.example.com", Chart: "pipes", Version: "1.x"},
		{Name: "meter", Namespace: "home", Level: "gas", Repository: "oci://charts.example.com/all", Chart: "meter", After: []string{"pipes"},
			Values: document.Object(document.F("strict", document.Bool(true)))},
	}
}

func TestFlux(t *testing.T) {
	objects, charts := meal()
	made := Flux{
		Name: "meal", Source: Source{"OCIRepository", "git", "flux-system"}, Path: "./rendered/meal",
		Checks: []Check{
			{GroupKind: krm.GroupKind{Group: "example.com", Kind: "Stove"}, Version: "v1", Current: "status.hot", Failed: "status.burnt"},
			{GroupKind: krm.GroupKind{Group: "example.com", Kind: "Lid"}, Version: "v1", Current: "status.on"},
		},
	}.Encode(kitchen(), objects, charts)
	want := `example.com/v1 Stove home/a in 1-stove/stove.yaml
example.com/v1 Pot home/p in 3-pots/pot.yaml
source.toolkit.fluxcd.io/v1 HelmRepository flux-system/meal-pipes in 0-gas/helmrepository.yaml
  interval: 1h
  url: https://charts.example.com
helm.toolkit.fluxcd.io/v2 HelmRelease flux-system/meal-pipes in 0-gas/helmrelease.yaml
  interval: 1h
  timeout: 15m
  releaseName: pipes
  targetNamespace: home
  storageNamespace: home
  chart:
    spec:
      chart: pipes
      version: "1.x"
      sourceRef:
        kind: HelmRepository
        name: meal-pipes
  install:
    createNamespace: true
source.toolkit.fluxcd.io/v1 OCIRepository flux-system/meal-meter in 0-gas/ocirepository.yaml
  interval: 1h
  url: oci://charts.example.com/all/meter
  layerSelector:
    mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip
    operation: copy
helm.toolkit.fluxcd.io/v2 HelmRelease flux-system/meal-meter in 0-gas/helmrelease.yaml
  interval: 1h
  timeout: 15m
  releaseName: meter
  targetNamespace: home
  storageNamespace: home
  chartRef:
    kind: OCIRepository
    name: meal-meter
  dependsOn:
  - name: meal-pipes
  install:
    createNamespace: true
  values:
    strict: true
kustomize.toolkit.fluxcd.io/v1 Kustomization flux-system/meal-0-gas in flux.yaml applies ./rendered/meal/0-gas
  interval: 10m
  retryInterval: 1m
  timeout: 10m
  path: ./rendered/meal/0-gas
  sourceRef:
    kind: OCIRepository
    name: git
  prune: true
  deletionPolicy: Orphan
  wait: true
kustomize.toolkit.fluxcd.io/v1 Kustomization flux-system/meal-1-stove in flux.yaml applies ./rendered/meal/1-stove
  dependsOn:
  - name: meal-0-gas
  interval: 10m
  retryInterval: 1m
  timeout: 30m
  path: ./rendered/meal/1-stove
  sourceRef:
    kind: OCIRepository
    name: git
  prune: true
  deletionPolicy: Orphan
  wait: true
  healthCheckExprs:
  - apiVersion: example.com/v1
    kind: Stove
    failed: status.burnt
    current: status.hot
kustomize.toolkit.fluxcd.io/v1 Kustomization flux-system/meal-3-pots in flux.yaml applies ./rendered/meal/3-pots
  dependsOn:
  - name: meal-1-stove
  interval: 10m
  retryInterval: 1m
  timeout: 10m
  path: ./rendered/meal/3-pots
  sourceRef:
    kind: OCIRepository
    name: git
  prune: true
  deletionPolicy: MirrorPrune
  wait: true
`
	compare(t, made, want)
}

func TestArgo(t *testing.T) {
	objects, charts := meal()
	made := Argo{Name: "meal", RepoURL: "https://git.example.com/x.git", Path: "rendered/meal", Namespace: "home"}.Encode(kitchen(), objects, charts[1:])
	const policy = `  syncPolicy:
    automated:
      prune: true
      selfHeal: true
    retry:
      limit: 10
      backoff:
        duration: 30s
        factor: 2
        maxDuration: 5m
    syncOptions:
    - CreateNamespace=true
    - ServerSideApply=true
    - SkipDryRunOnMissingResource=true
`
	destination := "  destination:\n    server: https://kubernetes.default.svc\n    namespace: home\n"
	compare(t, made, `example.com/v1 Stove home/a in 1-stove/stove.yaml
example.com/v1 Pot home/p in 3-pots/pot.yaml
argoproj.io/v1alpha1 Application argocd/meal-meter in application.yaml
  project: default
  source:
    repoURL: charts.example.com/all
    chart: meter
    targetRevision: "*"
    helm:
      releaseName: meter
      valuesObject:
        strict: true
`+destination+policy+`argoproj.io/v1alpha1 Application argocd/meal-1-stove in application.yaml applies rendered/meal/1-stove
  project: default
  source:
    repoURL: https://git.example.com/x.git
    targetRevision: HEAD
    path: rendered/meal/1-stove
`+destination+policy+`argoproj.io/v1alpha1 Application argocd/meal-3-pots in application.yaml applies rendered/meal/3-pots finalizers
  project: default
  source:
    repoURL: https://git.example.com/x.git
    targetRevision: HEAD
    path: rendered/meal/3-pots
`+destination+policy)
}

func compare(t *testing.T, made []Object, want string) {
	t.Helper()
	var text strings.Builder
	for _, o := range made {
		text.WriteString(o.APIVersion + " " + o.Kind + " " + o.Namespace + "/" + o.Name + " in " + o.File)
		if applied := Applied(o.Object); applied != "" {
			text.WriteString(" applies " + applied)
		}
		if len(o.Node.Seq("metadata", "finalizers")) > 0 {
			text.WriteString(" finalizers")
		}
		text.WriteString("\n")
		if spec := o.Node.Get("spec"); spec != nil {
			text.Write(document.Append(nil, spec, 2))
		}
	}
	if got := text.String(); got != want {
		t.Errorf("made\n%s\nwant\n%s", got, want)
	}
}
