package pool

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Awaits says what a live CStorPoolCluster still waits for, "" once all its pools are healthy. The
// operator counts pools, and does not say for which spec: a count that is not that of the spec is from
// before the last change.
func Awaits(live *krm.Object) string {
	count := func(field string) int64 {
		n, _ := live.Node.Get("status", field).Int() // one that is zero is left out
		return n
	}
	desired, told := live.Node.Get("status", "desiredInstances").Int()
	wanted := int64(len(live.Node.Seq("spec", "pools")))
	switch made, healthy := count("provisionedInstances"), count("healthyInstances"); {
	case live.Annotation("reconcile.openebs.io/disable") == "true":
		return "the operator leaves it alone: annotation reconcile.openebs.io/disable is true"
	case !told:
		return "the operator has not seen it yet"
	case desired != wanted:
		return fmt.Sprintf("the operator has not seen the last change: the spec has %s, the status %d", finding.Count(int(wanted), "pool"), desired)
	case made != desired:
		return fmt.Sprintf("has %d of %s", made, finding.Count(int(desired), "pool"))
	case healthy != desired:
		return fmt.Sprintf("%d of %s are healthy", healthy, finding.Count(int(desired), "pool"))
	}
	return ""
}
