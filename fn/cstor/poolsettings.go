package cstor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/schema/finding"
)

// settings are what the spec wants of the pool of one node, and of its disks. Every rule
// that is about one pool asks input.settings for them, and nothing else.
type settings struct {
	raidType  string
	minCount  int
	groupSize int
	capacity  string // the least that a data disk holds, as the spec has it

	minCapacity int64               // the same, in bytes
	provisioner *record.Provisioner // of cloud disks; nil for disks of the node
	selector    []selector.Term     // of disks of the node
	writeCache  *writeCache         // nil for none
	spare       int                 // disks kept ready
	tolerations []place.Toleration  // of the pods of the pool
	pool        pool.Settings

	// Of a pool that spec.pools lists, or listed:
	entry  string            // such as spec.pools[1]; "" for a pool that is not listed
	given  map[string]bool   // what the entry says itself
	node   string            // as the entry has it, or ""
	labels map[string]string // of the node, where it is listed by those

	listedBy string // the name or the labels, as the plan remembers them
}

// generalSettings are those that diskConfig and poolConfig say.
func (c *config) generalSettings() (*settings, error) {
	disk, pools := &c.Spec.DiskConfig, &c.Spec.PoolConfig
	s := &settings{
		raidType: pools.RAIDType, minCount: disk.MinCount, groupSize: disk.GroupSize, provisioner: disk.ExternalProvisioner,
		writeCache: pools.WriteCache.orNone(), spare: pools.Spare, tolerations: pools.Tolerations.list(),
		pool: pool.Settings{Compression: pools.Compression, ThickProvision: pools.ThickProvision, ROThresholdLimit: pools.ROThresholdLimit},
	}
	if disk.Local != nil {
		s.selector = disk.Local.BlockDeviceSelector.SelectorTerms
	}
	var err error
	s.capacity, s.minCapacity, err = readCapacity("spec.diskConfig.minCapacity", disk.MinCapacity)
	return s, err
}

// readCapacity reads an amount of bytes.
func readCapacity(field, text string) (string, int64, error) {
	amount, err := resource.ParseQuantity(text)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", field, err)
	}
	return text, amount.Value(), nil
}

// all lists the settings of all pools, those of diskConfig and poolConfig first.
func (c *config) all() []*settings { return append([]*settings{c.general}, c.listed...) }

// anyLocal reports whether any pool has disks of its node.
func (c *config) anyLocal() bool {
	return slices.ContainsFunc(c.all(), func(s *settings) bool { return !s.external() })
}

// anyExternal reports whether any pool has cloud disks.
func (c *config) anyExternal() bool { return slices.ContainsFunc(c.all(), (*settings).external) }

// settings are what the spec wants of the pool of a node, by its name in the plan.
func (d *desired) settings(node string) *settings {
	if s := d.listed.of[node]; s != nil {
		return s
	}
	if s := d.listed.kept[node]; s != nil {
		return s
	}
	return d.cfg.general
}

// settingsOn are those of the pool on a host.
func (in *input) settingsOn(hostname string) *settings {
	if len(in.listed.of)+len(in.listed.kept) == 0 {
		return in.cfg.general
	}
	return in.settings(in.standing.NodeOn(hostname, in.facts))
}

// field is where the spec says something of the pool, by its name in an entry of spec.pools.
func (s *settings) field(name string) string {
	switch {
	case s.given[name]:
		return s.entry + "." + name
	case s.entry == listedField:
		return listedField
	}
	switch name {
	case "minCount", "groupSize", "minCapacity", "externalProvisioner":
		return "spec.diskConfig." + name
	case "blockDeviceSelector":
		return "spec.diskConfig.local." + name
	}
	return "spec.poolConfig." + name
}

// says tells behind the reason for a node what its entry says of the pool, in the place of
// diskConfig and poolConfig.
func (in *input) says(s *settings) string {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(s.given)) {
		if s.given[name] && name != "node" && name != "nodeSelector" {
			own = append(own, strings.TrimPrefix(in.written(s.field(name)), in.written(s.entry)+"."))
		}
	}
	if len(own) == 0 {
		return ""
	}
	return "; " + in.written(s.entry) + " gives its pool " + finding.Names(own)
}

// source is the part of the spec that says where the data disks come from.
func (s *settings) source() string {
	if s.given["externalProvisioner"] || s.given["blockDeviceSelector"] {
		return s.entry
	}
	return "spec.diskConfig"
}

// place is where an entry names its node.
func (s *settings) place() string {
	if s.node != "" {
		return s.entry + ".node"
	}
	return s.entry + ".nodeSelector.matchLabels"
}

// external reports whether the data disks are cloud disks.
func (s *settings) external() bool { return s.provisioner != nil }

// cacheExternal reports whether the write cache is of cloud disks.
func (s *settings) cacheExternal() bool {
	return s.writeCache != nil && s.writeCache.ExternalProvisioner != nil
}

// groupCount is the number of RAID groups of a new pool.
func (s *settings) groupCount() int { return s.minCount / s.groupSize }

// groups splits data devices into RAID groups; a stripe is one group.
func (s *settings) groups(devices []string) pool.Groups {
	if s.raidType == pool.Stripe {
		return pool.Groups{devices}
	}
	return chunk(devices, s.groupSize)
}

// cacheGroups splits the devices of the write cache.
func (s *settings) cacheGroups(devices []string) pool.Groups {
	if s.writeCache == nil || len(devices) == 0 {
		return nil
	}
	return chunk(devices, s.writeCache.groupSize())
}

// set gives a pool its settings.
func (s *settings) set(p *pool.Pool) {
	p.Settings = s.pool
}
