package main

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/service"
	"github.com/poolwright/poolwright/terminal"
)

const serveLong = `Serve the function and the commands that read a package over HTTP. The server has no
state, and it uses no cluster and no disk: a request contains the whole package.

  POST /v1/fn      the same as poolwright fn: the body is a ResourceList
  POST /v1/VERB    the same as poolwright VERB, for %s:
                   the body is a ResourceList, and the annotation internal.config.kubernetes.io/path
                   of each item is its file in the package. Flags are query parameters, and
                   KIND/NAME is ?object=, and a change of what-if is ?change=
  GET              /healthz, /readyz, /metrics, /openapi.json, /version

A ResourceList is application/yaml or application/json, and may be compressed with gzip.
The answer has the form of ?output= or of the header Accept, by default JSON (fn: YAML).
Its status is 422 if findings forbid a render; the header Poolwright-Exit-Code has the exit
code of the command.

A request that finds all slots taken waits in a queue; if the queue is full, the answer is
429. With the environment variable GOMEMLIMIT, the default of --max-body is the size of which
two fit in that memory.

After SIGTERM or SIGINT, /readyz and new requests get 503, and running requests are
completed. Certificates are read again within 10 seconds after their files change.

Exit codes: 0 after a signal; 1 if --shutdown-timeout cut off a request, or after a failure;
2 bad usage.`

const serveExample = `  poolwright serve
  curl --data-binary @resourcelist.yaml -H 'Content-Type: application/yaml' http://127.0.0.1:8080/v1/fn

  # For other machines, which need a certificate
  poolwright serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt

  # The plan of a package as a comment for a pull request
  curl --data-binary @resourcelist.yaml -H 'Content-Type: application/yaml' 'http://127.0.0.1:8080/v1/plan?output=markdown'`

type serveFlags struct {
	service.Config
	maxBody   string
	logFormat format
}

func newServe(s program) *cobra.Command {
	f := serveFlags{logFormat: "text", maxBody: defaultBody}
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the function over HTTP",
		Long:    fmt.Sprintf(serveLong, servedNames(s)),
		Example: serveExample,
		Args:    atMost(0, "serve takes none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags().Changed("max-body")); err != nil {
				return err
			}
			return runServe(s, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Listen, "listen", "127.0.0.1:8080", "where to listen, HOST:PORT; port 0 is any free one")
	flags.StringVar(&f.TLS.Cert, "tls-cert", "", "the file of the server's certificate, in PEM")
	flags.StringVar(&f.TLS.Key, "tls-key", "", "the file of its key")
	flags.StringVar(&f.TLS.ClientCA, "client-ca", "", "the file of the authority whose certificates clients need, except for the probes")
	flags.BoolVar(&f.AllowPlain, "allow-plain-http", false, "serve HTTP without TLS to other machines, too")
	flags.StringVar(&f.maxBody, "max-body", f.maxBody, "the largest body, uncompressed")
	flags.IntVar(&f.Slots, "max-concurrent", runtime.GOMAXPROCS(0), "how many requests are worked on at the same time")
	flags.Lookup("max-concurrent").DefValue = "the number of CPUs"
	flags.IntVar(&f.Queue, "max-queue", -1, "how many requests wait for that")
	flags.Lookup("max-queue").DefValue = "four times --max-concurrent"
	flags.DurationVar(&f.Timeout, "timeout", time.Minute, "for the work on a request")
	flags.DurationVar(&f.Shutdown, "shutdown-timeout", 30*time.Second, "for running requests after a signal")
	addOneOf(s, cmd, &f.logFormat, "log-format", "", "the form of the log on stderr", "text", "json")
	return cmd
}

const defaultBody = "256Mi"

// check completes the flags.
func (f *serveFlags) check(bodyGiven bool) error {
	switch {
	case (f.TLS.Cert == "") != (f.TLS.Key == ""):
		return usage("--tls-cert and --tls-key need each other: add the one that is missing")
	case f.TLS.ClientCA != "" && f.TLS.Cert == "":
		return usage("--client-ca needs TLS: add --tls-cert and --tls-key")
	case f.Slots < 1:
		return usage("--max-concurrent %d: it must be 1 or more", f.Slots)
	case f.Queue < -1:
		return usage("--max-queue %d: it must be 0 or more", f.Queue)
	case f.Timeout <= 0:
		return usage("--timeout %s: it must be more than 0", f.Timeout)
	case f.Shutdown < 0:
		return usage("--shutdown-timeout %s: it must be 0 or more", f.Shutdown)
	}
	if f.Queue == -1 {
		f.Queue = 4 * f.Slots
	}
	most := int64(math.MaxInt32) // what a document can have
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		most = min(most, service.MostBody(limit))
	}
	f.MaxBody = quantity.Bytes(f.maxBody)
	switch {
	case f.MaxBody <= 0:
		return usage("--max-body %q: write a size in bytes, such as 64Mi", f.maxBody)
	case f.MaxBody > most && bodyGiven:
		return usage("--max-body %s: two bodies of this size do not fit in the memory limit; write at most %d, or raise GOMEMLIMIT", f.maxBody, most)
	}
	f.MaxBody = min(f.MaxBody, most)
	return nil
}

// newServer makes the server that the flags describe.
func newServer(s program, f *serveFlags) (*service.Server, error) {
	f.Function = s.function
	for _, v := range verbs() {
		if v.route != nil {
			f.Verbs = append(f.Verbs, s.served(v))
		}
	}
	f.Version = thisBuild().Version
	var build bytes.Buffer
	if err := printAs(&build, asJSON, thisBuild()); err != nil {
		return nil, err
	}
	f.Build = build.Bytes()
	return service.New(f.Config)
}

func runServe(s program, f *serveFlags) error {
	f.Log = service.NewLog(s.err, string(f.logFormat))
	server, err := newServer(s, f)
	if err != nil {
		return err
	}
	return listenAndServe(server, func(l net.Listener) error {
		if message := "listening on " + server.URL(l); f.logFormat == asJSON {
			f.Log.Info(message)
		} else {
			terminal.Println(s.err, message)
		}
		return nil
	})
}
