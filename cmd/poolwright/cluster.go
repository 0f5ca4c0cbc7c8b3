package main

import (
	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/live/cluster"
)

// clusterFlags say which cluster a verb talks to, under the names of kubectl.
type clusterFlags struct{ cluster.Options }

// addClusterFlags adds them to a verb.
func addClusterFlags(cmd *cobra.Command, f *clusterFlags) {
	cmd.Flags().StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig to use (default KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().StringVar(&f.Context, "context", "", "the context of the kubeconfig (default the current one)")
	cmd.Flags().StringVarP(&f.Namespace, "namespace", "n", "", "of namespaced kinds, look only into this namespace (default all)")
}

// connect finds the cluster. Nothing is asked of it yet.
func (f *clusterFlags) connect() (*cluster.Cluster, error) { return cluster.Connect(f.Options) }
