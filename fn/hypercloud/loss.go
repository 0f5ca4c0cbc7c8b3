package hypercloud

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// lossSystem is what a table of losses calls the system.
const lossSystem = "ceph"

// Storage implements system.Survivor: the pools and filesystems of Ceph, and the volumes of its classes.
func (System) Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage {
	l := &losses{facts: facts, disks: disks, clusters: map[string]*clusterLoss{}, stores: map[string]*storeLoss{}}
	s := resilience.Storage{VolumeKind: krm.GroupKind{Kind: volumeKind}}
	for _, kind := range []string{poolKind, filesystemKind} {
		for _, o := range facts.Objects(cephGroup, kind) {
			s.Pools = append(s.Pools, l.store(o, "").item(o, resilience.None))
		}
	}
	for _, v := range facts.Volumes() {
		if strings.HasSuffix(v.Driver, rbdSuffix) || strings.HasSuffix(v.Driver, cephfsSuffix) {
			o := facts.Object(krm.ID{Kind: volumeKind, Name: v.Name})
			s.Volumes = append(s.Volumes, l.storeOf(o).item(o, resilience.ClaimedBytes(facts, v)))
			s.Covered = append(s.Covered, v.Name)
		}
	}
	return s
}

// losses makes the rules of the pools and volumes among some facts.
type losses struct {
	facts    *inventory.Facts
	disks    *disk.Ledger
	clusters map[string]*clusterLoss // by namespace: Rook allows one in each
	stores   map[string]*storeLoss
}

// storeOf is what has the data of a volume, by its class.
func (l *losses) storeOf(volume *krm.Object) *storeLoss {
	if sc := l.facts.Object(class.ID(volume.Node.Str("spec", "storageClassName"))); sc != nil {
		parameters := sc.Node.Get("parameters")
		kind, name, data := poolKind, parameters.Str("pool"), ""
		if strings.HasSuffix(sc.Node.Str("provisioner"), cephfsSuffix) {
			kind, name, data = filesystemKind, parameters.Str("fsName"), parameters.Str("pool")
		}
		if o := l.facts.Object(krm.ID{Group: cephGroup, Kind: kind, Namespace: parameters.Str("clusterID"), Name: name}); o != nil {
			return l.store(o, data)
		}
	}
	return l.store(nil, "")
}

// storeLoss is what a pool can lose, or a filesystem with the pools that it has its data in.
type storeLoss struct {
	id      krm.ID
	cluster *clusterLoss // nil if it is not known
	layouts []layout     // none if they are not known
	spreads []*spread    // of the layouts
	rule    *resilience.Rule
}

// layout is how a pool spreads its data: want copies or chunks, each in another failure domain. With less than need it serves no
// I/O, and with less than least it has lost data.
//
// Source: Ceph, src/osd/OSDMap and mon/OSDMonitor.cc (min_size = size - size/2, k + min(1, m-1)), ceph/ceph#20555, 12.2 to 20.2.
type layout struct {
	domain, class     string
	want, need, least int
}

// layoutOf reads a pool; none of what has neither copies nor chunks.
func layoutOf(n *document.Node) []layout {
	l := layout{domain: cmp.Or(n.Str("failureDomain"), "host"), class: n.Str("deviceClass")}
	k, _ := n.Get("erasureCoded", "dataChunks").Int()
	m, _ := n.Get("erasureCoded", "codingChunks").Int()
	size, _ := n.Get("replicated", "size").Int()
	switch {
	case k > 0:
		l.want, l.need, l.least = int(k+m), int(k+max(0, min(1, m-1))), int(k)
	case size > 0:
		l.want, l.need, l.least = int(size), int(size-size/2), 1
	default:
		return nil
	}
	if least := quantity.Bytes(n.Str("parameters", "min_size")); least > 0 {
		l.need = int(least)
	}
	return []layout{l}
}

// store is a pool or a filesystem; of a filesystem with the data pool of a name, or with all for "". nil is one that is not known.
func (l *losses) store(o *krm.Object, data string) *storeLoss {
	at := data
	if o != nil {
		at = o.Ref.String() + " " + data
	}
	if s := l.stores[at]; s != nil {
		return s
	}
	s := &storeLoss{}
	l.stores[at] = s
	s.rule = &resilience.Rule{Judge: s.judge}
	if o == nil {
		return s
	}
	s.id = o.ID()
	s.rule.Pools = []krm.ID{s.id}
	if o.Kind == poolKind {
		s.layouts = layoutOf(o.Node.Get("spec"))
	} else {
		s.layouts = filesystemLayouts(o, data)
	}
	if s.cluster = l.cluster(o.Namespace); s.cluster != nil {
		for i := range s.layouts {
			s.spreads = append(s.spreads, s.cluster.spread(&s.layouts[i]))
		}
		s.rule.On = []*resilience.Rule{s.cluster.mons}
		s.rule.Nodes = s.cluster.nodes()
		s.rule.Disks = s.cluster.disks()
	}
	return s
}

