package quantity

import "testing"

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0", 1023: "1023", 1 << 30: "1Gi", 100 << 30: "100Gi", 3 << 39: "1.5Ti", 4000787030016: "3.639Ti", 1 << 60: "1024Pi"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}
