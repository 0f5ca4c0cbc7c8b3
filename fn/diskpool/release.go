package diskpool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// Fields of the spec of a DiskPool beside node and disks.
const (
	topology   = "topology"
	encryption = "encryptionConfig"
	expansion  = "maxExpansion"
	cluster    = "clusterSize"
	cluster29  = "cluster_size" // as release 2.9 calls clusterSize
)

// form is how a release of Mayastor writes a DiskPool.
type form struct {
	apiVersion string
	fields     []string
}

func (f *form) has(field string) bool { return slices.Contains(f.fields, field) }

// clusterKey is what the size of clusters is called.
func (f *form) clusterKey() string {
	if f.has(cluster29) && !f.has(cluster) {
		return cluster29
	}
	return cluster
}

// knows reports whether a field can be written, under whatever name.
func (f *form) knows(field string) bool { return f.has(field) || field == cluster && f.has(cluster29) }

// since is a form and the first minor release of 2 that has it.
type since struct {
	minor int
	form
}

// releases are the forms, the oldest first.
//
// Source: mayastor-control-plane, k8s/operators/src/pool/diskpool/crd (v1beta1.rs to v1beta3.rs), 2.0 to 2.12.
func releases() []since {
	return []since{
		{0, form{group + "/v1alpha1", nil}},
		{4, form{group + "/v1beta1", nil}},
		{6, form{group + "/v1beta2", []string{topology}}},
		{9, form{group + "/v1beta3", []string{topology, encryption, cluster29}}},
		{10, form{group + "/v1beta3", []string{topology, encryption, cluster, expansion}}},
	}
}

// newest is the newest release that is known. 2.11 and 2.12 write a DiskPool as 2.10 does.
//
// Source: OpenEBS, Release Notes, 4.6.1 (Mayastor 2.12.1).
func newest() system.Newest { return system.Newest{Product: "Mayastor", Release: "2.12"} }

// slashMinor is the last release of 2 that fails on a label of a pool with a slash.
//
// Source: mayastor-control-plane, control-plane/rest (routes of pool labels), 2.12.0.
const slashMinor = 12

// release is a release of Mayastor.
type release struct{ major, minor int }

func parseRelease(text string) release {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor, _, _ = strings.Cut(minor, "-")
	var r release
	r.major, _ = strconv.Atoi(major) // the definition has seen to it
	r.minor, _ = strconv.Atoi(minor)
	return r
}

func (r release) newerThan(minor int) bool { return r.major > 2 || r.minor > minor }

// form is how the release writes a DiskPool.
func (r release) form() form {
	table := releases()
	found := table[0].form
	for _, row := range table {
		if r.newerThan(row.minor - 1) {
			found = row.form
		}
	}
	return found
}

// firstWith is the first release that has a field.
func firstWith(field string) string {
	for _, row := range releases() {
		if row.knows(field) {
			return fmt.Sprintf("2.%d", row.minor)
		}
	}
	return ""
}

// servedForm reads what the definition of DiskPools serves: the newest version that has
// all the fields that are wanted, or else the newest. It is nil where there is none.
func servedForm(definition *krm.Object, wanted []string) *form {
	var best *form
	complete := false
	for _, v := range definition.Node.Seq("spec", "versions") {
		f := form{apiVersion: group + "/" + v.Str("name")}
		known := slices.ContainsFunc(releases(), func(row since) bool { return row.apiVersion == f.apiVersion })
		if served, _ := v.Get("served").Bool(); !served || !known {
			continue
		}
		if properties := v.Get("schema", "openAPIV3Schema", "properties", "spec", "properties"); properties != nil {
			for i := range properties.Fields() {
				f.fields = append(f.fields, properties.Fields()[i].Key)
			}
			for i := range properties.Items() { // a snapshot has the names alone
				f.fields = append(f.fields, properties.Items()[i].Value())
			}
		}
		all := !slices.ContainsFunc(wanted, func(field string) bool { return !f.knows(field) })
		newer := best == nil || version.CompareKubeAwareVersionStrings(f.apiVersion[len(group)+1:], best.apiVersion[len(group)+1:]) > 0
		if all && !complete || all == complete && newer {
			best, complete = &f, all
		}
	}
	return best
}

// definitionOf finds the definition of DiskPools among the facts and the manifests of the
// package, or nil.
func definitionOf(facts *inventory.Facts, held []*krm.Object) *krm.Object {
	id := krm.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "diskpools." + group}
	if o := facts.Object(id); o != nil {
		return o
	}
	for _, o := range held {
		if o.ID() == id {
			return o
		}
	}
	return nil
}
