package cstor

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// expansion is poolConfig.poolExpansion, completed.
type expansion struct {
	Disable   bool `json:"disable"`
	Threshold struct {
		Used float64 `json:"used-capacity"` // above 0 and at most 1
	} `json:"threshold"`
}

// rulePoolFull is the rule of the warning, which status counts.
const rulePoolFull = "pool-full"

// warnOfFullPools says which pools are above the threshold of poolExpansion: none grows by
// itself yet.
func warnOfFullPools(in *input, members []*member) {
	e := in.cfg.Spec.PoolConfig.PoolExpansion
	if e == nil || e.Disable || e.Threshold.Used <= 0 {
		return
	}
	threshold := e.Threshold.Used * 100
	for _, m := range members {
		i := in.live.instances[m.hostname]
		if i == nil {
			continue
		}
		if percent, known := usedPercent(i); known && percent > threshold {
			in.report(finding.Warning, rulePoolFull, "spec.poolConfig.poolExpansion",
				"the pool on node %s (CStorPoolInstance %s) is %.0f percent full, above the threshold of %.0f percent, and does not grow by itself yet: raise spec.diskConfig.minCount",
				m.name, i.Name, math.Floor(percent), threshold)
		}
	}
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
