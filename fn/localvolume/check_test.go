package localvolume

import "testing"

// TestMapped holds how long the device mapper's names are.
func TestMapped(t *testing.T) {
	for _, c := range []struct {
		vg, lv string
		want   int
	}{{"fast", "logs", 8}, {"fast-1", "logs-1", 14}, {"a-b", "", 4}} {
		if got := mapped(c.vg, c.lv); got != c.want {
			t.Errorf("%s/%s: %d, want %d", c.vg, c.lv, got, c.want)
		}
	}
}
