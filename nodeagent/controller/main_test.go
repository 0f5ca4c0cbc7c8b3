package controller_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/test/storcli"
)

// program is nodeagent, built by the first test that runs it.
var program struct {
	once sync.Once
	dir  string
	path string
	out  []byte // of the compiler
	err  error
}

// TestMain is storcli where it is run under that name.
func TestMain(m *testing.M) {
	if storcli.Is(os.Args[0]) {
		os.Exit(storcli.Main(os.Args[0], os.Args[1:], os.Stdout))
	}
	var err error
	if program.dir, err = os.MkdirTemp("", "nodeagent-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := fixture.LoopTests(m)
	_ = os.RemoveAll(program.dir)
	os.Exit(code)
}
