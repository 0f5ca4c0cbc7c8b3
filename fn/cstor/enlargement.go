package cstor

import (
	"cmp"
	"maps"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// enlargement makes the volumes of cloud disks larger, data disks and spares, where the spec
// has a larger minCapacity by now: those of one node a step, as far as their StorageClass allows
// volumes to grow. No volume gets smaller.
type enlargement struct {
	*input
	stays map[string][]string // nodes whose volumes stay as they are, by why
	small map[string][]string // block devices of pools that are smaller than the spec has it, by field
}

func newEnlargement(in *input) *enlargement {
	return &enlargement{in, map[string][]string{}, map[string][]string{}}
}

// sizeOf is the size of a claim as it was rendered, or as it is in the cluster, where that is more: a person made it so, or put
// an older output back.
func (e *existing) sizeOf(claim *krm.Object) string {
	rendered := requestOf(claim)
	if live := requestOf(e.facts.Object(claim.ID())); quantity.Bytes(live) > quantity.Bytes(rendered) {
		return live
	}
	return rendered
}

// ask asks that the volumes of a member get the size that the spec has.
func (e *enlargement) ask(m *member) {
	var grow []*cloudDisk
	var names, sizes []string // by now
	for _, v := range m.cloud {
		if v.larger == "" || v.pvName == "" { // a claim that is not bound takes no other size
			continue
		}
		if why := e.refusal(v.StorageClassName); why != "" {
			if nodes := e.stays[why]; !slices.Contains(nodes, m.name) {
				e.stays[why] = append(nodes, m.name)
			}
			continue
		}
		grow, names, sizes = append(grow, v), append(names, v.name), append(sizes, v.capacity)
	}
	if len(grow) == 0 {
		return
	}
	e.steps(m.of).ask(step{
		kind: stepEnlarge, edit: func(*pool.Cluster) {},
		what: volumesGrow(m.name, grow[0].larger, names),
		settle: func(wait string) {
			for i, v := range grow {
				if v.capacity = sizes[i]; wait == "" {
					v.capacity = v.larger
				}
			}
		},
	})
}

// refusal says why volumes of a class cannot grow, or "".
func (e *enlargement) refusal(name string) string {
	class := e.facts.Object(krm.ID{Group: storageGroup, Kind: storageClassKind, Name: name})
	switch {
	case class == nil:
		return "the inventory does not have StorageClass " + name + ", which shows whether they can grow; refresh it with poolwright inventory"
	case class.Node.Str("allowVolumeExpansion") != "true":
		return "StorageClass " + name + " does not allow volumes to grow; set allowVolumeExpansion: true there, if the driver can do it"
	}
	return ""
}

// judge notes which disks of the node of a member are smaller than the spec has them by now.
func (e *enlargement) judge(m *member) {
	wanted := e.settings(m.name)
	if m.before == nil || wanted.external() {
		return
	}
	for _, name := range m.before.Data.Disks() {
		if size := e.disk(name).Size(); size > 0 && size < wanted.minCapacity {
			field := wanted.field("minCapacity")
			e.small[field] = append(e.small[field], name)
		}
	}
}

// tell says what stays smaller than the spec has it.
func (e *enlargement) tell() {
	for _, why := range slices.Sorted(maps.Keys(e.stays)) {
		nodes := e.stays[why]
		slices.Sort(nodes)
		e.report(finding.Warning, "volumes-stay", e.settings(nodes[0]).field("minCapacity"),
			"is more than the volumes of node %s hold, which stay as they are; new ones get it: %s", finding.Names(nodes), why)
	}
	for _, field := range slices.Sorted(maps.Keys(e.small)) {
		slices.Sort(e.small[field])
		e.report(finding.Warning, "disks-stay", field,
			"is more than block devices of the pools hold, which stay as they are; new ones hold it: %s", finding.Names(e.small[field]))
	}
}

// ungrown says which volume of a CStorPoolCluster does not have the size that is rendered. Where
// no pod uses a raw volume nobody does what is left to a node once the disk itself has grown: it
// counts as done.
func (e *existing) ungrown(of *standing.Cluster) unfinished {
	for _, id := range slices.SortedFunc(e.standing.IDs(), compareIDs) {
		claim, live := e.standing.Object(id), e.facts.Object(id)
		if id.Kind != volumeClaimKind || live == nil || e.standing.ClusterOf(record.NodeOfVolume(claim)) != of {
			continue
		}
		has, wanted := live.Node.Str("status", "capacity", "storage"), e.sizeOf(claim)
		resized := condition(live, "FileSystemResizePending").Str("status") == "True" && quantity.Bytes(requestOf(live)) >= quantity.Bytes(wanted)
		if has != "" && quantity.Bytes(has) < quantity.Bytes(wanted) && !resized {
			size := cmp.Or(quantity.Size(quantity.Bytes(wanted)), wanted)
			return unfinished{wait: "PersistentVolumeClaim " + claim.Name + " holds " + size, kind: stepEnlarge, what: volumesGrow(record.NodeOfVolume(claim), size, []string{claim.Name})}
		}
	}
	return unfinished{}
}

// requestOf is the size that a claim asks for, "" for none.
func requestOf(claim *krm.Object) string {
	return field(claim, "spec", "resources", "requests").Str("storage")
}
