package raid

import (
	"slices"
	"testing"
)

// The sizes that the cStor webhook takes.
func TestIsGroup(t *testing.T) {
	for raidType, want := range map[string][]int{
		"stripe": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"mirror": {2, 4, 6, 8, 10, 12},
		"raidz":  {3, 5, 9},
		"raidz2": {6, 10},
		"raid0":  nil,
		"":       nil,
	} {
		var got []int
		for disks := range 13 {
			if IsGroup(raidType, disks) {
				got = append(got, disks)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("groups of %q have %v disks, want %v", raidType, got, want)
		}
	}
}
