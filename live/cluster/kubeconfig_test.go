package cluster_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/live/cluster"
)

const kubeconfig = `
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}, {name: bare, cluster: {}}, {name: no-ca, cluster: {server: "https://127.0.0.1:1", certificate-authority: /nowhere/ca.crt}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: good, context: {cluster: c, user: u}}
- {name: no-ca, context: {cluster: no-ca, user: u}}
- {name: nobody, context: {cluster: c}}
- {name: no-cluster, context: {cluster: x, user: u}}
- {name: no-name, context: {user: u}}
- {name: no-server, context: {cluster: bare, user: u}}
- {name: no-user, context: {cluster: c, user: x}}
`

// What is wrong with a kubeconfig is said with the file, and with the name that
// is missing in it.
func TestKubeconfig(t *testing.T) {
	const names = "good, no-ca, no-cluster, no-name, no-server, no-user, nobody"
	for _, x := range []struct{ name, content, context, want string }{
		{"fine", kubeconfig, "good", ""},
		{"without a user", kubeconfig, "nobody", ""},
		{"no current context", kubeconfig, "", "the kubeconfig has no current context; name one with --context: " + names},
		{"another context", kubeconfig, "x", `the kubeconfig has no context "x"; name one that it has with --context: ` + names},
		{"another current context", kubeconfig + "current-context: x", "", `the kubeconfig has no context "x", which it names as the current one; name one that it has with --context: ` + names},
		{"cluster", kubeconfig, "no-cluster", `the context "no-cluster" names the cluster "x", which the kubeconfig does not have; correct it, or name another context with --context: ` + names},
		{"current cluster", kubeconfig + "current-context: no-cluster", "", `the context "no-cluster" names the cluster "x", which the kubeconfig does not have; correct it, or name another context with --context: ` + names},
		{"no cluster", kubeconfig, "no-name", `the context "no-name" names no cluster; correct it, or name another context with --context: ` + names},
		{"server", kubeconfig, "no-server", `the cluster "bare" of the context "no-server" has no server; correct it, or name another context with --context: ` + names},
		{"authority", kubeconfig, "no-ca", "the kubeconfig cannot be used: invalid configuration: unable to read certificate-authority /nowhere/ca.crt for no-ca due to open /nowhere/ca.crt: no such file or directory; correct it, or name another with --kubeconfig and --context"},
		{"user", kubeconfig, "no-user", `the context "no-user" names the user "x", which the kubeconfig does not have; correct it, or name another context with --context: ` + names},
		{"empty", "", "", "no cluster is configured: FILE names none; name another kubeconfig with --kubeconfig or KUBECONFIG"},
		{"text", "hello", "", "the kubeconfig cannot be used: FILE is no kubeconfig; name another with --kubeconfig or KUBECONFIG"},
		{"list", "[]", "", "the kubeconfig cannot be used: FILE is no kubeconfig; name another with --kubeconfig or KUBECONFIG"},
		{"number", "clusters: 5", "", "the kubeconfig cannot be used: FILE is no kubeconfig; name another with --kubeconfig or KUBECONFIG"},
		{"another kind", "apiVersion: v2\nkind: Foo", "", "the kubeconfig cannot be used: FILE is no kubeconfig; name another with --kubeconfig or KUBECONFIG"},
		{"syntax", "a:\n\t- b: [", "", "the kubeconfig cannot be used: FILE: yaml: line 2: found character that cannot start any token; correct it, or name another with --kubeconfig or KUBECONFIG"},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(x.content), 0o600); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(x.want, "FILE", file)
			for env, flag := range map[string]string{file: "", "": file} {
				t.Setenv("KUBECONFIG", env)
				if got := connect(flag, x.context); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

// A file that is not there is named, unless nobody named it.
func TestAbsentKubeconfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	absent, empty := filepath.Join(dir, "absent"), filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const remedy = "; name another kubeconfig with --kubeconfig or KUBECONFIG"
	for _, x := range []struct{ env, flag, want string }{
		{"", "", "no cluster is configured: name a kubeconfig with --kubeconfig or KUBECONFIG"},
		{absent, "", "no cluster is configured: " + absent + " is not there" + remedy},
		{"", absent, "no cluster is configured: " + absent + " is not there" + remedy},
		{absent + string(filepath.ListSeparator) + empty, "", "no cluster is configured: " + absent + " is not there, " + empty + " names none" + remedy},
	} {
		t.Setenv("KUBECONFIG", x.env)
		if got := connect(x.flag, ""); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
}

func connect(file, context string) string {
	if _, err := cluster.Connect(cluster.Options{Kubeconfig: file, Context: context}); err != nil {
		return err.Error()
	}
	return ""
}

func TestContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"good", "no-ca", "no-cluster", "no-name", "no-server", "no-user", "nobody"}
	if got := cluster.Contexts(file); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := cluster.Contexts(file + "x"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
