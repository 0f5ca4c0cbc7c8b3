package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// stoppable has the context of a verb end when the program is interrupted, so that the verb can clear up. A
// second time ends the program at once, as it does without this.
func stoppable(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		cmd.SetContext(ctx)
		return run(cmd, args)
	}
	return cmd
}

// interruptible is stoppable for a verb that is not to run until it is stopped: one that was has failed.
func interruptible(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if ctx := cmd.Context(); ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
			return errors.New("interrupted") // whatever was asked just then
		}
		return err
	}
	return stoppable(cmd)
}
