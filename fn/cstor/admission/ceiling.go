package admission

// What the webhook asks for about a cluster of n claimed disks, at most: Cost says it of an edit.

// growthRequests is for k disks that come into pools which are there.
func growthRequests(n, k int) int { return 2*n + k + k*(1+n) }

// replacementRequests is for a disk of a RAID group of g that is replaced.
func replacementRequests(n, g int) int { return 3*n + g + 5 }

// additionRequests is for a pool of k disks that comes.
func additionRequests(n, k int) int { return 2*n + k }

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

// Ceiling works out how large a cluster may get, so that the webhook answers every step in time.
func (t Timeout) Ceiling(k Kind) Ceiling {
	c := Ceiling{Grows: -1}
	for n := 0; t.Allows(growthRequests(n, k.Growth)); n++ {
		c.Grows = n
	}
	fits := func(disks int) bool {
		grows := k.Growth == 0 || disks-k.Growth <= c.Grows
		replaces := !k.Replaces || t.Allows(replacementRequests(disks, k.Group))
		return grows && replaces && t.Allows(additionRequests(max(0, disks-k.Disks), k.Disks)) && t.Allows(additionRequests(disks, 0))
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

// Longest is the longest timeout that Kubernetes allows.
func Longest() Timeout { return Timeout{Seconds: longestTimeout} }
