package quantity

import (
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0", 1023: "1023", 1 << 30: "1Gi", 100 << 30: "100Gi", 3 << 39: "1.5Ti", 4000787030016: "3.639Ti", 1 << 60: "1024Pi"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"10Gi": 10 << 30, "1k": 1000, "1500m": 2, "": 0, "5x": 0, "10 Gi": 0, strings.Repeat("1", 65): 0} {
		if got := Bytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
