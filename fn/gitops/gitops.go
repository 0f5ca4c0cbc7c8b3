// Package gitops says to Argo CD, Flux and kpt what no engine may find out for
// itself: in which order storage is made, and that it must not be pruned. One
// description of each object, three encodings: the engines' own annotations
// on objects.
package gitops

import (
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
)

// Object is a rendered object and what the engines must know of it.
type Object struct {
	*krm.Object
	File         string   // base name of the file it belongs in, such as storage.yaml
	Stateful     bool     // deleting it loses data or detaches a live disk, as its system declares
	Intermediate bool     // for people and for the next render, not for the cluster: a lock
	Stage        int      // objects of a lower stage are applied first
	Needs        []krm.ID // objects that must be there first; part of the same output
	Level        string   // the level of a Graph that it belongs to, or ""
	// Engine is the only one that applies it in order; "" for those of the policy. The
	// protection is that of the policy all the same: another engine may come to see the object.
	Engine string
	// Undefined says that its kind is defined by something that is not applied with it.
	Undefined bool
	// Copy says that it stands for a manifest of the same identity that a person keeps in
	// the package.
	Copy bool
	// Partial says that it has a few fields of an object that others made, and delete. Every
	// engine must never delete it, and leaves the other fields, whatever the policy.
	Partial bool
	// Retained says that it is left to a person: it is rendered once more as nobody's, and every
	// engine must never delete it, whatever the policy.
	Retained bool
}

// Policy is how the output is to be applied (RenderConfig).
type Policy struct {
	Engine        string `json:"engine"`        // all, argocd, flux, kpt
	Protection    string `json:"protection"`    // confirm, hard, off
	Intermediates string `json:"intermediates"` // local, apply
	Order         string `json:"order"`         // levels, own: who orders what people keep in the package
}

// Annotations of the engines.
const (
	argoWave    = "argocd.argoproj.io/sync-wave"
	argoOptions = "argocd.argoproj.io/sync-options"
	argoCompare = "argocd.argoproj.io/compare-options"
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
	kptDeletion = "client.lifecycle.config.k8s.io/deletion"
	kptDepends  = "config.kubernetes.io/depends-on"
)

// Groups of the objects that configure what engines apply.
const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	argoGroup = "argoproj.io"
)

// skipDryRun is the sync option by which Argo CD applies an object whose definition comes
// in the same sync, or from elsewhere: without it the whole sync fails before it begins.
const skipDryRun = "SkipDryRunOnMissingResource=true"

// serverSide is the sync option by which Argo CD applies an object as a set of fields: what
// it leaves out stays as it is, and so does what an earlier one had.
const serverSide = "ServerSideApply=true"

// Annotate encodes order and protection in the annotations of an object.
func (p Policy) Annotate(o Object) {
	if o.Intermediate && p.Intermediates != "apply" {
		o.SetAnnotation(krm.AnnotationLocalConfig, "true")
		return
	}
	if o.Partial || o.Retained {
		p, o.Stateful = Policy{Engine: "all", Protection: "hard"}, true
	}
	order := p
	if o.Engine != "" {
		order.Engine = o.Engine
	}
	if order.serves("argocd") && o.Stage != 0 {
		o.SetAnnotation(argoWave, strconv.Itoa(o.Stage))
	}
	if order.serves("kpt") && len(o.Needs) > 0 {
		var needs []string
		if written := o.Annotation(kptDepends); o.Copy && written != "" {
			needs = splitList(written)
		}
		for _, id := range o.Needs {
			if need := dependsOn(id); !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
		}
		o.SetAnnotation(kptDepends, strings.Join(needs, ","))
	}
	if p.serves("argocd") {
		if options := p.argoOptions(o); options != "" {
			o.SetAnnotation(argoOptions, options)
		}
	}
	if !o.Stateful || p.Protection == "off" {
		return
	}
	if p.serves("argocd") && p.Protection == "hard" {
		o.SetAnnotation(argoCompare, "IgnoreExtraneous")
	}
	if p.serves("flux") {
		o.SetAnnotation(fluxPrune, "disabled")
	}
	if p.serves("kpt") {
		o.SetAnnotation(kptDeletion, "detach")
	}
}

// argoOptions are the sync options of an object, "" for none. A copy keeps those that a
// person gave it, but for the protection.
func (p Policy) argoOptions(o Object) string {
	var options []string
	if o.Copy {
		options = slices.DeleteFunc(splitList(o.Annotation(argoOptions)), func(option string) bool {
			name, _, _ := strings.Cut(option, "=")
			return name == "" || o.Stateful && p.Protection != "off" && (name == "Prune" || name == "Delete")
		})
	}
	switch {
	case !o.Stateful || p.Protection == "off":
	case p.Protection == "hard":
		options = append(options, "Prune=false", "Delete=false")
	default:
		options = append(options, "Prune=confirm", "Delete=confirm")
	}
	if o.Partial {
		options = append(options, serverSide)
	}
	if o.Undefined && !slices.Contains(options, skipDryRun) {
		options = append(options, skipDryRun)
	}
	return strings.Join(options, ",")
}

// Strip takes away what Annotate may have said of an object before.
func Strip(o *krm.Object) {
	annotations := o.Node.Get("metadata", "annotations")
	if annotations == nil {
		return
	}
	for _, key := range []string{argoWave, argoOptions, argoCompare, fluxPrune, kptDeletion, kptDepends} {
		annotations.Delete(key)
	}
}

func (p Policy) serves(engine string) bool { return p.Engine == "all" || p.Engine == engine }

// dependsOn writes a reference as cli-utils reads it.
func dependsOn(id krm.ID) string {
	if id.Namespace == "" {
		return id.Group + "/" + id.Kind + "/" + id.Name
	}
	return id.Group + "/namespaces/" + id.Namespace + "/" + id.Kind + "/" + id.Name
}

// Applied is the folder that an object has its engine apply, as a path in a repository;
// "" for an object that does nothing of the kind.
func Applied(o *krm.Object) string {
	switch o.GroupKind() {
	case krm.GroupKind{Group: fluxGroup, Kind: "Kustomization"}:
		return o.Node.Str("spec", "path")
	case krm.GroupKind{Group: argoGroup, Kind: "Application"}:
		return o.Node.Str("spec", "source", "path")
	}
	return ""
}

// Wave is the wave in which Argo CD applies an object, by which other tools may sort it.
func Wave(o *krm.Object) int {
	wave, _ := strconv.Atoi(o.Annotation(argoWave))
	return wave
}

// Domains lists those of the labels and annotations on which engines act.
func Domains() []string {
	return []string{"argoproj.io", "fluxcd.io", "helm.sh", "kpt.dev", "config.kubernetes.io", "config.k8s.io", "cli-utils.sigs.k8s.io"}
}
