package cstor

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// expansion is poolConfig.poolExpansion, completed.
type expansion struct {
	Disable   bool `json:"disable"`
	Threshold struct {
		Used float64 `json:"used-capacity"` // above 0 and at most 1
	} `json:"threshold"`
}

// fullPools judges which pools are to grow by themselves.
type fullPools struct {
	*localDisks
}

// threshold is how full a pool is to be for that, in percent; 0 for never.
func (f *fullPools) threshold() float64 {
	if e := f.cfg.Spec.PoolConfig.PoolExpansion; e != nil {
		return math.Round(e.Threshold.Used*1e8) / 1e6 // 100 times 0.55 is more than 55
	}
	return 0
}

// judge remembers how a pool grew earlier, and decides whether it is to grow now.
func (f *fullPools) judge(m *member) {
	m.grown = f.standing.SetOf(m.name).Grown
	if m.before == nil || f.threshold() <= 0 {
		return
	}
	i := f.live.running(m.before.Pool)
	if i == nil {
		return
	}
	percent, known := usedPercent(i)
	if !known {
		return
	}
	size := i.Size()
	larger := m.grown.Size > 0 && size > m.grown.Size // what it grew by is in use
	now := record.Grown{Count: m.grown.Count + 1, Disks: len(m.before.Data.Disks()) + f.settings(m.name).expansionDisks(), Level: int(percent), Size: size}
	switch {
	case percent < f.threshold():
		if m.grown.Count > 0 && !larger && m.grown.Disks <= len(m.before.Data.Disks()) && f.shows(i, m.before.Pool) {
			m.grown.Below = true
		}
	case f.cfg.Spec.PoolConfig.PoolExpansion.Disable:
		f.report(finding.Info, "expansion-disabled", "spec.poolConfig.poolExpansion",
			"the pool on node %s (CStorPoolInstance %s) is %.0f percent full, and poolExpansion is disabled: it does not grow", m.name, i.Name, math.Floor(percent))
	case m.grown.Disks > len(m.before.Data.Disks()): // the last has not come about
	case m.grown.Count == 0, m.grown.Below, percent < float64(m.grown.Level), larger:
		m.full, m.grows = i.Name, now
	}
}

// shows reports whether an instance shows every data disk of its pool.
func (f *fullPools) shows(i *pool.Instance, p *pool.Pool) bool {
	shown := map[string]bool{}
	for _, name := range i.Pool.Data.Disks() {
		shown[name] = true
	}
	for _, name := range p.Data.Disks() {
		if len(shown) > 0 && !shown[name] {
			return false
		}
	}
	return true
}

// expansionDisks is how many disks a pool gets at once: a RAID group, or as many as a
// stripe begins with.
func (s *settings) expansionDisks() int {
	if s.raidType == pool.Stripe {
		return s.minCount
	}
	return s.groupSize
}

// rulePoolFull is the rule of the warning, which status counts.
const rulePoolFull = "pool-full"

// tellFull says of a pool that is to grow by itself why it cannot.
func (l *localDisks) tellFull(m *member, s *supply) {
	l.report(finding.Warning, rulePoolFull, "spec.poolConfig.poolExpansion",
		"the pool on node %s (CStorPoolInstance %s) is %d percent full, which is not below the threshold of %.0f percent, and cannot grow: awaiting %s, of %s or more, on its node, which has %d that can be used%s",
		m.name, m.full, m.grows.Level, l.cfg.Spec.PoolConfig.PoolExpansion.Threshold.Used*100,
		finding.Count(l.settings(m.name).expansionDisks(), "disk"), quantity.Size(l.settings(m.name).minCapacity), len(s.data), s.whyNot())
}

// usedPercent is how full a pool is, as far as its instance tells.
func usedPercent(i *pool.Instance) (percent float64, known bool) {
	if percent, err := strconv.ParseFloat(i.Object.Annotation(krm.AnnotationUsedPercent), 64); err == nil {
		return percent, true
	}
	capacity := i.Object.Node.Get("status", "capacity")
	total, err := resource.ParseQuantity(capacity.Str("total"))
	if err != nil || total.Sign() <= 0 {
		return 0, false
	}
	used, err := resource.ParseQuantity(capacity.Str("used"))
	if err != nil {
		return 0, false
	}
	return 100 * used.AsApproximateFloat64() / total.AsApproximateFloat64(), true
}
