package keeper_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/poolwright/poolwright/test/gitea"
	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/tutorial"
)

// readerTutorial runs docs/tutorial-controller.md, as its reader would.
func readerTutorial(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	tool.Need(t, "kubectl")
	r := &gitea.Repository{Server: s, Path: "/repos/" + s.User + "/storage"}
	merged := 0
	o := tutorial.Reader(t, tool.Root(t), filepath.Dir(program))
	o.Env = append(o.Env, "KUBECONFIG="+plane.Kubeconfig, "FORGE="+s.URL, "FORGE_USER="+s.User, "TOKEN="+s.Token,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=!f() { echo username=$FORGE_USER; echo password=$TOKEN; }; f")
	o.Meanwhile = map[string]func(tutorial.Shell) error{
		"repository": func(tutorial.Shell) error {
			s.Must(t, http.MethodPost, "/user/repos", map[string]any{"name": "storage", "private": true}, nil)
			return nil
		},
		"pushed": func(tutorial.Shell) error {
			r.AwaitPushed(t)
			return nil
		},
		"nodes": func(tutorial.Shell) error {
			k.node(t, "stor-1")
			k.node(t, "stor-2")
			return nil
		},
		"merge": func(tutorial.Shell) error {
			merged++
			r.Merge(t, merged, "squash")
			return nil
		},
		"running": func(shell tutorial.Shell) error {
			for _, e := range shell.Env {
				if text, is := strings.CutPrefix(e, "CONTROLLER="); is {
					pid, err := strconv.Atoi(text)
					if err != nil {
						return err
					}
					t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // which the reader has ended
				}
			}
			return nil
		},
		"node-joins": func(tutorial.Shell) error {
			k.node(t, "stor-3")
			return nil
		},
	}
	tutorial.Run(t, filepath.Join(tool.Root(t), "docs/tutorial-controller.md"), o)
}
