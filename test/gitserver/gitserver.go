// Package gitserver is a Git server for tests: git's own http-backend, on loopback, for one user.
package gitserver

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
)

// Server is a running server with one bare repository.
type Server struct {
	*httptest.Server
	User, Password string // who may read and push
	Dir            string // of the repository

	mu       sync.Mutex
	requests []string
	before   func(w http.ResponseWriter, r *http.Request) (answered bool)
}

// New starts a server whose repository has a branch main with these files. It ends with the test,
// which is left out where there is no git.
func New(t *testing.T, files map[string]string) *Server {
	t.Helper()
	s := newServer(t, files)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// NewTLS is New with TLS.
func NewTLS(t *testing.T, files map[string]string) *Server {
	t.Helper()
	s := newServer(t, files)
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func newServer(t *testing.T, files map[string]string) *Server {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tool.Missing(t, "there is no git on this machine")
	}
	s := &Server{User: "bot", Password: "s3cr3t-canary/4711", Dir: filepath.Join(t.TempDir(), "storage.git")}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.Git(t, "init", "-q", "--bare", "--initial-branch=main")
	s.Git(t, "config", "http.receivepack", "true")
	s.Commit(t, "main", "the first files", files)
	return s
}

// Repository is the URL of the repository.
func (s *Server) Repository() string { return s.URL + "/storage.git" }

// ServeHTTP lets http-backend answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.String())
	before := s.before
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	user, password, _ := r.BasicAuth()
	if user != s.User || password != s.Password {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		// As a server that says too much.
		http.Error(w, "no access for "+r.Header.Get("Authorization")+" "+password, http.StatusUnauthorized)
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: s.Dir, Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(s.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + s.Dir, "REMOTE_USER=" + user,
	}}
	backend.ServeHTTP(w, r)
}

// Watch sets what sees each request first, nil for nothing. What it answers is the answer.
func (s *Server) Watch(before func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// Requests lists the requests since the last call, as METHOD PATH.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = nil }()
	return s.requests
}

// Git runs git in the repository, and returns what it prints.
func (s *Server) Git(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.git(nil, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (s *Server) git(env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = s.Dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Commit adds a commit to a branch, as a person who pushes: with these files changed; one with the
// text "" is removed. Where the branch moves meanwhile, it begins again.
func (s *Server) Commit(t testing.TB, branch, message string, files map[string]string) string {
	t.Helper()
	for {
		commit, err := s.commit(t, branch, message, files)
		if err == nil {
			return commit
		}
		if !strings.Contains(err.Error(), "cannot lock ref") {
			t.Fatal(err)
		}
	}
}

func (s *Server) commit(t testing.TB, branch, message string, files map[string]string) (string, error) {
	dir := t.TempDir()
	run := func(args ...string) (string, error) {
		out, err := s.git([]string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}, args...)
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(out), err
	}
	made := []string{"-m", message}
	head, err := run("rev-parse", "-q", "--verify", "refs/heads/"+branch)
	if err != nil {
		head = strings.Repeat("0", 40)
	} else {
		made = append(made, "-p", head)
		if _, err := run("read-tree", head); err != nil {
			return "", err
		}
	}
	for name, text := range files {
		if text == "" {
			_, err = run("rm", "-q", "--cached", name)
		} else {
			file := filepath.Join(dir, "file")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return "", err
			}
			var blob string
			if blob, err = run("hash-object", "-w", file); err == nil {
				_, err = run("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
			}
		}
		if err != nil {
			return "", err
		}
	}
	root, err := run("write-tree")
	if err != nil {
		return "", err
	}
	commit, err := run(append([]string{"commit-tree", root}, made...)...)
	if err != nil {
		return "", err
	}
	_, err = run("update-ref", "refs/heads/"+branch, commit, head)
	return commit, err
}

// Head is the commit of a branch.
func (s *Server) Head(t testing.TB, branch string) string {
	t.Helper()
	return s.Git(t, "rev-parse", "refs/heads/"+branch)
}

// Show is the text of a file on a branch.
func (s *Server) Show(t testing.TB, branch, name string) string {
	t.Helper()
	out, err := s.git(nil, "show", branch+":"+name)
	if err != nil {
		return ""
	}
	return out
}

// Hook sets a hook of the repository, a shell script; "" removes it.
func (s *Server) Hook(t testing.TB, name, script string) {
	t.Helper()
	file := filepath.Join(s.Dir, "hooks", name)
	if script == "" {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
