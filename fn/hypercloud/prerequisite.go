package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/prerequisite"
	"github.com/poolwright/poolwright/fn/system"
)

// Rules of findings that say that there are too few disks.
const (
	noDisks    = "no-disks"
	fewDomains = "replicas"

	deviceRefused = "device-refused"
	deviceUnknown = "device-unknown"
	deviceMissing = "device-missing"
	noDisksKnown  = "no-disks-known"
)

const installRook = "https://rook.io/docs/rook/latest-release/Getting-Started/quickstart/"

// software is what carries the output out.
func software() []prerequisite.Software {
	return []prerequisite.Software{
		prerequisite.NDM(),
		rook(),
		{
			Name: "the Ceph-CSI operator", Install: installRook,
			Kinds: []krm.GroupKind{gk(csiGroup, operatorConfKind), gk(csiGroup, driverKind)},
		},
		prerequisite.Snapshots(),
		{
			Name: "CDI", Install: "https://github.com/kubevirt/containerized-data-importer#deploy-it", Operator: cdiOperator,
			Kinds: []krm.GroupKind{gk(cdiGroup, cdiKind)},
		},
	}
}

func rook() prerequisite.Software {
	return prerequisite.Software{
		Name: "Rook", Install: installRook, Operator: rookOperator,
		Kinds: []krm.GroupKind{gk(cephGroup, clusterKind), gk(cephGroup, poolKind), gk(cephGroup, filesystemKind), gk(cephGroup, subvolumesKind), gk(cephGroup, storeKind)},
	}
}

// Needs implements system.Needer.
func (System) Needs(in system.Input, spec *system.Spec, _ system.Output) prerequisite.Needs {
	s := newStorage(in, spec).input
	storage := &s.cfg.Spec.Storage
	needs := prerequisite.Needs{
		Kinds: s.kinds(), Delivered: s.delivered(), More: []prerequisite.Check{s.rookRelease()},
		Disks: &prerequisite.Disks{Short: []string{noDisks, fewDomains, deviceRefused, deviceUnknown, deviceMissing}, Unknown: []string{noDisksKnown}},
		Nodes: []prerequisite.Nodes{
			{Allowed: in.Facts.Nodes, Refuse: prerequisite.Tolerating(s.tolerations("mon")), Want: s.cfg.Spec.Ceph.Mons, For: "monitor"},
			{Allowed: s.hosts(), Refuse: prerequisite.Tolerating(s.tolerations("osd")), Want: s.most(), For: "replica"},
		},
	}
	if len(storage.Nodes) == 0 {
		needs.Reports = &prerequisite.Reports{On: s.hosts(), Agent: true}
		if !prerequisite.HasAgent(in.Facts) {
			needs.Kinds = append(needs.Kinds, inventory.DeviceKind())
		}
	}
	return needs
}

// kinds are those that the spec becomes.
func (in *input) kinds() []krm.GroupKind {
	kinds := []krm.GroupKind{gk(cephGroup, clusterKind)}
	add := func(wanted bool, more ...krm.GroupKind) {
		if wanted {
			kinds = append(kinds, more...)
		}
	}
	c := &in.cfg.Spec
	add(len(c.Block) > 0, gk(cephGroup, poolKind))
	add(len(c.Filesystem) > 0, gk(cephGroup, filesystemKind), gk(cephGroup, subvolumesKind))
	add(len(c.Object) > 0, gk(cephGroup, storeKind))
	add(c.CDI != nil, gk(cdiGroup, cdiKind))
	return kinds
}

// delivered are the software that the charts of the output install.
func (in *input) delivered() []string {
	var names []string
	for _, p := range in.cfg.needed() {
		if !p.chart || !in.cfg.charted() {
			continue
		}
		for _, s := range software() {
			if len(s.Kinds) > 0 && s.Kinds[0].Group == p.groups[0] {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// hosts lists the nodes that the spec selects or names for disks.
func (in *input) hosts() []*inventory.Node {
	named := in.cfg.Spec.Storage.Nodes
	return slices.DeleteFunc(slices.Clone(in.Facts.Nodes), func(n *inventory.Node) bool {
		listed := slices.ContainsFunc(named, func(c nodeConfig) bool { return c.Hostname == n.Hostname })
		return len(named) > 0 && !listed || len(named) == 0 && !in.selects(n) || place.RefuseHostname(n, in.Facts) != ""
	})
}

// most is how many hosts the copies of anything need.
func (in *input) most() int {
	if in.cfg.Spec.Storage.FailureDomain == "osd" {
		return 1
	}
	most := 1
	r := &redundancy{input: in}
	for _, c := range r.copied() {
		most = max(most, c.Replicas)
	}
	return most
}

// rookRelease is the check that the operator is of the release that the output is made for.
func (in *input) rookRelease() prerequisite.Check {
	check := prerequisite.Check{Check: "release/rook"}
	want := in.cfg.Spec.Rook.Version
	packaged := slices.DeleteFunc(slices.Clone(in.Manifests), func(o *krm.Object) bool { return !isOperator(o) })
	there := slices.DeleteFunc(slices.Concat(packaged, in.Facts.Objects(appsGroup, deploymentKind)), func(o *krm.Object) bool { return !isOperator(o) })
	switch {
	case in.cfg.charted():
		check.Result, check.Message = prerequisite.OK, prerequisite.InPackage
		return check
	case len(there) == 0:
		check.Result, check.Message, check.Remedy = prerequisite.Unknown, "no "+rookOperator+" is known, so its release is not", "install Rook "+want+": "+rook().Install
		return check
	}
	o := there[0]
	is := operatorRelease(o)
	switch {
	case len(packaged) > 0 && (is == "" || sameRelease(is, want)):
		check.Result, check.Message = prerequisite.OK, prerequisite.InPackage
	case is == "":
		check.Result, check.Message = prerequisite.Unknown, o.Ref.String()+" has no release in the tag of its image, nor in the label "+labelVersion
		check.Remedy = "see its image: kubectl get deployment " + o.Name + " -n " + o.Namespace + " -o wide"
	case !sameRelease(is, want):
		check.Result, check.Message = prerequisite.Failed, o.Ref.String()+" is release "+is+", and spec.rook.version is "+want
		check.Remedy = "write version: \"" + parseRelease(is).String() + "\", or update Rook to " + want + ": " + rook().Install
	default:
		check.Result, check.Message = prerequisite.OK, o.Ref.String()+" is release "+is
	}
	return check
}

const labelVersion = "app.kubernetes.io/version"

// operatorRelease is the release of an operator: that of its image, else that of its label, "" where
// neither says one.
func operatorRelease(o *krm.Object) string {
	for _, text := range []string{operatorTag(o), strings.TrimPrefix(o.Label(labelVersion), "v")} {
		if r, _, _ := parsePatch(text); r > 0 {
			return text
		}
	}
	return ""
}

// sameRelease reports whether a release is the one that is wanted, whose patch counts where both say one.
func sameRelease(is, want string) bool {
	r, patch, exact := parsePatch(is)
	wanted, wantedPatch, wantedExact := parsePatch(strings.TrimPrefix(want, "v"))
	return r == wanted && (!exact || !wantedExact || patch == wantedPatch)
}
