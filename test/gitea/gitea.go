// Package gitea is a real Gitea for tests, on loopback, with one user and repositories of its.
package gitea

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/tool"
)

// Server is a running Gitea. User owns its repositories, and Token is for Git and for the API.
type Server struct {
	URL         string // http://127.0.0.1:PORT
	User, Token string

	dir     string
	program string
}

// settings are those of a Gitea that asks nobody and runs nothing beside.
const settings = `RUN_MODE = prod
WORK_PATH = %[1]s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[repository]
ROOT = %[1]s/repositories
DEFAULT_BRANCH = main
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]s
ROOT_URL = http://127.0.0.1:%[2]s/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = %[3]s
[security]
INSTALL_LOCK = true
SECRET_KEY = for-tests
PASSWORD_HASH_ALGO = pbkdf2$1000$50
[service]
DISABLE_REGISTRATION = true
[log]
MODE = console
LEVEL = warn
[indexer]
ISSUE_INDEXER_TYPE = db
[queue]
TYPE = channel
[actions]
ENABLED = false
[cron]
ENABLED = false
[webhook]
ALLOWED_HOST_LIST = loopback
[mailer]
ENABLED = false
`

// Start starts a Gitea, which ends with the test. The test is left out where the program was not
// built: make bin/gitea.
func Start(t *testing.T) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: a Gitea is not short")
	}
	s := &Server{User: "bot", dir: t.TempDir(), program: tool.Need(t, "gitea")}
	address := tool.FreeAddress(t)
	s.URL = "http://" + address
	// Templates and translations are in the module that the program was built from.
	static, _, err := tool.Run(t, filepath.Join(tool.Root(t), "test/gitea/program"), nil, "go", "list", "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea")
	if err != nil {
		t.Fatal("the folder of Gitea's module: ", err)
	}
	text := fmt.Sprintf(settings, s.dir, address[strings.LastIndexByte(address, ':')+1:], strings.TrimSpace(static))
	if err := os.WriteFile(filepath.Join(s.dir, "app.ini"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := s.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("gitea %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("migrate")
	said := run("admin", "user", "create", "--username", s.User, "--password", "secret-1", "--email", "bot@example.com", "--admin",
		"--must-change-password=false", "--access-token", "--access-token-name", "t", "--access-token-scopes", "all")
	if s.Token = regexp.MustCompile(`[0-9a-f]{40}`).FindString(said); s.Token == "" {
		t.Fatalf("no token in\n%s", said)
	}
	var log bytes.Buffer
	web := s.command("web")
	web.Stdout, web.Stderr = &log, &log
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = web.Process.Signal(os.Interrupt)
		_ = web.Wait()
		if t.Failed() && log.Len() > 0 {
			t.Logf("Gitea says\n%s", log.String())
		}
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if res, err := http.Get(s.URL + "/api/healthz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s
			}
		}
		if time.Now().After(end) {
			t.Fatal("Gitea does not answer")
		}
	}
}

func (s *Server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, append([]string{"--config", filepath.Join(s.dir, "app.ini")}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "GIT_CONFIG_NOSYSTEM=1")
	cmd.SysProcAttr = tool.DieWithParent()
	return cmd
}

// Do sends a request to the API: in and out are JSON, nil for none. It returns the code.
func (s *Server) Do(t testing.TB, method, path string, in, out any) int {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(method, s.URL+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Fatalf("%s %s: %v\n%s", method, path, err, answer)
		}
	}
	return res.StatusCode
}

// Must is Do for what has to succeed.
func (s *Server) Must(t testing.TB, method, path string, in, out any) {
	t.Helper()
	if code := s.Do(t, method, path, in, out); code >= 300 {
		t.Fatalf("%s %s answers %d", method, path, code)
	}
}

// Repository is a repository of a Gitea, with a clone on the disk for people.
type Repository struct {
	*Server
	Name string
	URL  string // for Git
	Path string // in the API
	work string
}

