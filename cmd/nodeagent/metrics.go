package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/nodeagent/access"
)

// metricsFlags are the address and certificate of /metrics.
type metricsFlags struct {
	listen, certFile, keyFile string
}

func (m *metricsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.listen, "metrics-listen", "", "address of /metrics over TLS, such as :9810, for users whom the API server allows to get it; none where it is empty")
	cmd.Flags().StringVar(&m.certFile, "tls-cert-file", "", "certificate of /metrics in PEM, read again when it changes; self-signed where it is left out")
	cmd.Flags().StringVar(&m.keyFile, "tls-private-key-file", "", "key of --tls-cert-file")
}

// serve serves the metrics until ctx ends. Reviews have a client with a rate limit of its own, so that anonymous requests
// cannot delay the agent.
func (m *metricsFlags) serve(ctx context.Context, node string, c *clusterFlags, metrics http.Handler, log *slog.Logger) error {
	if (m.certFile == "") != (m.keyFile == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file belong together: set both or none")
	}
	if m.listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(m.listen)
	if err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	client, err := c.client(5)
	if err != nil {
		return err
	}
	reviews := &access.Reviews{Client: client, Path: "/metrics", Lifetime: access.Lifetime, Log: log}
	certificate := &access.Certificate{CertFile: m.certFile, KeyFile: m.keyFile, Names: []string{node, host}, Log: log}
	if err := access.Serve(ctx, m.listen, certificate, reviews.Guard(metrics)); err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	return nil
}
