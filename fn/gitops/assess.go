package gitops

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Annotations that are never rendered, by which the engines delete what they apply.
const (
	argoHook  = "argocd.argoproj.io/hook"
	helmHook  = "helm.sh/hook" // Argo CD heeds it, too
	fluxForce = "kustomize.toolkit.fluxcd.io/force"
)

// Assess judges a change of the annotations that configure what the engines
// do with an object. It reports false for any other field.
func Assess(c *change.Change, f *change.Field) bool {
	switch key := strings.TrimSuffix(strings.TrimPrefix(f.Shape, "metadata.annotations["), "]"); key {
	case argoOptions:
		assessArgo(c, f)
	case argoHook, helmHook:
		if f.New != nil {
			c.Judge(change.Destructive, f.Path, "Argo CD deletes and recreates a hook at every sync, and its data is lost")
			return true
		}
		c.Judge(change.Safe, f.Path, "is no longer a hook")
	case fluxForce:
		if kept(f.New, "enabled") {
			c.Judge(change.Destructive, f.Path, "Flux deletes and recreates it when a change of it is refused, and its data is lost")
			return true
		}
		c.Judge(change.Safe, f.Path, "Flux does not delete it where a change of it is refused")
	case fluxPrune:
		if kept(f.Old, "disabled") && !kept(f.New, "disabled") {
			c.Judge(change.Destructive, f.Path, "the protection goes: from now on, deleting it from Git makes Flux delete it")
			return true
		}
		c.Judge(change.Safe, f.Path, "Flux keeps it when it is deleted from Git")
	case kptDeletion:
		if value(f.Old) == "detach" && value(f.New) != "detach" {
			c.Judge(change.Destructive, f.Path, "the protection goes: from now on, deleting it from Git makes kpt delete it")
			return true
		}
		c.Judge(change.Safe, f.Path, "kpt keeps it when it is deleted from Git")
	case argoCompare:
		c.Judge(change.Safe, f.Path, "says only what Argo CD compares")
	case argoWave, kptDepends:
		c.Judge(change.Safe, f.Path, "says only in which order objects are applied")
	case krm.AnnotationLocalConfig:
		if value(f.New) == "true" {
			c.Judge(change.Destructive, f.Path, "is no longer applied: to the engine that is the same as deleted from Git")
			return true
		}
		c.Judge(change.Safe, f.Path, "is applied to the cluster from now on")
	default:
		return false
	}
	return true
}

// assessArgo judges the sync options. The two protections are of an object that is
// gone from Git, and of one whose Application is deleted.
func assessArgo(c *change.Change, f *change.Field) {
	judged := false
	judge := func(risk change.Risk, text string) {
		c.Judge(risk, f.Path, text)
		judged = true
	}
	for _, p := range []struct{ option, when string }{
		{"Prune", "deleting it from Git makes Argo CD delete it"},
		{"Delete", "deleting its Application makes Argo CD delete it"},
	} {
		if argoKeeps(value(f.Old), p.option) && !argoKeeps(value(f.New), p.option) {
			judge(change.Destructive, "the protection goes: from now on, "+p.when)
		}
	}
	before := splitList(value(f.Old))
	for _, option := range splitList(value(f.New)) {
		if slices.Contains(before, option) {
			continue
		}
		switch name, value, _ := strings.Cut(option, "="); name {
		case "Replace", "Force":
			if value == "true" {
				judge(change.Destructive, option+": Argo CD may delete and recreate it, and its data is lost")
			}
		case "", "Prune", "Delete", "PruneLast", "PrunePropagationPolicy", "ApplyOutOfSyncOnly", "ServerSideApply",
			"ClientSideApplyMigration", "SkipDryRunOnMissingResource", "Validate", "FailOnSharedResource", "CreateNamespace":
		default:
			judge(change.Disruptive, "no rule knows the sync option "+name+" of Argo CD")
		}
	}
	if !judged {
		c.Judge(change.Safe, f.Path, "takes no protection away")
	}
}

// Keepers lists the engines that keep a live object of this form when it is gone
// from Git.
func Keepers(o *krm.Object) []string {
	var keepers []string
	if argoKeeps(o.Annotation(argoOptions), "Prune") {
		keepers = append(keepers, "Argo CD")
	}
	if strings.EqualFold(o.Annotation(fluxPrune), "disabled") {
		keepers = append(keepers, "Flux")
	}
	if o.Annotation(kptDeletion) == "detach" {
		keepers = append(keepers, "kpt")
	}
	return keepers
}

// argoKeeps reports whether the sync options hold Argo CD back, at least until a
// person confirms.
func argoKeeps(options, option string) bool {
	return slices.ContainsFunc(splitList(options), func(s string) bool {
		name, value, _ := strings.Cut(s, "=")
		return name == option && (value == "false" || value == "confirm")
	})
}

// splitList lists the entries of a comma list, such as sync options.
func splitList(options string) []string {
	list := strings.Split(options, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func kept(n *document.Node, want string) bool { return strings.EqualFold(value(n), want) }

func value(n *document.Node) string { return n.Str() }
