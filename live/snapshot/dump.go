package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	kubernetes "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Dump makes the snapshot that Take would have made of the cluster from which the
// objects were dumped: as Lists (kubectl get -o yaml, kubectl get --raw), as single
// objects, or inside an Inventory. Of a kind in several dumps all objects count.
// namespace limits namespaced kinds to one; "" is all. Options.Progress and
// Options.Served are not used.
//
// A kind of which the dumps have neither an object nor an empty list that names it
// is Absent: that nobody looked is not that there is none. Where a finding is an
// error there is no snapshot.
func Dump(objects []*krm.Object, namespace string, o Options) (*Snapshot, []finding.Finding) {
	d := &dump{kinds: map[krm.GroupKind]*dumped{}, unread: map[string]bool{}, handmade: map[*document.Source]bool{}}
	for _, k := range o.Kinds {
		d.kinds[k.GroupKind] = &dumped{declared: k}
		d.order = append(d.order, k.GroupKind)
	}
	for _, object := range objects {
		d.add(object, "", true)
	}
	d.explainUnread(len(objects))
	s := d.snapshot(namespace, o)
	if d.findings = finding.Sort(d.findings); finding.Failed(d.findings) {
		return nil, d.findings
	}
	return s, d.findings
}

// dump is what the dumps hold, kind by kind.
type dump struct {
	order    []krm.GroupKind
	kinds    map[krm.GroupKind]*dumped
	unread   map[string]bool // kinds that no snapshot has
	left     int             // objects of such kinds
	handmade map[*document.Source]bool
	findings []finding.Finding
}

// dumped is one kind.
type dumped struct {
	declared system.Kind
	version  string
	listed   bool // even if there is no object of it
	missing  string
	whole    bool // some dump of it is of all namespaces
	scopes   map[string]bool
	objects  []*krm.Object
}

func (k *dumped) isKnown() bool { return k.listed || len(k.objects) > 0 }

func (d *dump) report(severity finding.Severity, rule string, o *krm.Object, format string, args ...any) {
	f := finding.Finding{Severity: severity, Rule: rule, Message: fmt.Sprintf(format, args...)}
	if o != nil {
		f.Object, f.Pos = o.Ref, o.At()
	}
	d.findings = append(d.findings, f)
}

// add takes an object, or all items of a list. scope is the namespace to which an
// Inventory around it is limited, outermost that there is no list around it.
func (d *dump) add(o *krm.Object, scope string, outermost bool) {
	items := o.Node.Get("items")
	isInventory := o.Kind == "Inventory" && o.Group() == "poolwright.io"
	if !isInventory && (!strings.HasSuffix(o.Kind, "List") || items == nil) {
		d.object(o, scope, outermost)
		return
	}
	if o.Node.Str("metadata", "continue") != "" {
		d.report(finding.Error, "cut-list", o, "is the first part of a longer list (metadata.continue is set), so the other objects would look lost; list again, without a limit")
		return
	}
	of, apiVersion := krm.GroupKind{}, ""
	switch {
	case isInventory:
		scope = cmp.Or(o.Annotation(krm.AnnotationScope), scope)
		of = d.named(o.Name)
		if k := d.kinds[of]; k != nil {
			k.missing = o.Annotation(krm.AnnotationMissing)
		}
	case o.Kind != "List": // as the API server writes it: NodeList
		of, apiVersion = krm.GroupKind{Group: o.Group(), Kind: strings.TrimSuffix(o.Kind, "List")}, o.APIVersion
	}
	if k := d.kinds[of]; k != nil {
		k.listed = true
		k.in(scope)
		if k.version == "" && apiVersion != "" {
			k.version = kubernetes.FromAPIVersionAndKind(apiVersion, "").Version
		}
	}
	if len(items.Seq()) == 0 && of == (krm.GroupKind{}) {
		d.report(finding.Info, "nameless-list", o, "is empty, and does not say of which kind there is none, so nothing is known; kubectl get --raw /apis/GROUP/VERSION/PLURAL says it")
	}
	for i := range items.Seq() {
		n := &items.Items()[i]
		if n.Kind() == document.Map && apiVersion != "" && n.Get("kind") == nil && n.Get("apiVersion") == nil {
			n.Set("apiVersion", document.Text(apiVersion))
			n.Set("kind", document.Text(of.Kind))
		}
		item := o.Item(n)
		if item.APIVersion == "" || item.Kind == "" {
			f := finding.Finding{Severity: finding.Error, Rule: "no-kind", Pos: item.At(), Message: fmt.Sprintf(
				"item %d of the %s has no apiVersion or no kind, so its kind is unknown; create the dump again, or correct it", i, o.Kind)}
			d.findings = append(d.findings, f)
			continue
		}
		d.add(item, scope, false)
	}
}

// named is the kind after whose plural an Inventory is called.
func (d *dump) named(plural string) krm.GroupKind {
	for _, id := range d.order {
		if d.kinds[id].declared.Plural == plural {
			return id
		}
	}
	return krm.GroupKind{}
}

func (k *dumped) in(scope string) {
	if scope == "" {
		k.whole = true
		return
	}
	if k.scopes == nil {
		k.scopes = map[string]bool{}
	}
	k.scopes[scope] = true
}

