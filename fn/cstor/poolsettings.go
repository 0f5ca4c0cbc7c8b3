package cstor

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
)

// settings are what the spec wants of the pool of one node, and of its disks. Every rule
// that is about one pool asks input.settings for them, and nothing else.
type settings struct {
	raidType  string
	minCount  int
	groupSize int
	capacity  string // the least that a data disk holds, as the spec has it

	minCapacity int64              // the same, in bytes
	provisioner *provisioner       // of cloud disks; nil for disks of the node
	selector    []selector.Term    // of disks of the node
	writeCache  *writeCache        // nil for none
	spare       int                // disks kept ready
	tolerations []place.Toleration // of the pods of the pool

	compression      string
	thickProvision   *bool
	roThresholdLimit *int64 // percent
}

// generalSettings are those that diskConfig and poolConfig say.
func (c *config) generalSettings() (*settings, error) {
	disk, pools := &c.Spec.DiskConfig, &c.Spec.PoolConfig
	s := &settings{
		raidType: pools.RAIDType, minCount: disk.MinCount, groupSize: disk.GroupSize, provisioner: disk.ExternalProvisioner,
		writeCache: pools.WriteCache, spare: pools.Spare, tolerations: pools.Tolerations.list(),
		compression: pools.Compression, thickProvision: pools.ThickProvision, roThresholdLimit: pools.ROThresholdLimit,
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
func (c *config) all() []*settings { return []*settings{c.general} }

// anyLocal reports whether any pool has disks of its node.
func (c *config) anyLocal() bool {
	return slices.ContainsFunc(c.all(), func(s *settings) bool { return !s.external() })
}

// anyExternal reports whether any pool has cloud disks.
func (c *config) anyExternal() bool { return slices.ContainsFunc(c.all(), (*settings).external) }

// settings are what the spec wants of the pool of a node, by its name in the plan.
func (in *input) settings(string) *settings { return in.cfg.general }

// settingsOn are those of the pool on a host.
func (in *input) settingsOn(hostname string) *settings {
	return in.settings(in.lock.nodeOn(hostname, in.facts))
}

// field is where the spec says something of the pool, by its name in an entry of spec.pools.
func (s *settings) field(name string) string {
	switch name {
	case "minCount", "groupSize", "minCapacity", "externalProvisioner":
		return "spec.diskConfig." + name
	case "blockDeviceSelector":
		return "spec.diskConfig.local." + name
	}
	return "spec.poolConfig." + name
}

// source is the part of the spec that says where the data disks come from.
func (s *settings) source() string { return "spec.diskConfig" }

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
	p.Compression, p.ThickProvision, p.ROThresholdLimit = s.compression, s.thickProvision, s.roThresholdLimit
}
