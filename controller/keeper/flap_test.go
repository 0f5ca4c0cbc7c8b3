package keeper

import (
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestRests: what flaps is held back until it is the same for the window, whatever else changes meanwhile.
func TestRests(t *testing.T) {
	const window = time.Hour
	begin := time.Now()
	a, b := field{name: "a", value: [32]byte{1}}, field{name: "b"}
	var r rests
	look := func(minutes int, again string, fields ...field) string {
		t.Helper()
		now := begin.Add(time.Duration(minutes) * time.Minute)
		r.see(fields, now, window)
		name, until := r.hold(fields, map[string]bool{again: true}, window)
		if name != "" && !until.After(now) {
			t.Errorf("minute %d: %s is held back until %v, which is over", minutes, name, until)
		}
		return name
	}
	for _, c := range []struct {
		minutes int
		again   string // what changes for the third time
		fields  []field
		want    string
	}{
		{0, "", []field{a}, ""},
		{1, "a", []field{a, b}, "a"},
		{50, "", []field{a}, "a"}, // b goes
		{55, "", []field{a, b}, "a"},
		{61, "", []field{a, b}, ""}, // a was last seen to change in minute 0
		{70, "a", []field{{name: "a"}, b}, "a"},
		{100, "", nil, ""}, // as it was published
		{120, "", []field{{name: "a"}}, "a"},
		{179, "", []field{{name: "a"}}, "a"},
		{180, "", []field{{name: "a"}}, ""},
		{190, "a", []field{a}, "a"},
		{200, "", nil, ""},
		{261, "", nil, ""}, // it has rested
		{262, "", []field{a}, ""},
	} {
		if got := look(c.minutes, c.again, c.fields...); got != c.want {
			t.Errorf("minute %d: %q is held back, want %q", c.minutes, got, c.want)
		}
	}
}

// TestFieldValues: a field is known by what it is to be.
func TestFieldValues(t *testing.T) {
	value := func(text string) field {
		old, new := configMap(t, "one"), configMap(t, text)
		fields := changedFields(change.Between([]*krm.Object{old}, []*krm.Object{new}))
		if len(fields) != 1 {
			t.Fatalf("%s: %v", text, fields)
		}
		return fields[0]
	}
	two, again := value("two"), value("two")
	if two != again || two == value("three") {
		t.Error("a value is not known again, or another one is taken for it")
	}
}

func configMap(t *testing.T, text string) *krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: " + text + "}}")})
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}
