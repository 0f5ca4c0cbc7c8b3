package main

import (
	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/plan"
)

// verb is a command of the program.
type verb struct {
	make  func(program) *cobra.Command
	wraps []wrapper // what it needs in a process of its own
	route *route    // how serve offers it, nil for not at all
}

type wrapper func(*cobra.Command) *cobra.Command

// route is what serve must know of a command that reads a package; its name, arguments and
// forms, and what its flags are, it knows from the command.
type route struct {
	flags  []string // those that are query parameters; never one that names a file, a cluster or a URL
	result any      // a value of the type that -o json prints
	listed bool     // which has the findings
}

// verbs lists the commands.
func verbs() []verb {
	return []verb{
		{make: newRender, wraps: []wrapper{severalDirs(aloneFlags{"output": {folder.Stdout}, "output-dir": nil}), collectingLate}},
		{make: newBuild, wraps: []wrapper{collectingLate}},
		{make: newVet, wraps: []wrapper{severalDirs(nil)}, route: &route{flags: []string{"output"}, result: []machineFinding{}, listed: true}},
		{make: newExplain, route: &route{flags: []string{"output", "chosen", "summary"}, result: []explanation{}}},
		{make: newPreview, route: &route{flags: []string{"output"}, result: machinePreview{}}},
		{make: newInventory, wraps: []wrapper{interruptible}},
		{make: newPlan, wraps: []wrapper{severalDirs(aloneFlags{"against": {againstRendered, againstLive}, "picture": nil}), interruptible, collectingLate}, route: &route{flags: []string{"output", "summary", "fail-on"}, result: plan.Record{}, listed: true}},
		{make: newStatus, wraps: []wrapper{severalDirs(aloneFlags{"watch": nil, "cluster": nil, "write": nil}), interruptible}, route: &route{flags: []string{"output", "namespace"}, result: []health.StatusRecord{}}},
		{make: newVerify, wraps: []wrapper{severalDirs(nil), interruptible}, route: &route{flags: []string{"output"}, result: machineVerification{}, listed: true}},
		{make: newTree, wraps: []wrapper{interruptible}, route: &route{flags: []string{"output", "namespace", "planned", "unhealthy"}, result: []health.TreeRecord{}}},
		{make: newSchema},
		{make: newInit},
		{make: newWhatIf, wraps: []wrapper{interruptible, collectingLate}, route: &route{flags: []string{"output", "every", "require"}, result: machineWhatIf{}}},
		{make: newForecast, wraps: []wrapper{collectingLate}},
		{make: newDoctor, wraps: []wrapper{interruptible}},
		{make: newConvert, wraps: []wrapper{interruptible}},
		{make: newFn, wraps: []wrapper{collectingLate}},
		{make: newServe},
		{make: newController, wraps: []wrapper{stoppable}},
		{make: newConsole},
		{make: newVersion},
	}
}
