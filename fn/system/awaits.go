package system

import (
	"cmp"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
)

// Awaits says what an applied object still waits for, "" once it is ready. Poolwright's own objects are
// records: nothing waits for them.
func (k *Kinds) Awaits(live *krm.Object) string {
	kind, _ := k.Find(live.GroupKind())
	switch {
	case live.Deleting():
		return "is being deleted"
	case kind.Awaits != nil:
		return kind.Awaits(live)
	case kind.Role == RoleLock || kind.Role == RoleSpec:
		return ""
	}
	return health.Awaits(live)
}

// awaitsAttached is that of a VolumeAttachment.
func awaitsAttached(live *krm.Object) string {
	status := live.Node.Get("status")
	attached, _ := status.Get("attached").Bool()
	switch {
	case !attached:
		return "is not attached yet: " + cmp.Or(status.Str("attachError", "message"), "the attacher has not done it")
	case status.Get("detachError") != nil:
		return "is not detached yet: " + cmp.Or(status.Str("detachError", "message"), "no reason given")
	}
	return ""
}

// awaitsSynced is that of an Application of Argo CD.
func awaitsSynced(live *krm.Object) string {
	status := live.Node.Get("status")
	switch {
	case status.Str("sync", "status") != "Synced":
		return "is not synced yet"
	case status.Str("health", "status") != "Healthy":
		return "is synced and not healthy: " + cmp.Or(status.Str("health", "message"), status.Str("health", "status"), "no health given")
	}
	return ""
}
