package main

import (
	"errors"
	"strings"
	"testing"
)

// A panic is a failure, not bad usage, and asks to be reported.
func TestGuard(t *testing.T) {
	var talk strings.Builder
	if code := guard(&talk, func() int { return exitUsage }); code != exitUsage || talk.Len() > 0 {
		t.Errorf("without a panic: %d, %q", code, talk.String())
	}
	code := guard(&talk, func() int { panic("two\nlines") })
	first, stack, _ := strings.Cut(talk.String(), "\n")
	if code != exitFailed || first != "poolwright: two lines; this is a mistake in Poolwright, please report it" || !strings.Contains(stack, "TestGuard") {
		t.Errorf("%d, %q", code, talk.String())
	}
}

// An error of several lines stays so, and cannot steer a terminal.
func TestComplain(t *testing.T) {
	var talk strings.Builder
	complain(&talk, errors.New("one\n\x1b[2Jtwo"))
	if want := "poolwright: one\\n\\x1b[2Jtwo\n"; talk.String() != want {
		t.Errorf("%q, want %q", talk.String(), want)
	}
}
