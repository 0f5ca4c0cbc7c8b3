package keeper

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestIdle: memory is given back once after judgements, and not while one runs or the next one begins soon.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := 0
		i := &idle{release: func() { released++ }}
		after := func(pause time.Duration, want int) {
			t.Helper()
			time.Sleep(pause)
			synctest.Wait()
			if released != want {
				t.Errorf("given back %d times, want %d", released, want)
			}
		}
		i.begin()
		i.begin()
		i.end()
		after(time.Minute, 0)
		i.end()
		after(idleAfter-time.Second, 0)
		i.begin()
		after(time.Minute, 0)
		i.end()
		after(idleAfter, 1)
		after(time.Hour, 1)
	})
}
