// Command poolwright turns declared storage intent, kept in Git, into every
// manifest that a Kubernetes storage system needs. It is the command line and
// the KRM function in one binary. Each verb has a file of its own, and is thin:
// the work is done in fn, schema, live and folder.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// Exit codes.
const (
	exitFine   = 0
	exitFailed = 1 // findings of severity error, or a failure
	exitUsage  = 2 // bad usage
	exitChange = 2 // of plan: there are changes
)

// streams are the standard streams: data goes to out, talk to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
	verbose  *bool // findings are not folded; nil for false

	reported *[]finding.Finding // gets all that are reported; nil for nobody
}

// program is what every verb works with.
type program struct {
	streams
	function *fn.Function
	memory   folder.Memory // the package, nil if it is on a disk
}

func main() {
	s := streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(guard(s.err, func() int { return run(os.Args[1:], s) }))
}

// guard makes a panic a failure: Go would end the program with the exit code of
// bad usage.
func guard(w io.Writer, work func() int) (code int) {
	defer func() {
		if p := recover(); p != nil {
			text := strings.ReplaceAll(fmt.Sprint(p), "\n", " ")
			terminal.Printf(w, "poolwright: %s; this is a mistake in Poolwright, please report it\n", text)
			_, _ = w.Write(debug.Stack())
			code = exitFailed
		}
	}()
	return work()
}

func run(args []string, s streams) int {
	return program{streams: s, function: fn.New(schema.Load(), systems.All()...)}.run(args)
}

func (p program) run(args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	verb, err := root.ExecuteC()
	var bad *folder.UsageError
	switch {
	case err == nil, errors.Is(err, errFindings), errors.Is(err, errChanges):
	case errors.As(err, &bad):
		complain(p.err, err)
		terminal.Printf(p.err, "See %q.\n", verb.CommandPath()+" --help")
	default:
		complain(p.err, err)
	}
	if bad != nil && verb.Name() == "plan" {
		return exitFailed // 2 is for changes: a pipeline reads nothing but the code
	}
	return exitOf(err)
}

// exitOf is the exit code that an error of a verb gives.
func exitOf(err error) int {
	var bad *folder.UsageError
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errChanges):
		return exitChange
	case errors.As(err, &bad):
		return exitUsage
	}
	return exitFailed
}

// complain prints an error on one line. It may quote what an API server or a file
// says.
func complain(w io.Writer, err error) { terminal.Println(w, "poolwright:", err) }

// errFindings stands for findings of severity error, which are printed already.
var errFindings = errors.New("findings of severity error")

// errVerdict is errFindings that forbid no render: they are about the storage, or about a plan.
var errVerdict = fmt.Errorf("%w, none of which forbids a render", errFindings)

// verdict makes an error of findings one that forbids no render.
func verdict(err error) error {
	if errors.Is(err, errFindings) {
		return errVerdict
	}
	return err
}

// usage is a mistake in how the command was called.
func usage(format string, args ...any) error {
	return &folder.UsageError{Msg: fmt.Sprintf(format, args...)}
}
