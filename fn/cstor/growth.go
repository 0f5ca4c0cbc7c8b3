package cstor

import (
	"encoding/json"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// expansionOf is spec.poolConfig.poolExpansion, nil if pools do not grow by themselves.
func expansionOf(spec *system.Spec) *expansion {
	var c struct {
		Spec struct {
			PoolConfig struct {
				PoolExpansion *expansion `json:"poolExpansion"`
			} `json:"poolConfig"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return nil
	}
	return c.Spec.PoolConfig.PoolExpansion
}

// Threshold implements system.Grower.
func (System) Threshold(spec *system.Spec) float64 {
	if e := expansionOf(spec); e != nil {
		return e.Threshold.Used * 100
	}
	return 0
}

// Expands implements system.Grower: a pool grows by a RAID group like its first, as often as its node has free disks for one that are
// as large.
func (System) Expands(facts *inventory.Facts, disks *disk.Ledger, spec *system.Spec, o *krm.Object) (adds int64, times int, expands bool) {
	e := expansionOf(spec)
	if e == nil || e.Disable || o.Kind != poolInstanceKind {
		return 0, 0, false
	}
	i := pool.DecodeInstance(o)
	nodes := facts.Host(i.RunsOn)
	if len(nodes) != 1 || len(i.Pool.Data) == 0 {
		return 0, 0, false
	}
	group, least := i.Pool.Data[0], int64(0)
	if i.Pool.RAIDType == pool.Stripe {
		group = group[:1]
	}
	for _, name := range group {
		if d := facts.Device(o.Namespace, name); d != nil && d.Capacity > 0 && (least == 0 || d.Capacity < least) {
			least = d.Capacity
		}
	}
	free := 0
	for _, d := range disks.On(nodes[0]) {
		if d.Device != nil && d.Device.Namespace == o.Namespace && disks.Verdict(d, disk.Want{Node: nodes[0], MinCapacity: least}).Reason() == "" {
			free++
		}
	}
	return least * int64(len(group)-i.Pool.Spare(len(group))), free / len(group), true
}
