package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
)

// devices reads "name:gib" or "name:gib:SSD".
func devices(text string) []*inventory.BlockDevice {
	var all []*inventory.BlockDevice
	for field := range strings.FieldsSeq(text) {
		d := &inventory.BlockDevice{DeviceType: "disk", DriveType: "HDD"}
		name, rest, _ := strings.Cut(field, ":")
		size, drive, found := strings.Cut(rest, ":")
		if found {
			d.DriveType = drive
		}
		d.Name = name
		if _, err := fmt.Sscan(size, &d.Capacity); err != nil {
			panic(err) // a mistake in the test
		}
		d.Capacity <<= 30
		all = append(all, d)
	}
	return all
}

func deviceNames(all []*inventory.BlockDevice) string {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

func smallest(a, b *inventory.BlockDevice) int {
	return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(a.Name, b.Name))
}

func TestGroups(t *testing.T) {
	tests := []struct {
		name, candidates string
		groups, size     int
		want             string
	}{
		{"too few", "a:100", 1, 2, ""},
		{"none wanted", "a:100", 0, 2, ""},
		{"the smallest", "a:300 b:100 c:200", 1, 1, "b"},
		{"one size before the smallest", "a:100 b:200 c:300 d:300", 1, 2, "c d"},
		{"the least difference", "a:100 b:190 c:200 d:300", 1, 2, "b c"},
		{"by name where all is equal", "b:100 a:100 c:100", 1, 2, "a b"},
		{"one type before one size", "a:100 b:100:SSD c:200", 1, 2, "a c"},
		{"a type that fills all groups", "a:100 b:100 c:200:SSD d:200:SSD e:300:SSD f:300:SSD", 2, 2, "c d e f"},
		{"a type for each group", "a:100 b:100 c:200:SSD d:200:SSD", 2, 2, "a b c d"},
		{"mixed where nothing else is left", "a:100 b:200:SSD", 1, 2, "a b"},
	}
	for _, test := range tests {
		candidates := devices(test.candidates)
		got := deviceNames(Groups(candidates, test.groups, test.size, smallest))
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		slices.Reverse(candidates)
		if again := deviceNames(Groups(candidates, test.groups, test.size, smallest)); again != got {
			t.Errorf("%s: %q in another order", test.name, again)
		}
	}
}

// Whatever is picked, it is all there, none of it twice, in whole groups.
func TestGroupsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []string
		for i := range rapid.IntRange(0, 12).Draw(t, "devices") {
			text = append(text, fmt.Sprintf("d%d:%d:%s", i, rapid.IntRange(1, 3).Draw(t, "gib")*100, rapid.SampledFrom([]string{"HDD", "SSD"}).Draw(t, "drive")))
		}
		candidates := devices(strings.Join(text, " "))
		groups, size := rapid.IntRange(1, 4).Draw(t, "groups"), rapid.IntRange(1, 4).Draw(t, "size")
		picked := Groups(candidates, groups, size, smallest)
		if len(candidates) < groups*size {
			if picked != nil {
				t.Fatal("too few devices make groups")
			}
			return
		}
		seen := map[*inventory.BlockDevice]bool{}
		for _, d := range picked {
			if seen[d] || !slices.Contains(candidates, d) {
				t.Fatalf("%s is not there, or twice", d.Name)
			}
			seen[d] = true
		}
		if len(picked) != groups*size {
			t.Fatalf("%d devices in %d groups of %d", len(picked), groups, size)
		}
		if again := Groups(rapid.Permutation(candidates).Draw(t, "order"), groups, size, smallest); deviceNames(again) != deviceNames(picked) {
			t.Fatalf("%s, in another order %s", deviceNames(picked), deviceNames(again))
		}
	})
}
