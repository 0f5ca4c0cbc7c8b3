package schema

import (
	"encoding/json"
	"fmt"
	"go/format"
	"strings"
	"testing"

	"cuelang.org/go/cue"

	"github.com/poolwright/poolwright/schema/raid"
)

// TestRaidTable holds that package raid says what the definitions say, and with
// -update writes its table.
func TestRaidTable(t *testing.T) {
	c := Load().sources.compile()
	table, err := c.definition(definitionName{"common", "#Raid"}).Fields()
	if err != nil {
		t.Fatal(err)
	}
	var cases strings.Builder
	for table.Next() {
		var rule struct {
			Sizes   []int
			Several bool
		}
		text, err := table.Value().MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &rule)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&cases, "case %q:\nreturn rule{sizes: %#v, several: %v}\n", table.Selector(), rule.Sizes, rule.Several)
	}
	text, err := format.Source([]byte("// Code generated from schema/cue/common/raid.cue by make generate. DO NOT EDIT.\n\npackage raid\n\n" +
		"func rules(raidType string) rule {\nswitch raidType {\n" + cases.String() + "}\nreturn rule{}\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "raid/table.go", text)
}

// Every size that a group may have by the definitions, and no other.
func TestRaidGroups(t *testing.T) {
	s := Load().sources.compile()
	group := s.definition(definitionName{"common", "#OneGroup"})
	for _, raidType := range []string{"stripe", "mirror", "raidz", "raidz2"} {
		for size := range 70 {
			v := group.FillPath(cue.ParsePath("type"), raidType).FillPath(cue.ParsePath("size"), size)
			want, err := v.LookupPath(cue.ParsePath("ok")).Bool()
			if err != nil {
				t.Fatal(err)
			}
			if got := raid.IsGroup(raidType, size); got != want {
				t.Errorf("%d disks as a group of %s: got %v, the definitions say %v", size, raidType, got, want)
			}
		}
	}
	if raid.IsGroup("raid0", 2) {
		t.Error("raid0 has groups")
	}
}
