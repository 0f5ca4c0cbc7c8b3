package cstor

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
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

// grown is how a pool grew by itself, as its storage set remembers it: a pool that is still
// shown as full as it was is not made larger once more.
type grown struct {
	count int   // how often
	disks int   // how many data disks it has then
	level int   // how full it was when the last was decided, in percent
	size  int64 // what it held then, in bytes; 0 where that was not known
	below bool  // it was seen below the threshold since then, where its size does not show that it has grown
}

func readGrown(n *d.Node) grown {
	number := func(key string) int64 { v, _ := n.Get(key).Int(); return v }
	g := grown{count: int(number("count")), disks: int(number("disks")), level: int(number("level")), size: number("size")}
	g.below, _ = n.Get("below").Bool()
	return g
}

// rememberGrowth notes that a pool of cloud disks has grown, whose storage set does not know
// it: it has more of them than the spec gives a new pool. It grows again once it was seen below
// the threshold.
func (l *lock) rememberGrowth(p *nodePool, wanted *settings) {
	set, have := l.sets[p.node], len(p.Data.Disks())
	if !wanted.external() || have <= max(wanted.minCount, set.grown.disks) {
		return
	}
	set.grown = grown{count: set.grown.count + 1, disks: have, level: set.grown.level}
	l.sets[p.node] = set
}

// node writes it down.
func (g grown) node() d.Node {
	n := d.Object(d.F("count", d.Int(int64(g.count))), d.F("disks", d.Int(int64(g.disks))), d.F("level", d.Int(int64(g.level))))
	if g.size > 0 {
		n.Set("size", d.Int(g.size))
	}
	if g.below {
		n.Set("below", d.Bool(true))
	}
	return n
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
	m.grown = f.lock.sets[m.name].grown
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
	larger := m.grown.size > 0 && size > m.grown.size // what it grew by is in use
	now := grown{count: m.grown.count + 1, disks: len(m.before.Data.Disks()) + f.settings(m.name).expansionDisks(), level: int(percent), size: size}
	switch {
	case percent < f.threshold():
		if m.grown.count > 0 && !larger && m.grown.disks <= len(m.before.Data.Disks()) && f.shows(i, m.before.Pool) {
			m.grown.below = true
		}
	case f.cfg.Spec.PoolConfig.PoolExpansion.Disable:
		f.report(finding.Info, "expansion-disabled", "spec.poolConfig.poolExpansion",
			"the pool on node %s (CStorPoolInstance %s) is %.0f percent full, and poolExpansion is disabled: it does not grow", m.name, i.Name, math.Floor(percent))
	case m.grown.disks > len(m.before.Data.Disks()): // the last has not come about
	case m.grown.count == 0, m.grown.below, percent < float64(m.grown.level), larger:
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
		m.name, m.full, m.grows.level, l.cfg.Spec.PoolConfig.PoolExpansion.Threshold.Used*100,
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
