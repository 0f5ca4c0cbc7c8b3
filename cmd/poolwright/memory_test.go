package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// After the first collection garbage is collected at the usual pace, also where several
// put it off.
func TestCollectLate(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	pace := debug.SetGCPercent(123)
	limit := debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(pace)
		debug.SetMemoryLimit(limit)
	})
	collectLate()
	collectLate()
	if got := debug.SetMemoryLimit(-1); got != firstCollection {
		t.Fatalf("the first collection comes at %d bytes, not at %d", got, firstCollection)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
		if debug.SetMemoryLimit(-1) == math.MaxInt64 {
			if got := debug.SetGCPercent(pace); got != 123 {
				t.Fatalf("the pace is %d after the first collection, not what it was", got)
			}
			return
		}
	}
	t.Fatal("the usual pace does not come back")
}

// Whoever runs the program decides.
func TestCollectLateObeys(t *testing.T) {
	t.Setenv("GOGC", "50")
	limit := debug.SetMemoryLimit(-1)
	collectLate()
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("GOGC is set, and the limit became %d", got)
	}
}
