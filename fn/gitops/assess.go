package gitops

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Assess judges a change of the annotations by which the engines are told what to
// do with an object. It reports false for any other field.
func Assess(c *change.Change, f *change.Field) bool {
	switch key := strings.TrimSuffix(strings.TrimPrefix(f.Shape, "metadata.annotations["), "]"); key {
	case argoOptions:
		assessArgo(c, f)
	case fluxPrune:
		if kept(f.Old, "disabled") && !kept(f.New, "disabled") {
			c.Judge(change.Destructive, f.Path, "the protection goes: from now on, deleting it from Git makes Flux delete it")
			return true
		}
		c.Judge(change.Safe, f.Path, "Flux keeps it when it is deleted from Git")
	case kptDeletion:
		if kept(f.Old, "detach") && !kept(f.New, "detach") {
			c.Judge(change.Destructive, f.Path, "the protection goes: from now on, deleting it from Git makes kpt delete it")
			return true
		}
		c.Judge(change.Safe, f.Path, "kpt keeps it when it is deleted from Git")
	case argoCompare:
		c.Judge(change.Safe, f.Path, "says only what Argo CD compares")
	case argoWave, kptDepends:
		c.Judge(change.Safe, f.Path, "says only in which order objects are applied")
	case krm.AnnotationLocalConfig:
		if kept(f.New, "true") {
			c.Judge(change.Destructive, f.Path, "is no longer applied: to the engine that is the same as deleted from Git")
			return true
		}
		c.Judge(change.Safe, f.Path, "is applied to the cluster from now on")
	default:
		return false
	}
	return true
}

// assessArgo tells the two protections apart: of an object that is gone from Git,
// and of one whose Application is deleted.
func assessArgo(c *change.Change, f *change.Field) {
	lost := false
	for _, p := range []struct{ option, when string }{
		{"Prune", "deleting it from Git makes Argo CD delete it"},
		{"Delete", "deleting its Application makes Argo CD delete it"},
	} {
		if argoKeeps(value(f.Old), p.option) && !argoKeeps(value(f.New), p.option) {
			c.Judge(change.Destructive, f.Path, "the protection goes: from now on, "+p.when)
			lost = true
		}
	}
	if !lost {
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
	return slices.ContainsFunc(strings.Split(options, ","), func(s string) bool {
		name, value, _ := strings.Cut(strings.TrimSpace(s), "=")
		return name == option && (value == "false" || value == "confirm")
	})
}

func kept(n *document.Node, want string) bool { return strings.EqualFold(value(n), want) }

func value(n *document.Node) string { return n.Str() }
