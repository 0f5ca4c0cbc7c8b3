package hypercloud

import (
	"cmp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// part is a piece of software without which nothing of the output works. It is recognised
// by its Deployment, and by its definitions.
type part struct {
	name        string   // for people
	deployment  string   // its operator
	configs     []beside // ConfigMaps with it
	groups      []string // whose definitions belong to it
	definitions []string // those that are needed, without their group: the first of groups
	chart       bool     // a chart brings it, where charts are used
}

// beside is a ConfigMap that comes with an operator.
type beside struct {
	name string
	from release // of Rook, the first that has it
}

// parts are those that there are.
func parts() []part {
	return []part{
		{
			name: "the operator of Rook", deployment: rookOperator, configs: []beside{{"rook-ceph-operator-config", oldestRelease}, {imageSetName, withImageSet}}, chart: true,
			groups:      []string{cephGroup, "objectbucket.io"},
			definitions: []string{"cephclusters", "cephblockpools", "cephfilesystems", "cephfilesystemsubvolumegroups", "cephobjectstores"},
		},
		{
			name: "the operator of Ceph-CSI", deployment: csiOperator, chart: true,
			groups:      []string{csiGroup},
			definitions: []string{"cephconnections", "clientprofiles", "drivers", "operatorconfigs"},
		},
		{
			name: "the snapshot controller", deployment: snapshotController,
			groups:      []string{snapshotGroup, "groupsnapshot.storage.k8s.io"},
			definitions: []string{"volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"},
		},
		{
			name: "the operator of CDI", deployment: cdiOperator,
			groups:      []string{cdiGroup, "upload.cdi.kubevirt.io", "forklift.cdi.kubevirt.io"},
			definitions: []string{"cdis"}, // the operator makes the others
		},
	}
}

// needed lists the parts without which the spec is not carried out.
func (c *config) needed() []part {
	return slices.DeleteFunc(parts(), func(p part) bool {
		switch p.deployment {
		case csiOperator:
			return c.release < withCSIOperator
		case snapshotController:
			return !slices.ContainsFunc(c.Spec.Block, func(b blockConfig) bool { return b.SnapshotClass }) &&
				!slices.ContainsFunc(c.Spec.Filesystem, func(f filesystemConfig) bool { return f.SnapshotClass })
		case cdiOperator:
			return c.Spec.CDI == nil
		}
		return false
	})
}

// partOf is the part that an object belongs to by kind and name; nil for none.
func partOf(o *krm.Object) *part {
	all := parts()
	for i := range all {
		p := &all[i]
		switch o.GroupKind() {
		case gk(appsGroup, deploymentKind):
			if o.Name == p.deployment {
				return p
			}
		case gk("", "ConfigMap"):
			if slices.ContainsFunc(p.configs, func(c beside) bool { return c.name == o.Name }) {
				return p
			}
		case gk(definitionGroup, definitionKind):
			if slices.Contains(p.groups, o.Node.Str("spec", "group")) {
				return p
			}
		}
	}
	return nil
}

// recognised finds the manifests of operators among those of the package, sorted: what is
// known by kind and name, the roles that these run with, and the rest of the files in
// which these are, and the CSI drivers with their defaults, wherever they are. others are
// in such a file, too, and are what a spec makes or a person does: they are not of the
// operator.
func recognised(manifests []*krm.Object) (found map[*krm.Object]*part, others []*krm.Object) {
	found = map[*krm.Object]*part{}
	for _, o := range manifests {
		if p := partOf(o); p != nil {
			found[o] = p
		}
	}
	accounts(manifests, found)
	files := map[string]*part{}
	for _, o := range manifests { // sorted, so that a file with two parts is always of the same one
		if p := found[o]; p != nil && fileOf(o) != "" && files[fileOf(o)] == nil {
			files[fileOf(o)] = p
		}
	}
	for _, o := range manifests {
		p := files[fileOf(o)]
		switch {
		case isDriver(o.GroupKind()):
			found[o] = csiPart()
		case p == nil || found[o] != nil:
		case ownKind(o.GroupKind()):
			others = append(others, o)
		default:
			found[o] = p
		}
	}
	return found, others
}

// isDriver reports whether a kind is that of the CSI drivers, or of what all of them get.
func isDriver(kind krm.GroupKind) bool {
	return kind == gk(csiGroup, driverKind) || kind == gk(csiGroup, operatorConfKind)
}

// csiPart is the part that the CSI drivers belong to.
func csiPart() *part {
	all := parts()
	return &all[slices.IndexFunc(all, func(p part) bool { return p.deployment == csiOperator })]
}

// fileOf is the file that an object lies in, "" where that is not known.
func fileOf(o *krm.Object) string {
	if o.Path == "" && o.Source != nil {
		return o.Source.Name
	}
	return o.Path
}

// ownKind reports whether objects of a kind say what storage there is to be, and not how
// it is operated.
func ownKind(kind krm.GroupKind) bool {
	switch kind.Group {
	case cephGroup, csiGroup, cdiGroup, snapshotGroup, storageGroup, "objectbucket.io", "groupsnapshot.storage.k8s.io":
		return true
	}
	return kind == gk("", claimKind) || kind == gk("", volumeKind)
}

const rbacGroup = "rbac.authorization.k8s.io"

// accounts adds the ServiceAccounts that the operators run with, what binds roles to them,
// and these roles.
func accounts(manifests []*krm.Object, found map[*krm.Object]*part) {
	users := map[krm.ID]*part{}
	for _, o := range manifests {
		if name := o.Node.Str("spec", "template", "spec", "serviceAccountName"); found[o] != nil && name != "" {
			users[krm.ID{Kind: "ServiceAccount", Namespace: o.Namespace, Name: name}] = found[o]
		}
	}
	bound := map[krm.ID]*part{}
	for _, o := range manifests {
		if o.Group() != rbacGroup || !strings.HasSuffix(o.Kind, "RoleBinding") {
			continue
		}
		for _, subject := range o.Node.Seq("subjects") {
			id := krm.ID{Kind: subject.Str("kind"), Namespace: cmp.Or(subject.Str("namespace"), o.Namespace), Name: subject.Str("name")}
			if p := users[id]; p != nil && found[o] == nil {
				found[o] = p
				bound[roleOf(o)] = p
			}
		}
	}
	for _, o := range manifests {
		if p := cmp.Or(users[o.ID()], bound[o.ID()]); p != nil && found[o] == nil {
			found[o] = p
		}
	}
}

// roleOf is the role that a binding binds.
func roleOf(binding *krm.Object) krm.ID {
	role := binding.Node.Get("roleRef")
	id := krm.ID{Group: rbacGroup, Kind: role.Str("kind"), Name: role.Str("name")}
	if id.Kind == "Role" {
		id.Namespace = binding.Namespace
	}
	return id
}

// levelOf is the level of a manifest of an operator.
func levelOf(kind krm.GroupKind) level {
	switch kind {
	case gk(definitionGroup, definitionKind), gk("", "Namespace"):
		return levelDefinitions
	case gk("", "ServiceAccount"), gk("", "ConfigMap"), gk("", "Secret"), gk("scheduling.k8s.io", "PriorityClass"),
		gk(rbacGroup, "Role"), gk(rbacGroup, "RoleBinding"), gk(rbacGroup, "ClusterRole"), gk(rbacGroup, "ClusterRoleBinding"):
		return levelRoles
	case gk(csiGroup, driverKind), gk(csiGroup, operatorConfKind):
		return levelCluster
	}
	return levelOperators
}

// copyOf is a manifest as it is rendered: what it says, without what tools and a person
// say of the file that it lies in.
func copyOf(o *krm.Object) *krm.Object {
	node := o.Node.Made()
	if meta := node.Get("metadata"); meta != nil {
		if annotations := meta.Get("annotations"); annotations != nil {
			annotations.SetFields(slices.DeleteFunc(annotations.Fields(), func(f document.Field) bool {
				return krm.ToolAnnotation(f.Key) || f.Key == krm.AnnotationLocalConfig
			}))
			if len(annotations.Fields()) == 0 {
				meta.Delete("annotations")
			}
		}
	}
	return krm.NewObject(nil, &node)
}

// fileName is the file that a manifest is rendered to, in the folder of its level.
func fileName(o *krm.Object) string {
	switch o.GroupKind() {
	case gk(csiGroup, operatorConfKind):
		return operatorConfFile + ".yaml"
	case gk(csiGroup, driverKind):
		return driverFile + ".yaml"
	}
	return strings.ToLower(o.Kind) + ".yaml"
}

// engineKind reports whether objects of a kind configure what an engine applies.
func engineKind(kind krm.GroupKind) bool {
	return slices.ContainsFunc([]string{"toolkit.fluxcd.io", "argoproj.io"}, func(domain string) bool {
		return kind.Group == domain || strings.HasSuffix(kind.Group, "."+domain)
	})
}
