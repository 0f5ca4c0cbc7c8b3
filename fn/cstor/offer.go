package cstor

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// stock offers the devices of nodes, and picks the best of them. It neither takes nor
// reports anything.
type stock struct{ *input }

// supply is what a node has to offer, with the reason for what it has not.
type supply struct {
	data    []*inventory.BlockDevice // may hold data
	fast    []*inventory.BlockDevice // may be the write cache
	refused []refusal
}

// remove takes devices out of what is on offer.
func (s *supply) remove(devices []*inventory.BlockDevice) {
	s.data, s.fast = without(s.data, devices), without(s.fast, devices)
}

type refusal struct {
	device *inventory.BlockDevice
	reason string
}

// whyNot says behind a message about too few disks why the others may not be used.
func (s *supply) whyNot() string {
	refusals := make([]place.Refusal, len(s.refused))
	for i, r := range s.refused {
		refusals[i] = place.Refusal{Reason: r.reason, Size: r.device.Capacity}
	}
	if len(refusals) == 0 {
		return ""
	}
	return "; refused: " + place.Summarize(refusals)
}

// offer sorts the devices on a host into what may be used for what by the pool of a node of
// the plan. node is nil where the snapshot has none.
func (st *stock) offer(name, hostname string, node *inventory.Node) supply {
	var s supply
	wanted, of := st.want(st.standing.ClusterOf(name), node), st.settings(name)
	wanted.MinCapacity = of.minCapacity
	selected := of.data()
	for _, d := range st.facts.DevicesOn(hostname) {
		if st.standing.Pooled(d.Name) && d.Namespace == st.namespace {
			continue
		}
		verdict := st.ledger.Verdict(st.ledger.Of(d), wanted)
		reason := verdict.Reason()
		if reason != "" && verdict.Of(disk.WrongNode, disk.PersistentVolume) == reason {
			s.refused = append(s.refused, refusal{d, reason})
			continue
		}
		switch {
		case of.external():
			reason = "the data disks are cloud disks"
		case !st.selectsDisk(selected, name, d):
			reason = "it is not selected by " + of.field("blockDeviceSelector")
		}
		isCache := st.cacheSelects(name, d) && onlySmall(verdict)
		if isCache {
			s.fast = append(s.fast, d)
		}
		switch {
		case reason == "":
			s.data = append(s.data, d)
		case !isCache:
			s.refused = append(s.refused, refusal{d, reason})
		}
	}
	return s
}

// onlySmall reports whether nothing speaks against a disk but its size.
func onlySmall(v disk.Verdict) bool {
	return !slices.ContainsFunc(v, func(o disk.Objection) bool { return o.Rule != disk.TooSmall })
}

// picked is a whole choice of devices for a new pool.
type picked struct {
	data, cache []*inventory.BlockDevice
	noCache     string // why an automatic cache is left out
}

// pick chooses the devices of a new pool, or says why the node cannot supply
// them. What was reserved earlier is taken, as long as all of it can be used.
func (st *stock) pick(node string, s supply) (picked, string) {
	p := picked{
		data:  named(s.data, st.standing.Reserved(node, record.Data)),
		cache: named(s.fast, st.standing.Reserved(node, record.Cache)),
	}
	wanted := st.settings(node)
	if len(p.data) != wanted.minCount {
		p.data = st.pickData(s, wanted.groupCount(), wanted.groupSize)
	}
	if p.data == nil {
		return p, fmt.Sprintf("it has %s of %s or more, wanted %d", finding.Count(len(s.data), "usable disk"), quantity.Size(wanted.minCapacity), wanted.minCount) + s.whyNot()
	}
	lack := st.pickCache(node, s, &p)
	return p, lack
}

// pickCache chooses the write cache beside the data disks, or says why the node
// cannot supply it. A cache of cloud disks is not of the node.
func (st *stock) pickCache(node string, s supply, p *picked) (lack string) {
	w := st.settings(node).writeCache
	switch p.cache = without(p.cache, p.data); {
	case w == nil || w.ExternalProvisioner != nil:
		p.cache = nil
		return ""
	case w.Auto && slices.ContainsFunc(p.data, (*inventory.BlockDevice).Fast):
		p.cache, p.noCache = nil, "its data disks are SSD or NVMe already"
		return ""
	case len(p.cache) == w.Count:
		return ""
	}
	p.cache = place.Groups(without(s.fast, p.data), w.Count/w.groupSize(), w.groupSize(), st.order)
	if p.cache == nil {
		lack = fmt.Sprintf("it has %s for the write cache, wanted %d", finding.Count(len(without(s.fast, p.data)), "usable disk"), w.Count)
		if w.Auto {
			p.noCache, lack = lack, ""
		}
	}
	return lack
}

// order compares devices by size and then by the identity of the disks that they are.
func (st *stock) order(a, b *inventory.BlockDevice) int {
	return disk.Rank(st.ledger.Of(a), st.ledger.Of(b))
}

// pickData leaves the disks that the write cache could take, as long as the
// others suffice.
func (st *stock) pickData(s supply, groups, size int) []*inventory.BlockDevice {
	if devices := place.Groups(without(s.data, s.fast), groups, size, st.order); devices != nil {
		return devices
	}
	return place.Groups(s.data, groups, size, st.order)
}
