package diskpool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Convert implements system.Converter. Pools that were made alike become one set; nodes that
// have more of them than others become another, so that no set has a pool more to make.
func (System) Convert(facts *inventory.Facts, objects []*krm.Object) []system.Conversion {
	var findings []finding.Finding
	taken := map[inventory.Key]bool{}
	perNode := map[alike][]*krm.Object{}
	for _, o := range objects {
		if o.Kind == setKind {
			taken[inventory.Key{Namespace: o.Namespace, Name: o.Name}] = true
		}
		if o.GroupKind() != poolGroupKind() {
			continue
		}
		made, node, found := readAlike(facts, o)
		findings = append(findings, found...)
		if made != nil {
			made.node = node
			perNode[*made] = append(perNode[*made], o)
		}
	}
	sets := map[alike][]*krm.Object{}
	for made, pools := range perNode {
		made.node, made.count = "", len(pools)
		sets[made] = append(sets[made], pools...)
	}
	conversions := []system.Conversion{{Findings: findings}}
	for _, made := range slices.SortedFunc(maps.Keys(sets), alike.compare) {
		pools := sets[made]
		slices.SortFunc(pools, func(a, b *krm.Object) int { return cmp.Compare(a.Name, b.Name) })
		name := "diskpools"
		for i := 2; taken[inventory.Key{Namespace: made.namespace, Name: name}]; i++ {
			name = fmt.Sprintf("diskpools-%d", i)
		}
		taken[inventory.Key{Namespace: made.namespace, Name: name}] = true
		conversions = append(conversions, system.Conversion{Spec: made.set(name, pools), From: pools})
	}
	return conversions
}

// alike is what pools of one set have in common.
type alike struct {
	namespace                              string
	release, scheme                        string
	labels, secret, expansion, clusterSize string
	node                                   string // while the pools of nodes are counted
	count                                  int    // of pools on a node
}

func (a alike) compare(b alike) int {
	return cmp.Or(
		cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.scheme, b.scheme), cmp.Compare(a.labels, b.labels), cmp.Compare(a.secret, b.secret),
		cmp.Compare(a.expansion, b.expansion), cmp.Compare(a.clusterSize, b.clusterSize), cmp.Compare(a.release, b.release), cmp.Compare(a.count, b.count),
	)
}

// readAlike reads what a set has to say of a pool; nil for a pool of which none can.
func readAlike(facts *inventory.Facts, o *krm.Object) (made *alike, node string, findings []finding.Finding) {
	r := system.NewReading(facts, o)
	p := readPool(o)
	r.Take(o.Node, "spec", "node")
	disks := r.Take(o.Node, "spec", "disks")
	for _, path := range [][]string{{topology, "labelled"}, {encryption, "source", "secret", "name"}, {expansion}, {cluster}, {cluster29}} {
		r.Take(o.Node, append([]string{"spec"}, path...)...)
	}
	r.RestIs(setKind)
	_, path := splitURI(p.uri())
	path = "/" + strings.TrimLeft(path, "/")
	switch {
	case finding.Failed(r.Findings):
	case p.node == "" || len(disks.Items()) != 1:
		r.Report(finding.Error, "not-sayable", disks, "spec.disks", "must name a node and exactly one disk, since the pools of a %s have one of each; correct it first", setKind)
	case !isStable(path):
		r.Report(finding.Warning, "left-out", &disks.Items()[0], "spec.disks[0]",
			"%s is no link below /dev/disk/by-id or /dev/disk/by-path, and may be another disk tomorrow, so that no %s names it; the pool is left out and stays as it is: keep its manifest, or have a new pool take its place", p.uri(), setKind)
	default:
		return &alike{
			namespace: o.Namespace, release: releaseOf(o), scheme: p.setting("diskURI"), labels: p.setting("topologyLabels"),
			secret: p.setting("encryptionSecret"), expansion: p.setting("maxExpansion"), clusterSize: p.setting("clusterSize"),
		}, p.node, r.Findings
	}
	return nil, "", r.Findings
}

// isStable reports whether a path names a disk as a set does.
func isStable(path string) bool {
	return strings.HasPrefix(path, "/dev/disk/by-id/") || strings.HasPrefix(path, "/dev/disk/by-path/")
}

// releaseOf is the newest release that writes a pool as it is; of the newest form the first, which is the default.
func releaseOf(o *krm.Object) string {
	table := releases()
	for i, row := range slices.Backward(table) {
		if row.apiVersion != o.APIVersion || o.Node.Get("spec", cluster29) != nil && !row.has(cluster29) {
			continue
		}
		if i+1 < len(table) {
			return fmt.Sprintf("2.%d", table[i+1].minor-1)
		}
		break
	}
	return fmt.Sprintf("2.%d", table[len(table)-1].minor)
}

// set is the spec of pools, as many of which are on each node.
func (a alike) set(name string, pools []*krm.Object) *krm.Object {
	byPath, nodes := false, []string{}
	for _, o := range pools {
		p := readPool(o)
		byPath = byPath || strings.Contains(p.uri(), "/by-path/")
		nodes = append(nodes, p.node)
	}
	slices.Sort(nodes)
	var values []d.Node
	for _, node := range slices.Compact(nodes) {
		values = append(values, d.Text(node))
	}
	term := d.Object(d.F("matchFields", d.List(d.Object(
		d.F("key", d.Text("metadata.name")), d.F("operator", d.Text("In")), d.F("values", d.List(values...)),
	))))
	spec := d.Object(
		d.F("release", d.Text(a.release)),
		d.F("allowedNodes", d.Object(d.F("nodeSelectorTerms", d.List(term)))),
		d.F("poolsPerNode", d.Plain(strconv.Itoa(a.count))),
		d.F("diskURI", d.Text(a.scheme)),
		d.F("allowByPath", d.Bool(byPath)),
	)
	if a.labels != "" {
		labels := readPool(pools[0]).spec.StrMap(topology, "labelled")
		delete(labels, labelSet)
		spec.Set("topologyLabels", textMap(labels))
	}
	for _, f := range []struct{ key, value string }{{"encryptionSecret", a.secret}, {"maxExpansion", a.expansion}, {"clusterSize", a.clusterSize}} {
		if f.value != "" {
			spec.Set(f.key, d.Text(f.value))
		}
	}
	return krm.Make(ownGroup+"/"+ownVersion, setKind, a.namespace, name, d.F("spec", spec))
}
