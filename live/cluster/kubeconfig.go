package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"
)

// loader finds the kubeconfig as kubectl does.
func loader(o Options) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	rules.WarnIfAllMissing = false // that is the error
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context, ClusterInfo: clientapi.Cluster{}}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// Contexts lists the names of the contexts that a kubeconfig has, sorted; "" is
// the one that is used without a flag. What cannot be read has none.
func Contexts(kubeconfig string) []string {
	raw, err := loader(Options{Kubeconfig: kubeconfig}).RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// contextName is the name of the context that is used, "" for none.
func contextName(o Options) string {
	raw, err := loader(o).RawConfig()
	if err != nil {
		return ""
	}
	return cmp.Or(o.Context, raw.CurrentContext)
}

// configure reads the kubeconfig. The error says which name or file in it is
// wrong: client-go speaks of "no configuration" or "no server" for most of that.
func configure(o Options) (*rest.Config, error) {
	l := loader(o)
	config, err := l.ClientConfig()
	raw, rawErr := l.RawConfig()
	if rawErr == nil {
		if wrong := explainContext(raw, o.Context); wrong != nil {
			return nil, wrong
		}
	}
	if err == nil {
		return config, nil
	}
	files := l.ConfigAccess().GetLoadingPrecedence()
	if broken := explainFiles(files); broken != nil {
		return nil, broken
	}
	if clientcmd.IsEmptyConfig(err) || errors.Is(rawErr, fs.ErrNotExist) {
		return nil, explainNone(files, o.Kubeconfig)
	}
	return nil, unusable(err)
}

// explainContext says what is missing in a kubeconfig that has contexts.
func explainContext(raw clientapi.Config, wanted string) error {
	if len(raw.Contexts) == 0 {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	name := wanted
	if name == "" {
		name = raw.CurrentContext
	}
	context := raw.Contexts[name]
	switch {
	case name == "":
		return fmt.Errorf("the kubeconfig has no current context; name one with --context: %s", names)
	case context == nil && wanted == "":
		return fmt.Errorf("the kubeconfig has no context %q, which it names as the current one; name one that it has with --context: %s", name, names)
	case context == nil:
		return fmt.Errorf("the kubeconfig has no context %q; name one that it has with --context: %s", name, names)
	}
	remedy := "; correct it, or name another context with --context: " + names
	switch cluster := raw.Clusters[context.Cluster]; {
	case context.Cluster == "":
		return fmt.Errorf("the context %q names no cluster%s", name, remedy)
	case cluster == nil:
		return fmt.Errorf("the context %q names the cluster %q, which the kubeconfig does not have%s", name, context.Cluster, remedy)
	case cluster.Server == "":
		return fmt.Errorf("the cluster %q of the context %q has no server%s", context.Cluster, name, remedy)
	case context.AuthInfo != "" && raw.AuthInfos[context.AuthInfo] == nil:
		return fmt.Errorf("the context %q names the user %q, which the kubeconfig does not have%s", name, context.AuthInfo, remedy)
	}
	return nil
}

// explainFiles says which of the files cannot be read.
func explainFiles(files []string) error {
	const remedy = "name another with --kubeconfig or KUBECONFIG"
	for _, file := range files {
		_, err := clientcmd.LoadFromFile(file)
		var path *fs.PathError
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &path):
			return fmt.Errorf("the kubeconfig cannot be used: %w; %s", err, remedy)
		case strings.HasPrefix(err.Error(), "yaml: "):
			return fmt.Errorf("the kubeconfig cannot be used: %s: %w; correct it, or %s", file, err, remedy)
		default: // in words about Go types
			return fmt.Errorf("the kubeconfig cannot be used: %s is no kubeconfig; %s", file, remedy)
		}
	}
	return nil
}

// explainNone says where was looked. The file in the home folder is nobody's
// choice, so it is not worth a word.
func explainNone(files []string, chosen string) error {
	if chosen == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return errors.New("no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG")
	}
	var said []string
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			said = append(said, file+" is not there")
		} else {
			said = append(said, file+" names none")
		}
	}
	return fmt.Errorf("no cluster is configured: %s; name another kubeconfig with --kubeconfig or KUBECONFIG", strings.Join(said, ", "))
}

func unusable(err error) error {
	return fmt.Errorf("the kubeconfig cannot be used: %w; correct it, or name another with --kubeconfig and --context", err)
}
