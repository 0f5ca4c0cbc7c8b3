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
	cmd.Flags().StringVar(&c.kubeconfig, "kubeconfig", "", "the kubeconfig to use (default the service account of the pod)")
	cmd.Flags().StringVar(&c.cluster, "cluster", os.Getenv("CLUSTER_NAME"), "name of this cluster, from which its marks on disks are derived (CLUSTER_NAME): never change it, and never use it for another cluster")
	c.addState(cmd)
}

func (c *clusterFlags) addState(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.folder, "state", "/var/lib/poolwright", "folder of the journal and of sparse files")
}

// client is limited to a rate of requests a second.
func (c *clusterFlags) client(rate int) (dynamic.Interface, error) {
	config, err := rest.InClusterConfig()
	if c.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	}
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = float32(rate), 2*rate
	config.UserAgent = "poolwright-node-agent/" + version
	return dynamic.NewForConfig(config)
}

// controller puts the agent together.
func (c *clusterFlags) controller(f *flags, log *slog.Logger) (*controller.Controller, error) {
	if c.cluster == "" {
		return nil, errors.New("--cluster (CLUSTER_NAME) is not set: without the cluster's name no data can be known again")
	}
	// A node with a hundred Volumes that restarts would otherwise write its statuses for minutes.
	client, err := c.client(20)
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
			Runner: step.Runner{Journal: journal, At: controller.LogSteps(log), Ended: metrics.StepEnded},
		},
	}, nil
}

func runCommand(f *flags) *cobra.Command {
	var c clusterFlags
	var dryRun bool
	var listen string
	var m metricsFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Carry out the Volumes and VolumeGroups of this node, and report its NodeInventory",
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
			if err := serve(ctx, listen, agent.Metrics.Probes()); err != nil {
				return err
			}
			if err := m.serve(ctx, f.node, &c, thenFree(agent.Metrics.Handler()), log); err != nil {
				return err
			}
			log.Info("node agent started", "version", version, "dryRun", dryRun)
			return agent.Run(ctx)
		},
	}
	c.add(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only log the steps; write neither to disks nor to the API server")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9809", "address of /healthz and /readyz, without TLS; empty disables them")
	m.add(cmd)
	return cmd
}

// thenFree returns the memory of a scrape to the node.
func thenFree(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		debug.FreeOSMemory()
	})
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
