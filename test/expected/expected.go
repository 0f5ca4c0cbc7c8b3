// Package expected marks what a test in Go holds a run of the product to. TestShown of test/findings takes these
// texts for shown, beside what scripts compare with what is printed: any other text in a test may be one that no
// run says.
package expected

import (
	"strings"
	"testing"
)

// Text is what a run is to say.
type Text string

// In fails the test unless a run said the text.
func (x Text) In(t testing.TB, got string) bool {
	t.Helper()
	if !strings.Contains(got, string(x)) {
		t.Errorf("got:\n%s\nwant:\n%s", got, x)
		return false
	}
	return true
}
