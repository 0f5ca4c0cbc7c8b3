package budget

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestBudget: whoever does not get what is left waits until there is enough, or no longer wants it.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		if err := b.Take(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
		impatient, end := context.WithCancel(t.Context())
		var second, third error
		var done [2]bool
		go func() { second, done[0] = b.Take(impatient, 4), true }()
		go func() { third, done[1] = b.Take(t.Context(), 10), true }()
		synctest.Wait()
		if done != [2]bool{} || b.Left() != 3 {
			t.Errorf("done %v, left %d", done, b.Left())
		}
		end()
		synctest.Wait()
		if !done[0] || second == nil {
			t.Error("the impatient one goes on waiting")
		}
		b.Give(7)
		synctest.Wait()
		if !done[1] || third != nil || b.Left() != 0 {
			t.Errorf("the third: %v, %v, left %d", done[1], third, b.Left())
		}
	})
}
