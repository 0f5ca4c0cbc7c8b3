package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/poolwright/poolwright/test/gitserver"
)

// path is where the package is in the repository.
const path = "clusters/prod"

// gitServer is a repository with a branch for each Hydration.
type gitServer struct{ gitserver.Server }

// newGit makes a repository with the files of a package in each of so many branches, b0, b1 and so on.
func newGit(work string, files map[string]string, branches int) (*gitServer, error) {
	tree := filepath.Join(work, "tree")
	for name, text := range files {
		file := filepath.Join(tree, path, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	bare := filepath.Join(work, "storage.git")
	commands := [][]string{
		{"init", "-q", "--initial-branch=b0", tree},
		{"-C", tree, "add", "-A"},
		{"-C", tree, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", "the specs"},
	}
	for i := 1; i < branches; i++ {
		commands = append(commands, []string{"-C", tree, "branch", "-q", fmt.Sprintf("b%d", i)})
	}
	commands = append(commands, []string{"clone", "-q", "--bare", tree, bare}, []string{"-C", bare, "config", "http.receivepack", "true"})
	for _, args := range commands {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	s := &gitServer{}
	s.User, s.Password, s.Dir = "bot", "bench", bare
	s.Server.Server = httptest.NewServer(s)
	return s, nil
}

// heads are the commits of all branches. After a clone they are in one file, and each that moved has its own.
func (s *gitServer) heads() map[string]string {
	heads := map[string]string{}
	packed, _ := os.ReadFile(filepath.Join(s.Dir, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		if commit, name, found := strings.Cut(strings.TrimSpace(line), " refs/heads/"); found {
			heads[name] = commit
		}
	}
	for name := range heads {
		if text, err := os.ReadFile(filepath.Join(s.Dir, "refs/heads", name)); err == nil && len(text) > 0 {
			heads[name] = strings.TrimSpace(string(text))
		}
	}
	return heads
}
