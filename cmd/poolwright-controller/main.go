// Poolwright-controller keeps the packages of all Hydrations in a cluster rendered; poolwright
// controller without DIR starts it. It is a program of its own because what it needs of client-go
// for its lease takes longer to start than poolwright takes for a render.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no certificates
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/cmd/internal/hydrationflags"
	"github.com/poolwright/poolwright/controller/delegate"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/keeper"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/live/lease"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/service"
	"github.com/poolwright/poolwright/terminal"
)

var version = "dev" // set by the linker

const long = `Keep the packages of all Hydrations in a cluster rendered (poolwright schema Hydration). It
fetches the branch of each into memory, publishes what there is to publish, and writes the
state into the status of the Hydration. Several may run: the one that holds the lease works.
It connects to no loopback, link-local or multicast address and not to the API server, unless
--allow-host names the host.

Exit codes: 0 after SIGTERM or SIGINT; 1 a lost lease or a failure, and with --once a Hydration
that is not ready, each of which is printed; 2 bad usage.`

const example = `  # Keep the Hydrations of one namespace, outside of a pod
  poolwright-controller --namespace storage --leader-elect=false

  # Look at each Hydration once
  poolwright-controller --once`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends it at once
	klog.SetLogger(logr.Discard()) // what is wrong comes back as an error, too
	err := command(os.Stdout, os.Stderr).ExecuteContext(ctx)
	var bad usageError
	switch {
	case err == nil:
	case errors.As(err, &bad):
		terminal.Println(os.Stderr, "poolwright-controller:", err)
		terminal.Println(os.Stderr, `See "poolwright-controller --help".`)
		os.Exit(2)
	case errors.Is(err, errNotReady): // each is printed
		os.Exit(1)
	default:
		terminal.Println(os.Stderr, "poolwright-controller:", err)
		os.Exit(1)
	}
}

// usageError is a mistake in how the program was called.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errNotReady says that a Hydration is not ready.
var errNotReady = errors.New("a Hydration is not ready")

func command(out, talk io.Writer) *cobra.Command {
	c := controller{out: out, talk: talk}
	cmd := &cobra.Command{
		Use:           "poolwright-controller",
		Short:         "Keep the packages of all Hydrations in a cluster rendered",
		Long:          long,
		Example:       example,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("%q: there are no arguments; for a work tree run poolwright controller DIR", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.Flags().SortFlags = false
	c.Add(cmd.Flags())
	c.AddShared(cmd.Flags())
	return cmd
}

// controller is the program with its flags.
type controller struct {
	hydrationflags.Flags
	out, talk io.Writer
}

// run keeps the Hydrations of a cluster, or looks at each of them once.
func (c *controller) run(ctx context.Context) error {
	rules := remote.Rules{Hosts: c.AllowHosts, Files: c.AllowFile, MaxSource: quantity.Bytes(c.MaxSource)}
	if rules.MaxSource <= 0 {
		return usage("--max-source %q: write a size in bytes, such as 64Mi", c.MaxSource)
	}
	if c.Lease.Duration < time.Second {
		return usage("--lease-duration %v: write 1s or more", c.Lease.Duration)
	}
	function := fn.New(schema.Load(), systems.All()...)
	renderer, err := c.renderer(function, rules.MaxSource)
	if err != nil {
		return err
	}
	at, err := cluster.Connect(c.Options)
	if err != nil {
		return err
	}
	own, err := at.ServerAddresses(ctx)
	if err != nil {
		return err
	}
	rules.APIServer = own.Now
	log := service.NewLog(c.talk, "text")
	store, err := hydrations.NewStore(ctx, at, log)
	if err != nil {
		return err
	}
	defer store.Close()
	k := &keeper.Keeper{
		Cluster: at, Store: store, Function: function, Renderer: renderer, Rules: rules, Namespaces: c.Namespaces,
		Log: log, Metrics: keeper.NewMetrics(version),
	}
	if c.Once {
		return c.once(ctx, k)
	}
	stop, err := c.serve("listening", "--listen", c.Listen, k.Metrics.Handler())
	if err != nil {
		return err
	}
	defer stop()
	if c.WebhookListen != "" {
		stop, err := c.serve("listening for webhooks", "--webhook-listen", c.WebhookListen, k.Hooks())
		if err != nil {
			return err
		}
		defer stop()
	}
	if !c.LeaderElect {
		k.Metrics.Leads()
		return k.Run(ctx)
	}
	return c.elected(ctx, at, k)
}

// renderer is the service of --service, or nil.
func (c *controller) renderer(function *fn.Function, maxOutput int64) (hydration.Renderer, error) {
	if c.Service.URL == "" {
		if c.Service.CA != "" || c.Service.Cert != "" || c.Service.Key != "" {
			return nil, usage("--service-ca, --service-cert and --service-key need --service: add it, or remove them")
		}
		return nil, nil
	}
	service, err := delegate.New(function, delegate.Options{
		URL: c.Service.URL, CA: c.Service.CA, Cert: c.Service.Cert, Key: c.Service.Key, Hosts: c.AllowHosts, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, usageError{err}
	}
	return service, nil
}

// once looks at each Hydration once.
func (c *controller) once(ctx context.Context, k *keeper.Keeper) error {
	results, err := k.Once(ctx)
	for _, r := range results {
		terminal.Printf(c.out, "%s %s: %s\n", r.Key, r.Reason, r.Message)
		if !r.Ready && err == nil {
			err = errNotReady
		}
	}
	return err
}

// elected works while this process holds the lease.
func (c *controller) elected(ctx context.Context, at *cluster.Cluster, k *keeper.Keeper) error {
	o := lease.Options{Namespace: c.Lease.Namespace, Name: c.Lease.Name, Duration: c.Lease.Duration}
	if o.Namespace == "" {
		o.Namespace = lease.Namespace()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	o.Identity = host + "_" + uuid.NewString()
	// A container that starts again has the label of its pod from before.
	if err := c.label(ctx, at, o.Namespace, false); err != nil {
		return err
	}
	terminal.Printf(c.talk, "waiting for the lease %s/%s\n", o.Namespace, o.Name)
	err = lease.Hold(ctx, at, o, func(ctx context.Context, held *lease.Held) error {
		terminal.Printf(c.talk, "holding the lease %s/%s\n", o.Namespace, o.Name)
		k.Lease = held
		k.Metrics.Leads()
		if err := c.label(ctx, at, o.Namespace, true); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = c.label(ctx, at, o.Namespace, false) // where it fails, the next start does it
		}()
		return k.Run(ctx)
	})
	if errors.Is(err, lease.ErrLost) {
		return fmt.Errorf("%s/%s: %w", o.Namespace, o.Name, err)
	}
	return err
}

// label gives the pod of this process the label of the leader, or removes it.
func (c *controller) label(ctx context.Context, at *cluster.Cluster, namespace string, leads bool) error {
	if c.Pod == "" {
		return nil
	}
	return lease.Label(ctx, at, namespace, c.Pod, leads)
}

// serve answers at the address that a flag names.
func (c *controller) serve(what, flag, address string, handler http.Handler) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; name another address", flag, address, err)
	}
	terminal.Printf(c.talk, "%s on http://%s\n", what, l.Addr())
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}
