package schema

import (
	"encoding/json"
	"fmt"
	"go/format"
	"strings"
	"testing"
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
