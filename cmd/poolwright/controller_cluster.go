package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/controller/keeper"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/live/lease"
	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/service"
	"github.com/poolwright/poolwright/terminal"
)

// keeperFlags are those of controller without DIR.
type keeperFlags struct {
	namespaces []string
	listen     string
	elect      bool
	lease      lease.Options
	rules      remote.Rules
	maxSource  string
}

// add adds the flags.
func (f *keeperFlags) add(s program, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "without DIR: keep only the Hydrations of this namespace; may be repeated (default all)")
	flags.StringVar(&f.listen, "listen", ":8081", "without DIR: HOST:PORT for /healthz, /readyz and /metrics")
	flags.BoolVar(&f.elect, "leader-elect", true, "without DIR: work only while this process holds the lease")
	flags.StringVar(&f.lease.Namespace, "lease-namespace", "", "the namespace of the lease (default that of the pod, or default)")
	flags.StringVar(&f.lease.Name, "lease-name", "poolwright-controller", "the name of the lease")
	flags.DurationVar(&f.lease.Duration, "lease-duration", 15*time.Second, "how long a lease that is not renewed keeps others away; 1s or more")
	flags.StringArrayVar(&f.rules.Hosts, "allow-host", nil, "without DIR: connect to this HOST or HOST:PORT whatever its address is, also by http; may be repeated")
	flags.BoolVar(&f.rules.Files, "allow-file", false, "without DIR: read sources from folders of this machine, as file://")
	flags.StringVar(&f.maxSource, "max-source", "256Mi", "without DIR: the size of the files of a branch, at most")
	for _, name := range []string{"namespace", "listen", "lease-namespace", "lease-name", "allow-host", "max-source"} {
		complete(s, cmd, name)
	}
}

// keeperFlagNames are those that say nothing with DIR.
func keeperFlagNames() []string {
	return []string{"namespace", "listen", "leader-elect", "lease-namespace", "lease-name", "lease-duration", "allow-host", "allow-file", "max-source"}
}

// runKeeper keeps the Hydrations of a cluster, or looks at each of them once.
func runKeeper(ctx context.Context, s program, c clusterFlags, f keeperFlags, once bool) error {
	if f.rules.MaxSource = quantity.Bytes(f.maxSource); f.rules.MaxSource <= 0 {
		return usage("--max-source %q: write a size in bytes, such as 64Mi", f.maxSource)
	}
	if f.lease.Duration < time.Second {
		return usage("--lease-duration %v: write 1s or more", f.lease.Duration)
	}
	at, err := c.connect()
	if err != nil {
		return err
	}
	if server, err := url.Parse(at.Server); err == nil {
		f.rules.APIServer = server.Hostname()
	}
	store, err := hydrations.NewStore(ctx, at)
	if err != nil {
		return err
	}
	defer store.Close()
	k := &keeper.Keeper{
		Cluster: at, Store: store, Function: s.function, Rules: f.rules, Namespaces: f.namespaces,
		Log: service.NewLog(s.err, "text"), Metrics: keeper.NewMetrics(version),
	}
	if once {
		return f.once(ctx, s, k)
	}
	stop, err := f.serve(s, k.Metrics)
	if err != nil {
		return err
	}
	defer stop()
	if !f.elect {
		k.Metrics.Leads()
		return k.Run(ctx)
	}
	return f.elected(ctx, s, at, k)
}

// once looks at each Hydration once.
func (f *keeperFlags) once(ctx context.Context, s program, k *keeper.Keeper) error {
	results, err := k.Once(ctx)
	if err != nil {
		return err
	}
	unready := 0
	for _, r := range results {
		terminal.Printf(s.out, "%s %s: %s\n", r.Key, r.Reason, r.Message)
		if !r.Ready {
			unready++
		}
	}
	if unready > 0 {
		return errFindings
	}
	return nil
}

// elected works while this process holds the lease.
func (f *keeperFlags) elected(ctx context.Context, s program, at *cluster.Cluster, k *keeper.Keeper) error {
	o := f.lease
	if o.Namespace == "" {
		o.Namespace = lease.Namespace()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	o.Identity = host + "_" + uuid.NewString()
	terminal.Printf(s.err, "waiting for the lease %s/%s\n", o.Namespace, o.Name)
	err = lease.Hold(ctx, at, o, func(ctx context.Context, held *lease.Held) error {
		terminal.Printf(s.err, "holding the lease %s/%s\n", o.Namespace, o.Name)
		k.Lease = held
		k.Metrics.Leads()
		return k.Run(ctx)
	})
	if errors.Is(err, lease.ErrLost) {
		return fmt.Errorf("%s/%s: %w", o.Namespace, o.Name, err)
	}
	return err
}

// serve answers probes.
func (f *keeperFlags) serve(s program, m *keeper.Metrics) (stop func(), err error) {
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w; name another address", f.listen, err)
	}
	terminal.Printf(s.err, "listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}
