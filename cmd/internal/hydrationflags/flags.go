// Package hydrationflags has the flags of the controller of Hydrations, which two programs take:
// poolwright-controller, and poolwright controller without DIR, which starts it.
package hydrationflags

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/poolwright/poolwright/live/cluster"
)

// Flags are their values.
type Flags struct {
	cluster.Options
	Once       bool
	Namespaces []string // whose Hydrations are kept; none for all

	Listen        string // HOST:PORT of probes and metrics
	WebhookListen string // HOST:PORT of webhooks; "" for none
	LeaderElect   bool
	Lease         struct {
		Namespace, Name string
		Duration        time.Duration
	}
	Pod        string   // of this process, which is labelled while it holds the lease; "" for none
	AllowHosts []string // HOST or HOST:PORT
	AllowFile  bool
	MaxSource  string // a quantity of bytes
	Service    struct {
		URL           string // of poolwright serve; "" to render in this process
		CA, Cert, Key string // files in PEM
	}
}

// Add adds those that are for Hydrations alone.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.Namespaces, "namespace", "n", nil, "without DIR: keep only the Hydrations of this namespace; may be repeated (default all)")
	flags.StringVar(&f.Listen, "listen", ":8081", "without DIR: HOST:PORT for /healthz, /readyz and /metrics")
	flags.StringVar(&f.WebhookListen, "webhook-listen", "", "without DIR: HOST:PORT for webhooks, at /hook/NAMESPACE/NAME (default none)")
	flags.BoolVar(&f.LeaderElect, "leader-elect", true, "without DIR: work only while this process holds the lease")
	flags.StringVar(&f.Lease.Namespace, "lease-namespace", "", "the namespace of the lease (default that of the pod, or default)")
	flags.StringVar(&f.Lease.Name, "lease-name", "poolwright-controller", "the name of the lease")
	flags.DurationVar(&f.Lease.Duration, "lease-duration", 15*time.Second, "how long a lease that is not renewed keeps others away; 1s or more")
	flags.StringVar(&f.Pod, "pod", "", "the name of this pod, in the namespace of the lease: it has the label poolwright.io/leader=true while it holds the lease")
	flags.StringArrayVar(&f.AllowHosts, "allow-host", nil, "without DIR: connect to this HOST or HOST:PORT whatever its address is, also by http; may be repeated")
	flags.BoolVar(&f.AllowFile, "allow-file", false, "without DIR: read sources from folders of this machine, as file://")
	flags.StringVar(&f.MaxSource, "max-source", "256Mi", "without DIR: the size of the files of a branch, at most, and of all that are in memory at the same time")
	flags.StringVar(&f.Service.URL, "service", "", "without DIR: render by the poolwright serve at this URL (default in this process)")
	flags.StringVar(&f.Service.CA, "service-ca", "", "the file of the authority that signs its certificate (default the public authorities)")
	flags.StringVar(&f.Service.Cert, "service-cert", "", "the file of the client certificate for it")
	flags.StringVar(&f.Service.Key, "service-key", "", "the file of the key of that")
}

// AddShared adds those that poolwright controller DIR has, too.
func (f *Flags) AddShared(flags *pflag.FlagSet) {
	flags.BoolVar(&f.Once, "once", false, "look at each Hydration once, and exit")
	flags.StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig to use (default KUBECONFIG, or ~/.kube/config)")
	flags.StringVar(&f.Context, "context", "", "the context of the kubeconfig (default the current one)")
}

// Names are those of Add.
func Names() []string {
	var names []string
	own(new(Flags).Add, func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// Given are the flags that were set on a command line, as arguments for poolwright-controller.
func Given(flags *pflag.FlagSet) []string {
	var args []string
	pass := func(declared *pflag.Flag) {
		f := flags.Lookup(declared.Name)
		if f == nil || !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if many, repeated := f.Value.(pflag.SliceValue); repeated {
			values = many.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	}
	own(new(Flags).Add, pass)
	own(new(Flags).AddShared, pass)
	return args
}

// own calls do with each flag that add adds.
func own(add func(*pflag.FlagSet), do func(*pflag.Flag)) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(flags)
	flags.VisitAll(do)
}
