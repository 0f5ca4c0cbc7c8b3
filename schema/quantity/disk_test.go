package quantity

import (
	"testing"
)

// TestIsDisk holds when a disk is as large as is written: exactly in bytes, else
// rounded to the unit that is written.
func TestIsDisk(t *testing.T) {
	for _, c := range []struct {
		size  string
		bytes int64
		want  bool
	}{
		{"214748364800", 214748364800, true},
		{"214748364800", 214748364801, false},
		{"200Gi", 214748364800, true},
		{"200Gi", 214748364800 + 100<<20, true},
		{"200Gi", 214748364800 + 600<<20, false},
		{"4T", 4000787030016, true},
		{"4Ti", 4000787030016, true},
		{"3Ti", 4000787030016, false},
		{"960G", 960197124096, true},
		{"961G", 960197124096, false},
		{"1.8T", 1800360124416, true},
		{"1.9T", 1800360124416, false},
		{"7.277Ti", 8001563222016, true},
		{"7.3Ti", 8001563222016, true},
		{"7.2Ti", 8001563222016, false},
		{"1e12", 1000000000000, true},
		{"1e12", 1000000000001, false},
	} {
		if got, err := IsDisk(c.bytes, c.size); got != c.want || err != nil {
			t.Errorf("%s is %d: %v, %v", c.size, c.bytes, got, err)
		}
	}
	if _, err := IsDisk(1, "a lot"); err == nil {
		t.Error("a lot is a size")
	}
}
