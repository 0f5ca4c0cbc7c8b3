package cstor

import (
	"fmt"
	"slices"
)

// refusal is an answer of the webhook in its own words, which are not those of Go.
type refusal string

func (r refusal) Error() string { return string(r) }

// reviewVolume judges an edit of a CStorVolumeConfig.
func (webhook) reviewVolume(old, wanted *VolumeConfig) error {
	if a, b := old.Spec.Provision.ReplicaCount, wanted.Spec.Provision.ReplicaCount; a != b {
		return fmt.Errorf("cvc %s replicaCount got modified from %d to %d", old.Name, a, b)
	}
	before, now := old.Spec.pools(), wanted.Spec.pools()
	for i, name := range now {
		if slices.Contains(now[:i], name) {
			return fmt.Errorf("duplicate pool names %v found under spec of cvc %s", []string{name}, old.Name)
		}
	}
	out, in := minus(before, now), minus(now, before)
	switch {
	case len(out)+len(in) == 0:
		return nil
	case old.Status.Phase != "Bound":
		return fmt.Errorf("scaling of CVC %s is not allowed: it is not Bound", old.Name)
	case len(out) > 0 && len(in) > 0:
		return fmt.Errorf("volume replica migration directly by modifying pool names %v is not yet supported", in)
	case len(out) > 1:
		return refusal(fmt.Sprintf("Can't perform more than one replica scale down requested scale down count %d", len(out)))
	case len(minus(before, old.Status.PoolInfo))+len(minus(old.Status.PoolInfo, before)) > 0:
		return fmt.Errorf("scaling of CVC %s is already in progress", old.Name)
	}
	return nil
}
