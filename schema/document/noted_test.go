package document

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAppendNoted(t *testing.T) {
	names := List()
	for range 9 {
		names.Add(Text("a-rather-long-name"))
	}
	n := Object(
		F("terms", List(Object(F("key", Text("zone")), F("values", List(Text("a"), Text("b,c")))))),
		F("names", names),
		F("pool", Object(F("raidType", Text("mirror")), F("none", Object()), F("count", Int(4)))),
		F("text", List(Text("a, b"), Text("a\nb"))),
	)
	const want = `terms:
- {key: zone, values: [a, "b,c"]}
names: [a-rather-long-name, a-rather-long-name, a-rather-long-name, a-rather-long-name,
  a-rather-long-name, a-rather-long-name, a-rather-long-name, a-rather-long-name,
  a-rather-long-name]
pool:
  raidType: mirror # default stripe
  none: {}
  count: 4
text:
- a, b
- |-
  a
  b
`
	got := string(AppendNoted(nil, &n, map[string]string{"pool.raidType": "default stripe"}))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNotedRoundTrip holds that what is written for people says the same.
func TestNotedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := anyNode(anyText(), 4).Draw(t, "node")
		notes := map[string]string{}
		for i := range n.Fields() {
			if rapid.Bool().Draw(t, "noted") {
				notes[n.Fields()[i].Key] = "a note"
			}
		}
		text := AppendNoted(nil, &n, notes)
		docs, err := Parse(&Source{Data: text})
		if err != nil || len(docs) != 1 || !Equal(&docs[0].Node, &n) {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
