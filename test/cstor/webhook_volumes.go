package cstor

import (
	"fmt"
	"slices"
)

// refusal is an answer of the webhook in its own words, which are not those of Go.
type refusal string

func (r refusal) Error() string { return string(r) }

// reviewVolume judges an edit of a CStorVolumeConfig, as pkg/webhook/cvc.go of cstor-operators 3.6
// does.
func (webhook) reviewVolume(old, wanted *VolumeConfig) error {
	if a, b := old.Spec.Provision.ReplicaCount, wanted.Spec.Provision.ReplicaCount; a != b {
		return fmt.Errorf("cvc %s replicaCount got modified from %d to %d", old.Name, a, b)
	}
	before, placed, now := old.Spec.pools(), old.Status.PoolInfo, wanted.Spec.pools()
	gone := minus(placed, now)
	switch {
	case old.Status.Phase != "Bound" && wanted.Status.Phase != "Bound" && len(placed) != len(now):
		return refusal("Can't perform scaling of volume replicas when CVC is not in Bound state")
	case len(now) >= len(placed) && len(gone) > 0:
		return fmt.Errorf("volume replica migration directly by modifying pool names %v is not yet supported", gone)
	case len(now) < len(placed) && len(gone) > 1:
		return refusal(fmt.Sprintf("Can't perform more than one replica scale down requested scale down count %d", len(gone)))
	case len(before) != len(placed) && len(before) != len(now): // of a list under way names may change
		return fmt.Errorf("scaling of CVC %s is already in progress", old.Name)
	}
	for i, name := range now {
		if slices.Contains(now[:i], name) {
			return fmt.Errorf("duplicate pool names %v found under spec of cvc %s", now, old.Name)
		}
	}
	return nil
}
