package pool

import (
	"cmp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/krm"
)

// Free is how much space the pool has left, in bytes: as it says itself, or by the share
// of it that a snapshot keeps. known is false where neither is there.
func (i *Instance) Free() (bytes int64, known bool) {
	capacity := i.Object.Node.Get("status", "capacity")
	if free, err := resource.ParseQuantity(capacity.Str("free")); err == nil {
		return free.Value(), true
	}
	total, err := resource.ParseQuantity(capacity.Str("total"))
	if err != nil {
		return 0, false
	}
	used, err := strconv.ParseInt(i.Object.Annotation(krm.AnnotationUsedPercent), 10, 64)
	if err != nil || used < 0 || used > 100 {
		return 0, false
	}
	return total.Value() / 100 * (100 - used), true
}

// Space is how much of the pool is used, in bytes, and how much it has; a total of 0 where
// nobody says.
func (i *Instance) Space() (used, total int64) {
	free, known := i.Free()
	q, err := resource.ParseQuantity(i.Object.Node.Str("status", "capacity", "total"))
	if err != nil || !known || q.Value() <= 0 || free < 0 {
		return 0, 0
	}
	return max(0, q.Value()-free), q.Value()
}

// Size is how much the pool holds, in bytes; 0 where it does not tell.
func (i *Instance) Size() int64 {
	total, err := resource.ParseQuantity(i.Object.Node.Str("status", "capacity", "total"))
	if err != nil || total.Sign() < 0 {
		return 0
	}
	return total.Value()
}

// RefusesReplicas says why the pool takes no new replica, or "".
func (i *Instance) RefusesReplicas() string {
	switch {
	case i.Object.Deleting():
		return "it is being deleted"
	case i.Phase != "ONLINE":
		return "it is " + cmp.Or(i.Phase, "not there yet") + ", not ONLINE"
	case i.ReadOnly():
		return "it is read-only"
	}
	return ""
}

// ReadOnly reports whether the pool takes no writes.
func (i *Instance) ReadOnly() bool { return i.Object.Node.Str("status", "readOnly") == "true" }
