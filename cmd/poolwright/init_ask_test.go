package main

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

// A wrong answer is asked for again, and where the input ends the rest is left to the
// defaults.
func TestAskAll(t *testing.T) {
	var nodes, raid, last string
	var out strings.Builder
	questions := []question{{"Nodes", &nodes}, {"RAID", &raid}, {"Last", &last}}
	check := func() error {
		if nodes == "wrong" {
			return errors.New("not so")
		}
		return nil
	}
	if err := askAll(bufio.NewReader(strings.NewReader("wrong\n a=b \n\n")), &out, questions, check); err != nil {
		t.Fatal(err)
	}
	if nodes != "a=b" || raid != "" || last != "" {
		t.Errorf("%q, %q, %q", nodes, raid, last)
	}
	if want := "Nodes: not so\nNodes: RAID: Last: \n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
