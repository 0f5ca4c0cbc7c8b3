package prerequisite

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Cluster is what is known of a cluster, and what the package brings to it.
type Cluster struct {
	Facts     *inventory.Facts
	Manifests []*krm.Object // of the package: what people wrote, and what is rendered
	Live      *Live         // nil where the facts are a snapshot
}

// Live is what only a running cluster says of itself.
type Live struct {
	// Versions lists the versions of a kind that are served; the error says that this is not known.
	Versions func(krm.GroupKind) ([]string, error)
	Refused  []string // the lists that are not allowed, such as blockdevices.openebs.io
}

// Kind is a kind that has to be served in a version.
type Kind struct {
	krm.GroupKind
	Version, Plural string
}

// String is the kind as kubectl takes it, and the name of its definition.
func (k *Kind) String() string { return k.Plural + "." + k.Group }

const (
	definitionGroup = "apiextensions.k8s.io"
	definitionKind  = "CustomResourceDefinition"
	retake          = "refresh the inventory with poolwright inventory"
	askForRole      = "kubectl apply -k deploy/rbac, and use a token of its service account"
)

// find is the manifest of the package that brings something, or nil.
func (c *Cluster) find(kind krm.GroupKind, is func(*krm.Object) bool) *krm.Object {
	i := slices.IndexFunc(c.Manifests, func(o *krm.Object) bool { return o.GroupKind() == kind && is(o) })
	if i < 0 {
		return nil
	}
	return c.Manifests[i]
}

// definition is the check that a kind is served as it is rendered. delivered says that what the package
// renders has its software installed.
func (c *Cluster) definition(k Kind, by Software, delivered bool) Check {
	check := Check{Check: "crd/" + k.String()}
	packaged := c.find(krm.GroupKind{Group: definitionGroup, Kind: definitionKind}, func(o *krm.Object) bool { return o.Name == k.String() })
	versions, known := c.versions(&k)
	switch {
	case packaged != nil && serves(servedBy(packaged), k.Version), packaged == nil && delivered:
		check.Result, check.Message = OK, InPackage
	case packaged != nil:
		check.Result = Failed
		check.Message = k.String() + " of the package serves " + finding.Names(servedBy(packaged)) + ", not " + k.Version
		check.Remedy = "update its definition: " + by.Install
	case !known:
		check.Result = Unknown
		check.Message, check.Remedy = c.untold(k.String())
	case len(versions) == 0:
		check.Result, check.Message, check.Remedy = Failed, by.Missing(k.String()), by.remedy()
	case !serves(versions, k.Version):
		check.Result = Failed
		check.Message = "the cluster serves " + k.String() + " as " + finding.Names(versions) + ", not as " + k.Version
		check.Remedy = "update " + by.Name + ": " + by.Install
	case slices.Contains(versions, anyVersion):
		check.Result, check.Message = OK, "the snapshot has this kind"
	default:
		check.Result, check.Message = OK, "served as "+k.Version
	}
	return check
}

// anyVersion is served where a snapshot has the objects of a kind and not its definition.
const anyVersion = "*"

func serves(versions []string, version string) bool {
	return slices.Contains(versions, version) || slices.Contains(versions, anyVersion)
}

// servedBy lists the versions that a definition serves. A snapshot need not have kept any.
func servedBy(definition *krm.Object) []string {
	var versions []string
	for _, v := range definition.Node.Seq("spec", "versions") {
		if served, said := v.Get("served").Bool(); served || !said {
			versions = append(versions, v.Str("name"))
		}
	}
	if len(definition.Node.Seq("spec", "versions")) == 0 {
		return []string{anyVersion}
	}
	return versions
}

// versions lists the versions of a kind that the cluster serves, none where it does not have the
// kind; known is false where that is not known.
func (c *Cluster) versions(k *Kind) (versions []string, known bool) {
	if c.Live != nil {
		versions, err := c.Live.Versions(k.GroupKind)
		return versions, err == nil
	}
	definition := c.Facts.Object(krm.ID{Group: definitionGroup, Kind: definitionKind, Name: k.String()})
	switch {
	case definition != nil:
		return servedBy(definition), true
	case c.Facts.Has(k.GroupKind):
		return []string{anyVersion}, true
	}
	return nil, c.Facts.Lacks(k.GroupKind)
}

// untold says that the facts do not have a kind, and what to do.
func (c *Cluster) untold(kinds string) (message, remedy string) {
	if c.Live != nil {
		return kinds + " could not be read", askForRole
	}
	return "the snapshot has no " + kinds, retake
}

// lists reports whether the facts list all objects of a kind.
func (c *Cluster) lists(kind krm.GroupKind) bool {
	return c.Facts.Tells(kind.Group, kind.Kind, "") || c.Facts.Has(kind)
}

// lacks reports whether the cluster is known not to have a kind.
func (c *Cluster) lacks(kind krm.GroupKind) bool {
	if c.Live == nil {
		return c.Facts.Lacks(kind)
	}
	versions, err := c.Live.Versions(kind)
	return err == nil && len(versions) == 0
}

// operator is the check that an operator has a ready pod.
func (c *Cluster) operator(s Software, delivered bool) Check {
	kind := krm.GroupKind{Group: "apps", Kind: "Deployment"}
	check := Check{Check: "operator/" + s.Operator}
	var there, ready []string
	for _, o := range c.Facts.Objects(kind.Group, kind.Kind) {
		if !s.operates(o) {
			continue
		}
		there = append(there, o.Ref.String())
		if isReady(o) {
			ready = append(ready, o.Ref.String())
		}
	}
	switch {
	case delivered, c.find(kind, s.operates) != nil:
		check.Result, check.Message = OK, InPackage
	case len(ready) > 0:
		check.Result, check.Message = OK, "ready: "+finding.Names(ready)
	case len(there) > 0:
		check.Result, check.Message = Failed, "no pod is ready: "+finding.Names(there)
		check.Remedy = "look at its pods: kubectl get pods -A | grep " + s.Operator
	case !c.lists(kind):
		check.Result = Unknown
		check.Message, check.Remedy = c.untold("deployments.apps")
	default:
		check.Result, check.Message, check.Remedy = Failed, s.Missing(s.Operator), s.remedy()
	}
	return check
}

// isReady reports whether a Deployment has a ready pod.
func isReady(deployment *krm.Object) bool {
	pods, _ := deployment.Node.Get("status", "readyReplicas").Int()
	return pods > 0 || slices.ContainsFunc(deployment.Node.Seq("status", "conditions"), func(c document.Node) bool {
		return c.Str("type") == "Available" && c.Str("status") == "True"
	})
}

// Rights is the check that everything that inventory reads may be listed; nil where no cluster was asked.
func (c *Cluster) Rights() []Check {
	switch {
	case c.Live == nil:
		return nil
	case len(c.Live.Refused) > 0:
		return []Check{{Failed, "rights", "", "no permission to list " + strings.Join(c.Live.Refused, ", "), askForRole}}
	}
	return []Check{{OK, "rights", "", "poolwright inventory may list everything that it reads", ""}}
}
