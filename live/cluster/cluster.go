// Package cluster is the connection to a live cluster: found as kubectl finds
// it, and with errors that say what to do. What is read or written over it is
// the business of the packages beside it.
package cluster

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Options say which cluster is meant, as the flags of kubectl do.
type Options struct {
	Kubeconfig string // a file; "" for KUBECONFIG, ~/.kube/config, or the pod that this runs in
	Context    string // "" for the current one
	Namespace  string // "" for all
}

// RequestTimeout bounds one request, so that a server that hangs is not waited
// for without end. An API server gives up by itself after as long, unless asked
// otherwise; a page of the largest lists takes a few seconds.
const RequestTimeout = time.Minute

// retries is how often a request is made again, a second later or when the API
// server says, because it was too busy or the connection broke.
const retries = 5

// Cluster is a live cluster. It may be used by several goroutines.
type Cluster struct {
	Server    string // its address
	Context   string // its context in the kubeconfig; "" in a pod
	Namespace string // the only one that is looked at; "" for all

	config   *rest.Config
	requests *rest.RESTClient
	dynamic  *dynamic.DynamicClient
}

// Connect finds the cluster. Nothing is asked of it yet: the error is about the
// kubeconfig.
func Connect(o Options) (*Cluster, error) {
	config, err := configure(o)
	if err != nil {
		return nil, err
	}
	// The API server shares its time out by itself (priority and fairness).
	config.QPS = -1
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	config.WarningHandler = rest.NoWarnings{}
	config.NegotiatedSerializer = nil
	c := &Cluster{Server: config.Host, Context: contextName(o), Namespace: o.Namespace, config: config}
	if err := c.connect(); err != nil {
		return nil, unusable(err)
	}
	return c, nil
}

func (c *Cluster) connect() error {
	client, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(c.config, client); err != nil {
		return err
	}
	plain := dynamic.ConfigFor(c.config)
	c.requests, err = rest.UnversionedRESTClientForConfigAndClient(plain, client)
	return err
}

// String names the cluster: its address, and its context in the kubeconfig.
func (c *Cluster) String() string {
	if c.Context == "" {
		return c.Server
	}
	return c.Server + " (context " + c.Context + ")"
}

// WatchSeconds is after how many seconds the API server ends a watch, which then begins again. Without a wish it
// does so every five to ten minutes, of each kind. A connection that is broken is noticed by pings of HTTP/2.
const WatchSeconds int64 = 3600

// In is the cluster with a look at one namespace alone, "" for all.
func (c *Cluster) In(namespace string) *Cluster {
	in := *c
	in.Namespace = namespace
	return &in
}

// Dynamic is for watches and writes of objects of any kind.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

const plainJSON = "application/json"

// get makes one request, for an answer of the type that is accepted, and returns the
// body.
func (c *Cluster) get(ctx context.Context, path, accept string, query map[string]string) ([]byte, error) {
	r := c.requests.Get().AbsPath(path).Timeout(RequestTimeout).MaxRetries(retries).SetHeader("Accept", accept)
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

// Config is for the clients of packages beside this one.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
