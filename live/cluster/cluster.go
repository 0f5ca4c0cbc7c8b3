// Package cluster is the connection to a live cluster: found as kubectl finds
// it, and with errors that say what to do. What is read or written over it is
// the business of the packages beside it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// Options say which cluster is meant, as the flags of kubectl do.
type Options struct {
	Kubeconfig string // a file; "" for KUBECONFIG, ~/.kube/config, or the pod that this runs in
	Context    string // "" for the current one
	Namespace  string // "" for all
}

// requestTimeout bounds one request, so that a server that hangs is not waited
// for without end. A page of the largest lists takes a few seconds.
const requestTimeout = 2 * time.Minute

// retries is how often a request is made again, a second later or when the API
// server says, because it was too busy or the connection broke.
const retries = 5

// Cluster is a live cluster. It may be used by several goroutines.
type Cluster struct {
	Server    string // its address
	Namespace string // the only one that is looked at; "" for all

	config    *rest.Config
	requests  *rest.RESTClient
	discovery *discovery.DiscoveryClient
	dynamic   *dynamic.DynamicClient
}

// Connect finds the cluster. Nothing is asked of it yet: the error is about the
// kubeconfig.
func Connect(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context, ClusterInfo: clientapi.Cluster{}}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		raw, _ := loader.RawConfig() // which fails as well, or has the names
		return nil, explainConfig(err, raw, o.Context)
	}
	// The API server shares its time out by itself (priority and fairness).
	config.QPS = -1
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	config.WarningHandler = rest.NoWarnings{}
	config.NegotiatedSerializer = nil
	c := &Cluster{Server: config.Host, Namespace: o.Namespace, config: config}
	if err := c.connect(); err != nil {
		return nil, unusable(err)
	}
	return c, nil
}

// explainConfig says what is wrong with a kubeconfig.
func explainConfig(err error, raw clientapi.Config, wanted string) error {
	contexts := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	switch {
	case contexts != "" && wanted == "" && raw.CurrentContext == "":
		return fmt.Errorf("the kubeconfig has no current context; name one with --context: %s", contexts)
	case contexts != "" && wanted != "" && raw.Contexts[wanted] == nil:
		return fmt.Errorf("the kubeconfig has no context %q; name one that it has with --context: %s", wanted, contexts)
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG")
	}
	return unusable(err)
}

func unusable(err error) error {
	return fmt.Errorf("the kubeconfig cannot be used: %w; correct it, or name another with --kubeconfig and --context", err)
}

func (c *Cluster) connect() error {
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return err
	}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(c.config, client); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(c.config, client); err != nil {
		return err
	}
	plain := dynamic.ConfigFor(c.config)
	c.requests, err = rest.UnversionedRESTClientForConfigAndClient(plain, client)
	return err
}

// Dynamic is for watches and writes of objects of any kind.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

// get makes one request and returns the body.
func (c *Cluster) get(ctx context.Context, path string, query map[string]string) ([]byte, error) {
	r := c.requests.Get().AbsPath(path).Timeout(requestTimeout).MaxRetries(retries).SetHeader("Accept", "application/json")
	for key, value := range query {
		if value != "" {
			r = r.Param(key, value)
		}
	}
	result := r.Do(ctx)
	if err := result.Error(); err != nil { // Raw alone drops what the API server says
		return nil, err
	}
	return result.Raw()
}
