package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/nodeagent/controller"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// clusterFlags are those of the verbs that need the API server.
type clusterFlags struct {
	kubeconfig string
	cluster    string
	folder     string
}

func (c *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "how to reach the API server; the pod's service account where it is left out")
	cmd.Flags().StringVar(&c.cluster, "cluster", os.Getenv("CLUSTER_NAME"), "name of this cluster, from which its marks are made (CLUSTER_NAME): never change it, and give no other cluster the same")
	cmd.Flags().StringVar(&c.folder, "state", "/var/lib/poolwright", "folder of the journal and of sparse files")
}

func (c *clusterFlags) client() (dynamic.Interface, error) {
	config, err := rest.InClusterConfig()
	if c.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	// A node with a hundred Volumes that starts anew would else write its statuses for minutes.
	config.QPS, config.Burst = 20, 40
	config.UserAgent = "poolwright-node-agent/" + version
	return dynamic.NewForConfig(config)
}

// controller puts the agent together.
func (c *clusterFlags) controller(f *flags, log *slog.Logger) (*controller.Controller, error) {
	if c.cluster == "" {
		return nil, errors.New("--cluster (CLUSTER_NAME) is not set: without the cluster's name no data can be known again")
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	journal, err := step.Open(c.folder)
	if err != nil {
		return nil, err
	}
	metrics := controller.NewMetrics()
	return &controller.Controller{
		Client: client, Node: f.node, Log: log, Metrics: metrics,
		Engine: &source.Engine{
			Host: f.host(), Cluster: mark.Cluster(c.cluster), Node: f.node, Folder: c.folder,
			Runner: step.Runner{Journal: journal, At: controller.LogSteps(log, metrics)},
		},
	}, nil
}

func runCommand(f *flags) *cobra.Command {
	var c clusterFlags
	var dryRun bool
	var listen string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Carry out the Volumes and VolumeGroups of this node, and keep its NodeInventory",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)).With("node", f.node)
			klog.SetSlogLogger(log) // what client-go says, such as that the API server does not answer
			agent, err := c.controller(f, log)
			if err != nil {
				return err
			}
			agent.DryRun = dryRun
			small()
			agent.Rest = debug.FreeOSMemory // a burst, such as the start, takes more than what is kept
			only, err := lock(filepath.Join(c.folder, "lock"))
			if err != nil {
				return err
			}
			defer func() { _ = only.Close() }() // nothing is written to it
			if agent.Changed, err = f.host().Changes(ctx, log); err != nil {
				return err
			}
			if err := serve(ctx, listen, agent.Metrics.Handler()); err != nil {
				return err
			}
			log.Info("node agent started", "version", version, "dryRun", dryRun)
			return agent.Run(ctx)
		},
	}
	c.add(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "log the steps that would be taken, and write to neither disks nor the API server")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9809", "address of /metrics, /healthz and /readyz; none where it is empty")
	return cmd
}

// small keeps resident what the agent needs and little more, also on a node with many processors, each
// of which the runtime keeps memory for. GOGC and GOMAXPROCS are heeded.
func small() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(2, runtime.GOMAXPROCS(0)))
	}
}

// lock is held for as long as an agent runs: two of them, during an update or by hand, would
// each believe the other's steps to be somebody else's.
func lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another node agent runs on this node (%s): %w", path, err), f.Close())
	}
	return f, nil
}

func serve(ctx context.Context, address string, handler http.Handler) error {
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return nil
}

func planCommand(f *flags) *cobra.Command {
	var c clusterFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what run would do to this node now, step by step",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
			agent, err := c.controller(f, log)
			if err != nil {
				return err
			}
			lines, err := agent.Plans(cmd.Context())
			if err != nil {
				return err
			}
			for _, line := range lines {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.add(cmd)
	return cmd
}
