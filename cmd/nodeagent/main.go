// Nodeagent looks after the disks of one node: it reports them as a NodeInventory, and makes
// what its Volumes and VolumeGroups ask for. It is the
// only program of Poolwright that may touch a disk; docs/node-agent.md says what it may do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

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
	root string
	node string
}

func (f *flags) host() host.Host { return host.New(f.root) }

func rootCommand() *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:           "nodeagent",
		Short:         "Look after the disks of this node",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	hostname, _ := os.Hostname()
	if name := os.Getenv("NODE_NAME"); name != "" {
		hostname = name
	}
	root.PersistentFlags().StringVar(&f.root, "root", defaultRoot(), "folder that is the node's /")
	root.PersistentFlags().StringVar(&f.node, "node", hostname, "name of the Node object (NODE_NAME)")
	root.AddCommand(inspectCommand(&f), planCommand(&f), runCommand(&f))
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
