package remote

import "testing"

// TestSameDomain: a service of tokens is in the domain of its registry.
func TestSameDomain(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"registry.gitlab.com", "gitlab.com", true},
		{"index.docker.io", "auth.docker.io", true},
		{"registry.example.co.uk:5000", "GIT.example.co.uk", true},
		{"registry.example.com", "example.org", false},
		{"registry.example.co.uk", "other.co.uk", false},
		{"one.github.io", "two.github.io", false},
		{"registry", "registry:5001", true},
		{"registry", "tokens", false},
		{"10.0.0.1:5000", "10.0.0.1", true},
		{"10.0.0.1", "11.0.0.1", false},
		{"[fd00::1]:5000", "[fd00::1]", true},
	} {
		if got := sameDomain(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}