// Repository creates a repository whose branch main has these files.
func (s *Server) Repository(t testing.TB, name string, files map[string]string) *Repository {
	t.Helper()
	s.Must(t, http.MethodPost, "/user/repos", map[string]any{"name": name, "default_branch": "main", "private": true}, nil)
	r := &Repository{Server: s, Name: name, URL: s.URL + "/" + s.User + "/" + name + ".git", Path: "/repos/" + s.User + "/" + name, work: t.TempDir()}
	r.Git(t, "init", "-q", "--initial-branch=main", ".")
	r.Git(t, "remote", "add", "origin", strings.Replace(r.URL, "http://", "http://"+s.User+":"+s.Token+"@", 1))
	r.write(t, files)
	r.Git(t, "commit", "-q", "-m", "the first files")
	r.Git(t, "push", "-q", "origin", "main")
	r.AwaitPushed(t)
	return r
}

// AwaitPushed waits until a repository is not empty: Gitea handles a push beside the request, and an empty repository
// has no pull requests.
func (r *Repository) AwaitPushed(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var now struct{ Empty bool }
		if r.Must(t, http.MethodGet, r.Path, nil, &now); !now.Empty {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the repository stays empty")
		}
	}
}

// Git runs git in the clone, as a person.
func (r *Repository) Git(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.git(args)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Try is Git for what may fail.
func (r *Repository) Try(args ...string) error {
	_, err := r.git(args)
	return err
}

func (r *Repository) git(args []string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Has reports whether the repository of the server has a commit, on whatever branch.
func (r *Repository) Has(commit string) bool {
	return r.Try("--git-dir", filepath.Join(r.dir, "repositories", r.User, r.Name+".git"), "cat-file", "-e", commit+"^{commit}") == nil
}

func (r *Repository) write(t testing.TB, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(r.work, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.Git(t, "add", "-A")
}

// Commit adds a commit to a branch, and pushes it; one that is not there follows main.
func (r *Repository) Commit(t testing.TB, branch, message string, files map[string]string) string {
	t.Helper()
	r.Git(t, "fetch", "-q", "--prune", "origin")
	from := "origin/main"
	if r.Git(t, "branch", "-r", "--list", "origin/"+branch) != "" {
		from = "origin/" + branch
	}
	r.Git(t, "checkout", "-q", "-B", "work", from)
	r.write(t, files)
	r.Git(t, "commit", "-q", "--allow-empty", "-m", message)
	r.Git(t, "push", "-q", "origin", "HEAD:refs/heads/"+branch)
	return r.Git(t, "rev-parse", "HEAD")
}

// Head is the commit of a branch, "" if there is none.
func (r *Repository) Head(t testing.TB, branch string) string {
	t.Helper()
	hash, _, _ := strings.Cut(r.Git(t, "ls-remote", "origin", "refs/heads/"+branch), "\t")
	return hash
}

// Show is the text of a file on a branch, "" if there is none.
func (r *Repository) Show(t testing.TB, branch, name string) string {
	t.Helper()
	r.Git(t, "fetch", "-q", "--prune", "origin")
	if r.Git(t, "ls-tree", "--name-only", "origin/"+branch, name) == "" {
		return ""
	}
	return r.Git(t, "show", "origin/"+branch+":"+name)
}

// Pull is a pull request as people see it.
type Pull struct {
	Number    int    `json:"number"`
	State     string `json:"state"`
	Title     string `json:"title"`
	Body      string `json:"body"`
	Merged    bool   `json:"merged"`
	Mergeable bool   `json:"mergeable"`
	Head      struct {
		SHA   string `json:"sha"`
		Label string `json:"label"`
	} `json:"head"`
}

// Pulls are all pull requests, the newest first.
func (r *Repository) Pulls(t testing.TB) []Pull {
	t.Helper()
	var all []Pull
	r.Must(t, http.MethodGet, r.Path+"/pulls?state=all", nil, &all)
	return all
}

// Merge merges a pull request, as a person who waits until Gitea has examined it: merge, squash or
// rebase.
func (r *Repository) Merge(t testing.TB, number int, how string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		code := r.Do(t, http.MethodPost, fmt.Sprintf("%s/pulls/%d/merge", r.Path, number), map[string]string{"Do": how}, nil)
		if code < 300 {
			return
		}
		if code != http.StatusMethodNotAllowed || time.Now().After(end) {
			t.Fatalf("merging pull request %d: %d", number, code)
		}
	}
}

// Close closes a pull request, as a person.
func (r *Repository) Close(t testing.TB, number int) {
	t.Helper()
	r.Must(t, http.MethodPatch, fmt.Sprintf("%s/pulls/%d", r.Path, number), map[string]string{"state": "closed"}, nil)
}
