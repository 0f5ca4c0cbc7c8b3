package document

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sideBySide reads a source with one reader and with several, and fails where the two do
// not agree in everything.
func sideBySide(t rapid.TB, data []byte) {
	t.Helper()
	one, oneErr := parseAt(&Source{Name: "f.yaml", Data: data}, pace{})
	for readers := 2; readers <= 4; readers++ {
		several, err := parseAt(&Source{Name: "f.yaml", Data: data}, pace{readers: readers, bytes: 1})
		if (err == nil) != (oneErr == nil) || err != nil && err.Error() != oneErr.Error() {
			t.Fatalf("%q: %d readers say %v, one says %v", data, readers, err, oneErr)
		}
		if len(several) != len(one) {
			t.Fatalf("%q: %d readers find %d documents, one finds %d", data, readers, len(several), len(one))
		}
		for i := range one {
			if diff := differ(&several[i].Node, &one[i].Node, ""); diff != "" {
				t.Fatalf("%q: %d readers: %s", data, readers, diff)
			}
		}
	}
}

func TestAhead(t *testing.T) {
	item := "- a: 1\n  b:\n  - x\n  - y\n"
	for name, text := range map[string]string{
		"a list":            strings.Repeat(item, 9),
		"a list in a map":   "items:\n" + strings.Repeat(item, 9) + "after: 1\n",
		"two lists":         "one:\n- a\n- b\ntwo:\n" + strings.Repeat(item, 9) + "three:\n- c\n- d\n",
		"lists in lists":    strings.Repeat("- - a\n  - b\n- - c\n", 9),
		"items in a text":   "- |\n  x\n" + strings.Repeat("  - not an item\n  - nor this\n", 9) + "- a\n",
		"items in a quote":  "- a\n- \"x\n" + strings.Repeat("  - no\n", 9) + "  y\"\n- b\n",
		"lines of a scalar": "- a\n- b\n  c\n" + strings.Repeat("  - d\n", 9) + "- e\n",
		"comments":          strings.Repeat("- a\n# - no\n\n- b # c\n", 9),
		"CRLF":              strings.Repeat("- a\r\n- b: c\r\n", 9),
		"a mistake above":   "- a: b: c\n" + strings.Repeat(item, 9),
		"a mistake below":   strings.Repeat(item, 9) + "- a: b: c\n",
		"a key set twice":   strings.Repeat(item, 9) + "- a: 1\n  a: 2\n",
		"an anchor below":   strings.Repeat(item, 9) + "- &x a\n- *x\n",
		"documents":         strings.Repeat("---\n"+strings.Repeat(item, 3), 4),
		"deeper than wide":  strings.Repeat("- ", 999) + "a\n" + strings.Repeat("- b\n", 999),
		"an Inventory":      string(inventory(3, 4)),
	} {
		t.Run(name, func(t *testing.T) { sideBySide(t, []byte(text)) })
	}
}

// TestAheadAnyTree holds the same for whatever the encoder writes.
func TestAheadAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(anyNode(anyText(), 3), 2, 12).Draw(t, "items")
		n := Object(F("a", anyNode(anyText(), 2).Draw(t, "a")), F("items", List(items...)))
		sideBySide(t, Append(nil, &n, rapid.SampledFrom([]int{0, 2}).Draw(t, "indent")))
	})
}

// TestNobodyAhead holds that whoever reads ahead has ended when a source is read, also
// one that has a mistake.
func TestNobodyAhead(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, text := range []string{"- a: b: c\n" + strings.Repeat("- a\n", 100_000), strings.Repeat("- a\n", 100_000), "- |\n" + strings.Repeat("  - a\n", 100_000)} {
		_, _ = parseAt(&Source{Name: "x.yaml", Data: []byte(text)}, pace{readers: 4, bytes: 1})
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if runtime.NumGoroutine() <= before { // one that is done may not be gone yet
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
