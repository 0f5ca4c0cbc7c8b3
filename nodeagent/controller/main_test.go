package controller_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
)

func TestMain(m *testing.M) {
	loops, err := tool.Exclusive("loops") // the agents see those of other tests, too
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = loops.Close()
	os.Exit(code)
}
