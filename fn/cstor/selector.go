package cstor

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
)

// diskSelector is a selector of block devices in a spec.
type diskSelector struct {
	field string
	terms []selector.Term
}

// data selects the data disks of a pool.
func (s *settings) data() diskSelector {
	return diskSelector{s.field("blockDeviceSelector"), s.selector}
}

// cache selects the disks of a write cache that names some.
func (s *settings) cache() diskSelector {
	return diskSelector{s.field("writeCache") + ".local.blockDeviceSelector", s.writeCache.Local.BlockDeviceSelector.SelectorTerms}
}

// diskSelectors lists the selectors of the disks of pools, each once.
func (c *config) diskSelectors() []diskSelector {
	var all []diskSelector
	add := func(of diskSelector) {
		if !slices.ContainsFunc(all, func(o diskSelector) bool { return o.field == of.field }) {
			all = append(all, of)
		}
	}
	of := c.all()
	if c.Spec.OnlyListed {
		of = c.listed
	}
	for _, s := range of {
		if !s.external() {
			add(s.data())
		}
		if s.writeCache != nil && s.writeCache.Local != nil {
			add(s.cache())
		}
	}
	return all
}

// checkSelectors looks for selectors that select nothing of the inventory: what is rendered already counts as
// selected by such a one, unless its removal is allowed.
func (in *input) checkSelectors() {
	in.nothing = map[string]bool{}
	if !in.cfg.Spec.OnlyListed {
		in.nothing[selectorField] = !in.SelectsNodes(in.facts, in.cfg.Spec.AllowedNodes.NodeSelectorTerms, selectorField)
	}
	devices := system.ObjectsOf(in.facts.Devices, func(d *inventory.BlockDevice) *krm.Object { return d.Object })
	for _, of := range in.cfg.diskSelectors() {
		in.nothing[of.field] = !in.Selects(of.terms, devices, "block device", in.written(of.field)+".selectorTerms")
	}
}

// selects reports whether a node, by its name in the plan, may carry a pool that is not listed.
func (in *input) selects(n *inventory.Node, name string) bool {
	switch {
	case in.cfg.Spec.OnlyListed:
		return false
	case in.nothing[selectorField]:
		return in.standing.Knows(name) && !in.consent.allows(name)
	}
	return selector.MatchesAny(in.cfg.Spec.AllowedNodes.NodeSelectorTerms, n.Object)
}

// selectsDisk reports whether a selector selects a block device for the pool of a node.
func (in *input) selectsDisk(of diskSelector, node string, d *inventory.BlockDevice) bool {
	if in.nothing[of.field] {
		set := in.standing.SetOf(node).Devices
		return slices.Contains(slices.Concat(set[record.Data], set[record.Cache], set[record.Spare]), d.Name)
	}
	return selector.MatchesAny(of.terms, d.Object)
}

// cacheSelects reports whether the write cache of the pool of a node asks for such a device.
func (in *input) cacheSelects(node string, d *inventory.BlockDevice) bool {
	switch s := in.settings(node); {
	case s.writeCache == nil:
		return false
	case s.writeCache.Auto:
		return d.Fast()
	case s.writeCache.Local != nil:
		return in.selectsDisk(s.cache(), node, d)
	}
	return false
}

// checkFields refuses a term that excludes by a field of which nobody has heard: it would
// select every device.
func checkFields(in *input, field string, terms []selector.Term) {
	known := inventory.DeviceFields()
	for _, key := range selector.Excluded(terms) {
		path := strings.Split(key, ".")
		has := func(d *inventory.BlockDevice) bool { return d.Object.Node.Get(path...) != nil }
		if path[0] != "metadata" && !slices.Contains(known, key) && !slices.ContainsFunc(in.facts.Devices, has) {
			in.report(finding.Error, "unknown-field", field,
				"excludes by matchFields %s, which is no field of a block device%s", key, schema.DidYouMean(key, known))
		}
	}
}
