package keeper_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/test/gitserver"
)

// TestForeignFiles: nothing outside of the package changes, and nothing in it that Poolwright does not own.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "foreign", "prod"
	theirs := map[string]string{
		dir + "/rendered/README.md":    "ours, by hand\n",
		dir + "/rendered/mine.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n",
		dir + "/inventory/NOTES.md":    "of the cluster\n",
		dir + "/notes.txt":             "text\n",
		"clusters/prod-2/rendered/a":   "another package\n",
		"clusters/other/inventory/b":   "another package\n",
		"rendered/volume.yaml":         "of nobody\n",
		"clusters/prod.rendered/a.txt": "almost\n",
	}
	all := filesOf(ns)
	for file, text := range theirs {
		all[file] = text
	}
	server := gitserver.New(t, all)
	k.member(t, ns, "foreign-1")
	hydrate(t, k, server, ns, name)
	keep(t, ns)
	k.becomes(t, ns, name, "Published", "UpToDate")
	for _, node := range []string{"foreign-2", "foreign-3"} {
		k.member(t, ns, node)
		await(t, "the node is rendered", func() bool { return strings.Contains(server.Show(t, "main", rendered), node) })
		onlyBelow(t, server, dir)
	}
	k.away(t, "foreign-2")
	await(t, "the node is gone", func() bool { return !strings.Contains(server.Show(t, "main", rendered), "foreign-2") })
	for file, text := range theirs {
		if got := server.Show(t, "main", file); got != text {
			t.Errorf("%s is %q", file, got)
		}
	}
	checked(t, server)
}

// TestNothingRuns: no filter, attribute, hook or configuration of Git takes part, neither of the repository nor of
// the user of the controller.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	k := newKube(t)
	const ns, name = "runs", "prod"
	home := t.TempDir()
	ran := filepath.Join(home, "ran")
	touch := filepath.Join(home, "touch.sh")
	for file, text := range map[string]string{
		touch: "#!/bin/sh\ntouch " + ran + "\ncat\n",
		filepath.Join(home, ".gitconfig"): "[core]\n\thooksPath = " + filepath.Join(home, "hooks") + "\n\tautocrlf = true\n\tsshCommand = " + touch +
			"\n[filter \"evil\"]\n\tclean = " + touch + "\n\tsmudge = " + touch + "\n\trequired = true\n[credential]\n\thelper = !" + touch + "\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = " + touch + "\n",
		filepath.Join(home, "hooks/pre-push"):   "#!/bin/sh\ntouch " + ran + "\n",
		filepath.Join(home, "hooks/pre-commit"): "#!/bin/sh\ntouch " + ran + "\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := filesOf(ns)
	all[".gitattributes"] = "* filter=evil text eol=crlf ident\n"
	all[dir+"/.gitattributes"] = "*.yaml filter=evil export-subst\n"
	server := gitserver.New(t, all)
	k.member(t, ns, "runs-1")
	hydrate(t, k, server, ns, name)
	cmd := exec.Command(program, "controller", "--once", "--kubeconfig", plane.Kubeconfig, "--namespace", ns, "--allow-host", "127.0.0.1")
	cmd.Env = append(os.Environ(), "HOME="+home)
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), ns+"/"+name+" Published: ") {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran that the repository or the user names")
	}
	if text := server.Show(t, "main", rendered); !strings.Contains(text, "runs-1") || strings.Contains(text, "\r") {
		t.Errorf("rendered is %q", text)
	}
}