// filesystemLayouts are those of the metadata and of the data of a filesystem. Rook calls a data pool after the filesystem, and
// data0 if it has no name.
//
// Source: Rook, pkg/operator/ceph/file/filesystem.go (names of data pools), 1.14 to 1.21.
func filesystemLayouts(o *krm.Object, data string) []layout {
	var named, all []layout
	pools := o.Node.Seq("spec", "dataPools")
	for i := range pools {
		name := cmp.Or(pools[i].Str("name"), "data"+strconv.Itoa(i))
		all = append(all, layoutOf(&pools[i])...)
		if o.Name+"-"+name == data {
			named = append(named, layoutOf(&pools[i])...)
		}
	}
	if len(named) > 0 {
		all = named
	}
	return append(layoutOf(o.Node.Get("spec", "metadataPool")), all...)
}

// judge is the worst state of any of its placement groups: one may be in any failure domains.
func (s *storeLoss) judge(at *resilience.Situation) resilience.Verdict {
	named := at.Pool(s.id)
	switch {
	case named == resilience.Gone:
		return resilience.Verdict{State: resilience.Lost, Worst: resilience.Lost}
	case s.cluster == nil || len(s.layouts) == 0 || !s.cluster.known:
		return resilience.Unclear()
	}
	state, copies := resilience.Safe, resilience.None
	for _, spread := range s.spreads {
		of, left := spread.stateOf(at)
		state = resilience.Worse(state, of)
		if copies == resilience.None || left < copies {
			copies = left
		}
	}
	if named == resilience.Stopped {
		state = resilience.Worse(state, resilience.Stops)
	}
	mons := at.Of(s.cluster.mons)
	return resilience.Between(resilience.Worse(state, mons.Best()), resilience.Worse(state, mons.Worst), copies, copies)
}

// item is a pool, or a volume of it with its size.
func (s *storeLoss) item(o *krm.Object, size int64) resilience.Item {
	item := resilience.Item{System: lossSystem, Object: o.Ref, Want: resilience.None, Need: resilience.None, Rule: s.rule}
	for _, l := range s.layouts {
		if item.Want == resilience.None || l.want < item.Want {
			item.Want, item.Need = l.want, l.need
		}
	}
	item.Advise = func(at *resilience.Situation, v resilience.Verdict) resilience.Advice {
		return s.advise(at, v, item.Want, size)
	}
	return item
}

func (s *storeLoss) advise(at *resilience.Situation, v resilience.Verdict, want int, size int64) resilience.Advice {
	bytes := size
	if size > 0 && v.Left != resilience.None {
		bytes = size * int64(max(0, want-v.Left))
	}
	switch {
	case v.State == resilience.Lost:
		return resilience.Advice{Remedy: "restore it from a backup: some of its placement groups may have no copy", Rebuild: resilience.Nothing()}
	case s.cluster == nil || !s.cluster.known || len(s.layouts) == 0:
		return resilience.Advice{Remedy: "add cephclusters, cephblockpools, cephfilesystems and storageclasses to the inventory", Rebuild: resilience.Unsure()}
	case at.Of(s.cluster.mons).State != resilience.Safe:
		return resilience.Advice{Remedy: "see where the monitors are: kubectl -n " + s.id.Namespace + " get pods -l app=rook-ceph-mon -o wide", Rebuild: resilience.Unsure()}
	case slices.ContainsFunc(s.cluster.nodes(), func(name string) bool { return at.Node(name) == resilience.Stopped }):
		return resilience.Advice{Remedy: "bring back the nodes that are down", Rebuild: resilience.Rebuild{Where: resilience.Here, Bytes: bytes}}
	case !slices.ContainsFunc(s.spreads, func(of *spread) bool { return !of.hasPlace(at) }):
		return resilience.Advice{Remedy: "wait until Ceph has recovered, then remove the lost OSDs", Rebuild: resilience.Rebuild{Where: resilience.Elsewhere, Bytes: bytes}}
	}
	return resilience.Advice{Remedy: "add disks in another failure domain: no other one can take a copy", Rebuild: resilience.Nothing()}
}
