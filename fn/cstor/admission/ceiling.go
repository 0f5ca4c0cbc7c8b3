package admission

// Kind is what the pools of a cluster are made of, all alike.
type Kind struct {
	Disks    int  // of a new pool, with its write cache
	Growth   int  // that a pool gets at once; 0 where none grows
	Group    int  // of a RAID group
	Replaces bool // whether a disk can be replaced: not in a stripe
}

// Ceiling is how large a cluster may get.
type Ceiling struct {
	Grows int // the most claimed disks with which a pool can grow for sure; negative for none
	Disks int // the most disks that it can come to, or can have, so that every step passes for sure
}

// Ceiling works out how large a cluster may get, so that the webhook answers every step in
// time. Of so many disks it has as many pools as there can be.
func (t Timeout) Ceiling(k Kind) Ceiling {
	c := Ceiling{Grows: -1}
	for n := 0; t.Allows(k.growth(n)); n++ {
		c.Grows = n
	}
	fits := func(disks int) bool {
		grows := k.Growth == 0 || disks-k.Growth <= c.Grows
		replaces := !k.Replaces || t.Allows(k.replacement(disks))
		return grows && replaces && t.Allows(k.settings(disks))
	}
	for fits(c.Disks + 1) {
		c.Disks++
	}
	return c
}

// For is the least timeout with which a cluster can get to so many disks; ok is false where the
// longest does not do.
func (k Kind) For(disks int) (t Timeout, ok bool) {
	for t.Seconds = 1; t.Seconds <= longestTimeout; t.Seconds++ {
		if t.Ceiling(k).Disks >= disks {
			return t, true
		}
	}
	return t, false
}

// Edit is an edit of a cluster, with what it costs.
type Edit struct {
	Name string // such as growth
	Cost Cost
}

// Edits are those that the cluster of some pools of the kind comes to, by the disks of each pool: its creation, if it does
// not exist, then that a pool grows, and that a disk is replaced.
func (k Kind) Edits(pools []int, create bool) []Edit {
	var edits []Edit
	disks := 0
	made := Cost{}
	for _, n := range pools {
		disks += n
		made.Pools = append(made.Pools, poolRequests(n, 0))
	}
	if create {
		edits = append(edits, Edit{"the creation", made})
	}
	if k.Growth > 0 {
		edits = append(edits, Edit{"growth", k.grown(Settings(pools), disks)})
	}
	if k.Replaces {
		edits = append(edits, Edit{"a replacement", k.replaced(Settings(pools), disks)})
	}
	return edits
}

// settings is an edit of the settings of a cluster of so many disks. To add or remove a pool
// of it takes no longer.
func (k Kind) settings(disks int) Cost {
	pools := make([]int, disks/k.Disks)
	for i := range pools {
		pools[i] = k.Disks
	}
	if len(pools) > 0 {
		pools[0] += disks % k.Disks // by which it has grown
	}
	return Settings(pools)
}

// growth is an edit by which a pool grows.
func (k Kind) growth(disks int) Cost {
	return k.grown(k.settings(disks), disks)
}

// grown adds growth to an edit of a cluster of so many disks.
func (k Kind) grown(c Cost, disks int) Cost {
	if len(c.Pools) > 0 {
		c.Pools[0] += poolRequests(k.Growth, 0)
	}
	c.Changed = growthRequests(disks, k.Growth)
	return c
}

// replacement is an edit by which a disk takes the place of another.
func (k Kind) replacement(disks int) Cost {
	return k.replaced(k.settings(disks), disks)
}

// replaced adds a replacement to an edit of a cluster of so many disks.
func (k Kind) replaced(c Cost, disks int) Cost {
	if len(c.Pools) > 0 {
		c.Pools[0]-- // the new disk has no claim yet
	}
	c.Changed = replacementRequests(disks, k.Group)
	return c
}

// Settings counts the requests of an edit that changes only settings, of pools with so many
// disks each. No edit of such pools takes less, so that a cluster for which there is no time
// for it cannot be edited at all.
func Settings(pools []int) Cost {
	c := Cost{Read: 1}
	for i, disks := range pools {
		c.Pools = append(c.Pools, poolRequests(disks, disks))
		c.Compared += pairing(i + 1)
	}
	return c
}

// Longest is the longest timeout that Kubernetes allows.
func Longest() Timeout { return Timeout{Seconds: longestTimeout} }
