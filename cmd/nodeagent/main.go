// Nodeagent manages the disks of one node: it reports them as a NodeInventory, and carries out
// the Volumes and VolumeGroups of the node. It is the only program of Poolwright that may touch a
// disk; docs/node-agent.md says what it may do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
)

var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// flags are those of every verb.
type flags struct {
	root     string
	node     string
	deadline time.Duration
}

// host is the node, whose devices are read in processes of their own.
func (f *flags) host() host.Host {
	h := host.New(f.root)
	h.Apart = &apart.Pool{Deadline: f.deadline, Command: func(args ...string) *exec.Cmd { return exec.Command("/proc/self/exe", args...) }}
	return h
}

// readCommand is the process that reads devices.
func readCommand() *cobra.Command {
	return &cobra.Command{
		Use: "read", Short: "Read devices on request of the parent process", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// It ends with what it reads, also where the caller was stopped.
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return apart.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), slices.Concat(device.Jobs(), facts.Jobs())...)
		},
	}
}

// wipeCommand is the process that erases a device, which is open already.
func wipeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "wipe", Short: "Erase the device that the parent process has opened", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM)
			return guard.ServeWipe(args[0])
		},
	}
}

func rootCommand() *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:           "nodeagent",
		Short:         "Manage the disks of this node",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	hostname, _ := os.Hostname()
	if name := os.Getenv("NODE_NAME"); name != "" {
		hostname = name
	}
	root.PersistentFlags().StringVar(&f.root, "root", defaultRoot(), "path of the node's root filesystem")
	root.PersistentFlags().StringVar(&f.node, "node", hostname, "name of the Node object (NODE_NAME)")
	root.PersistentFlags().DurationVar(&f.deadline, "deadline", apart.Deadline, "time limit for a device to answer a read")
	root.AddCommand(inspectCommand(&f), planCommand(&f), runCommand(&f), attachCommand(&f), readCommand(), wipeCommand())
	return root
}

// defaultRoot is that of process 1 in a container, which is the node's where the pod has
// hostPID.
func defaultRoot() string {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "/proc/1/root"
	}
	return "/"
}
