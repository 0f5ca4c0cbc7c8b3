package fn

import (
	"iter"
	"strings"
	"sync/atomic"
	"testing"
)

func TestShare(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		times := make([]atomic.Int32, n)
		share(n, func(mine iter.Seq[int]) {
			for i := range mine {
				times[i].Add(1)
			}
		})
		for i := range times {
			if got := times[i].Load(); got != 1 {
				t.Errorf("of %d, %d was given out %d times", n, i, got)
			}
		}
	}
}

// A panic in another goroutine would end the program without a word of ours.
func TestSharePanics(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "number 7") {
			t.Errorf("it panicked with %q", text)
		}
	}()
	share(100, func(mine iter.Seq[int]) {
		for i := range mine {
			if i == 7 {
				panic("number 7")
			}
		}
	})
	t.Error("it did not panic")
}
