package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// firstCollection is how much memory a command that ends by itself uses, in bytes, before
// its garbage is collected. A package of 1,000 nodes with 24 disks each takes less: most
// of what it allocates is in use until the end, so that to look for garbage on the way
// costs a fifth of the time and finds little.
const firstCollection = 208 << 20

// collectLate puts off the first collection. After it the runtime goes on at its usual
// pace, so that what needs more memory than that does not collect all the time. Whoever
// sets GOGC or GOMEMLIMIT decides.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	pace := debug.SetGCPercent(-1)
	if pace < 0 {
		return // it is put off already
	}
	debug.SetMemoryLimit(firstCollection)
	runtime.AddCleanup(new(garbage), func(pace int) {
		debug.SetGCPercent(pace)
		debug.SetMemoryLimit(math.MaxInt64)
	}, pace)
}

// collectingLate has a verb do that.
func collectingLate(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		collectLate()
		return run(cmd, args)
	}
	return cmd
}

// garbage is what the first collection finds.
type garbage struct{ _ *byte }
