package hypercloud

import "testing"

// TestReleases checks that the table has every release once, in order, with an image that the release runs.
func TestReleases(t *testing.T) {
	want := oldestRelease
	for _, r := range releases() {
		if r.release != want {
			t.Fatalf("the table has %s where %s is due", r.release, want)
		}
		want++
		if v, read := versionOf(r.image); !read || !v.exact || !r.release.fits(v) {
			t.Errorf("%s does not run its own image %s, or the image is not exact", r.release, r.image)
		}
	}
	if want != newestRelease+1 {
		t.Errorf("the table ends before %s", newestRelease)
	}
	if newer := (newestRelease + 1).documented(); newer.release != newestRelease {
		t.Errorf("a newer release is taken for %s", newer.release)
	}
}

func TestKeyTypeSince(t *testing.T) {
	for text, want := range map[string]bool{
		"1.14": false, "1.18.9": false, "1.19": true, "1.19.8": false, "1.19.9": true, "v1.19.11": true,
		"1.20": true, "1.20.4": false, "1.20.5": true, "1.20.6-rc.1": true, "1.21.0": true, "1.22": true,
	} {
		r, patch, exact := parsePatch(text)
		if got := withKeyType().in(r, patch, exact); got != want {
			t.Errorf("keyType in Rook %s: %t", text, got)
		}
	}
}
