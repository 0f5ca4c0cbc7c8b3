package inventory

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// TestNamesAreThoseOfKubernetes holds the rules against Kubernetes' own.
func TestNamesAreThoseOfKubernetes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[a-zA-Z0-9._-]{0,6}`),
			rapid.StringMatching(`[a-z0-9]{60,64}`),
			rapid.Map(rapid.IntRange(250, 255), func(n int) string { return strings.Repeat("a", n) }),
			rapid.StringN(0, 8, -1),
		).Draw(t, "text")
		if want := len(validation.IsDNS1123Subdomain(text)) == 0; isSubdomain(text) != want {
			t.Errorf("%q is a name: %v, want %v", text, !want, want)
		}
		if want := len(validation.IsValidLabelValue(text)) == 0; text != "" && isLabelValue(text) != want {
			t.Errorf("%q is a value of a label: %v, want %v", text, !want, want)
		}
	})
}