func (d *dump) object(o *krm.Object, scope string, outermost bool) {
	k := d.kinds[krm.GroupKind{Group: o.Group(), Kind: o.Kind}]
	switch {
	case k == nil:
		d.unread[o.Kind] = true
		d.left++
		return
	case o.Name == "":
		d.report(finding.Error, "no-name", o, "has no metadata.name, so it is not from a cluster; create the dump again, or leave it out")
		return
	case outermost && o.Node.Str("metadata", "uid") == "" && !d.handmade[o.Source]:
		d.handmade[o.Source] = true
		d.report(finding.Warning, "no-uid", o, "has no metadata.uid, as all that a cluster has; is this a manifest, and no dump? Then leave the file out")
	}
	k.in(scope)
	if k.version == "" {
		k.version = kubernetes.FromAPIVersionAndKind(o.APIVersion, "").Version
	}
	k.objects = append(k.objects, o)
}

// explainUnread says what was passed over, and refuses dumps in which there is
// nothing else.
func (d *dump) explainUnread(objects int) {
	names := finding.Names(slices.Sorted(maps.Keys(d.unread)))
	known := slices.ContainsFunc(d.order, func(id krm.GroupKind) bool { return d.kinds[id].isKnown() })
	switch {
	case !known && d.left > 0:
		d.report(finding.Error, "no-facts", nil, "nothing that was given is of a kind that is read, but only of %s; dump nodes, blockdevices.openebs.io and the like", names)
	case !known && objects == 0:
		d.report(finding.Error, "no-facts", nil, "nothing that was given holds an object; dump with kubectl get nodes -o yaml and the like")
	case d.left > 0:
		d.report(finding.Info, "kind-not-read", nil, "passed over %s of kinds that are not read: %s", finding.Count(d.left, "object"), names)
	}
}

// snapshot slims and sorts what was collected.
func (d *dump) snapshot(namespace string, o Options) *Snapshot {
	s := &Snapshot{}
	t := &taking{options: o}
	node := krm.GroupKind{Kind: "Node"}
	if o.Selector != "" && d.kinds[node] != nil {
		d.selectNodes(t, d.kinds[node])
	}
	for _, id := range d.order {
		found := d.kinds[id]
		if !found.isKnown() {
			s.Absent = append(s.Absent, id)
			continue
		}
		kind := d.kind(t, id, found, namespace)
		if kind.declared.Identity && kind.Len() == 0 {
			s.Absent = append(s.Absent, id) // other objects of its kind say nothing of the cluster
			continue
		}
		s.Kinds = append(s.Kinds, kind)
	}
	return s
}

// selectNodes leaves the nodes that Options.Selector selects.
func (d *dump) selectNodes(t *taking, nodes *dumped) {
	selector, err := labels.Parse(t.options.Selector)
	if err != nil {
		d.report(finding.Error, "selector", nil, "-l %s: %v", t.options.Selector, err)
		return
	}
	nodes.objects = slices.DeleteFunc(nodes.objects, func(n *krm.Object) bool {
		return !selector.Matches(labels.Set(n.Node.StrMap("metadata", "labels")))
	})
	if len(nodes.objects) == 0 {
		d.report(finding.Error, "selector", nil, "no node that was given has the labels %s; correct -l, or give a dump of the nodes, too", t.options.Selector)
	}
	t.nodes = map[string]bool{}
	for _, n := range nodes.objects {
		t.nodes[n.Name] = true
		t.nodes[n.Label(inventory.LabelHostname)] = true
	}
}

// kind is one kind of the snapshot.
func (d *dump) kind(t *taking, id krm.GroupKind, found *dumped, namespace string) Kind {
	k := Kind{declared: found.declared, missing: found.missing, Resource: cluster.Resource{
		Group: id.Group, Version: found.version, Kind: id.Kind, Plural: found.declared.Plural, Namespaced: !found.declared.Cluster,
	}}
	if k.Namespaced {
		k.Scope = d.scope(id, found, namespace)
	}
	slim := t.options.slimmer(&found.declared)
	type dumpedItem struct {
		item
		of *krm.Object
	}
	var items []dumpedItem
	for _, o := range found.objects {
		if k.Namespaced && namespace != "" && o.Namespace != namespace || !t.selects(&found.declared, o.Node) {
			continue
		}
		items = append(items, dumpedItem{slim.item(o.Node), o})
	}
	slices.SortStableFunc(items, func(a, b dumpedItem) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	if found.declared.Tells == system.TellsEvents {
		for _, it := range items {
			k.items = append(k.items, it.item)
		}
		k.items = sorted(&found.declared, k.items)
		return k
	}
	for i, it := range items {
		if i == 0 || it.namespace != items[i-1].namespace || it.name != items[i-1].name {
			k.items = append(k.items, it.item)
		} else if first := items[i-1]; it.json != first.json {
			d.report(finding.Error, "twice", it.of, "is here twice, and differs from that in %s; leave the older dump out", placeOf(first.of.At()))
		}
	}
	return k
}

func placeOf(p document.Position) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// scope is the only namespace that a kind is about.
func (d *dump) scope(id krm.GroupKind, found *dumped, namespace string) string {
	scopes := slices.Sorted(maps.Keys(found.scopes))
	switch {
	case found.whole || len(scopes) == 0:
		return namespace
	case len(scopes) > 1 && namespace == "":
		d.report(finding.Error, "scopes", nil, "of kind %s there are inventories of the namespaces %s, and none of all; take one of all, or name one namespace with -n", id.Kind, strings.Join(scopes, ", "))
	case namespace != "" && !found.scopes[namespace]:
		d.report(finding.Error, "scopes", nil, "-n %s: of kind %s there are only inventories of the namespaces %s", namespace, id.Kind, strings.Join(scopes, ", "))
	}
	return cmp.Or(namespace, scopes[0])
}
