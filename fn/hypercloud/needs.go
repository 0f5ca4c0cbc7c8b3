package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// need is a Deployment that has to be available before anything else comes about.
type need struct {
	name      string
	namespace string // "" for any: people keep what is not of Rook where they like
}

// operatorsOf are the operators of what is rendered.
func operatorsOf(cfg *config, rendered []*krm.Object) []need {
	has := func(group, kind string) bool {
		return slices.ContainsFunc(rendered, func(o *krm.Object) bool { return o.GroupKind() == gk(group, kind) })
	}
	needs := []need{{rookOperator, cfg.Spec.Rook.OperatorNamespace}}
	if cfg.release >= withCSIOperator {
		needs = append(needs, need{name: csiOperator})
	}
	if has(snapshotGroup, snapshotKind) {
		needs = append(needs, need{name: snapshotController})
	}
	if has(cdiGroup, cdiKind) {
		needs = append(needs, need{name: cdiOperator})
	}
	return needs
}

// definitionsOf are the definitions of what is rendered, and those without which its
// operators do not work.
func definitionsOf(cfg *config, rendered []*krm.Object) []string {
	var names []string
	kinds := System{}.Declare().Kinds
	for _, o := range rendered {
		if o.GroupKind() == gk(definitionGroup, definitionKind) {
			names = append(names, o.Name)
			continue
		}
		at := slices.IndexFunc(kinds, func(k system.Kind) bool { return k.GroupKind == o.GroupKind() })
		if at >= 0 && kinds[at].Plural != "" && strings.Contains(o.Group(), ".") && !strings.HasSuffix(o.Group(), ".k8s.io") {
			names = append(names, kinds[at].Plural+"."+o.Group())
		}
	}
	for _, kind := range strings.Fields("cephblockpoolradosnamespaces cephblockpools cephbucketnotifications cephbuckettopics cephclients cephclusters " +
		"cephcosidrivers cephfilesystemmirrors cephfilesystems cephfilesystemsubvolumegroups cephnfses cephobjectrealms cephobjectstores " +
		"cephobjectstoreusers cephobjectzonegroups cephobjectzones cephrbdmirrors") {
		names = append(names, kind+"."+cephGroup)
	}
	names = append(names, "objectbucketclaims.objectbucket.io", "objectbuckets.objectbucket.io")
	if cfg.release >= withCSIOperator {
		for _, kind := range []string{"cephconnections", "clientprofiles", "drivers", "operatorconfigs"} {
			names = append(names, kind+"."+csiGroup)
		}
	}
	if slices.Contains(operatorsOf(cfg, rendered), need{name: snapshotController}) {
		for _, kind := range []string{"volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"} {
			names = append(names, kind+"."+snapshotGroup)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !isRead(name) })
}

// isRead reports whether a snapshot has a definition.
func isRead(name string) bool {
	kind := system.Kind{Only: definitionNames()}
	return kind.Reads(name)
}
