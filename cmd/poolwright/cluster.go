package main

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/live/cluster"
)

// clusterFlags say which cluster a verb talks to, under the names of kubectl.
type clusterFlags struct{ cluster.Options }

// addClusterFlags adds them to a verb.
func addClusterFlags(s program, cmd *cobra.Command, f *clusterFlags) {
	cmd.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig to use (default KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&f.Context, "context", "", "the context of the kubeconfig (default the current one)")
	completeWith(s, cmd, "context", func([]string) []string { return cluster.Contexts(f.Kubeconfig) })
}

// connect finds the cluster. Nothing is asked of it yet.
func (f *clusterFlags) connect() (*cluster.Cluster, error) {
	// client-go writes lines of its own to the standard error; what is wrong comes
	// back as an error, too.
	klog.SetLogger(logr.Discard())
	return cluster.Connect(f.Options)
}

// connectOrFrom is connect for a verb that takes --from: a package may have all that it
// needs.
func (f *clusterFlags) connectOrFrom() (*cluster.Cluster, error) {
	c, err := f.connect()
	if err != nil {
		err = fmt.Errorf("%w; or, without a cluster, read the inventory of the package with --from inventory", err)
	}
	return c, err
}
