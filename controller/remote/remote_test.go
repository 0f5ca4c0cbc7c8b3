package remote_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/test/expected"
	"github.com/poolwright/poolwright/test/gitserver"
)

// onLoopback are rules under which a test may work.
func onLoopback() remote.Rules {
	return remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 1 << 20}
}

func credentialsOf(s *gitserver.Server) remote.Credentials {
	return remote.Credentials{Username: s.User, Password: s.Password}
}

func open(t *testing.T, address string, rules remote.Rules, c remote.Credentials) *remote.Remote {
	t.Helper()
	r, err := remote.Open(address, rules, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write makes a commit after the last one, with one file more.
func write(t *testing.T, s *remote.Source, name, text string) plumbing.Hash {
	t.Helper()
	add := func(encode func(plumbing.EncodedObject) error) plumbing.Hash {
		o := s.NewEncodedObject()
		if err := encode(o); err != nil {
			t.Fatal(err)
		}
		hash, err := s.SetEncodedObject(o)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	head, err := object.GetCommit(s, s.Head)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := head.Tree()
	if err != nil {
		t.Fatal(err)
	}
	blob := add(func(o plumbing.EncodedObject) error {
		o.SetType(plumbing.BlobObject)
		w, err := o.Writer()
		if err != nil {
			return err
		}
		_, err = w.Write([]byte(text))
		return errors.Join(err, w.Close())
	})
	entries := append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: blob})
	slices.SortFunc(entries, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) }) // no name is the beginning of another
	root := add((&object.Tree{Entries: entries}).Encode)
	who := object.Signature{Name: "Poolwright", Email: "poolwright@example.com", When: time.Now()}
	return add((&object.Commit{Author: who, Committer: who, Message: "add " + name + "\n", TreeHash: root, ParentHashes: []plumbing.Hash{s.Head}}).Encode)
}

func fetch(t *testing.T, r *remote.Remote) *remote.Source {
	t.Helper()
	s, err := r.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reason wants an *Error with this reason and text, and without the password.
func reason(t *testing.T, err error, want remote.Reason, says expected.Text) {
	t.Helper()
	var why *remote.Error
	if !errors.As(err, &why) {
		t.Fatalf("got %v, want reason %s", err, want)
	}
	if why.Reason != want || !strings.Contains(why.Message, string(says)) {
		t.Errorf("got  %s: %s\nwant %s: %s", why.Reason, why.Message, want, says)
	}
}

func TestFetchAndPush(t *testing.T) {
	server := gitserver.New(t, map[string]string{"a.txt": "a\n", "dir/b.txt": strings.Repeat("b\n", 1000)})
	for range 3 {
		server.Commit(t, "main", "more", map[string]string{"a.txt": time.Now().String()})
	}
	r := open(t, server.Repository(), onLoopback(), credentialsOf(server))
	head, err := r.Head(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if got := server.Requests(); len(got) > 2 { // the second with credentials
		t.Errorf("to look up a branch takes %q", got)
	}
	if want := server.Head(t, "main"); head.String() != want {
		t.Fatalf("the head is %s, want %s", head, want)
	}
	source := fetch(t, r)
	commits := 0
	for range source.Commits {
		commits++
	}
	if commits != 1 {
		t.Errorf("fetched %d commits, want the last alone", commits)
	}
	commit := write(t, source, "c.txt", "c\n")
	if err := r.Push(t.Context(), "main", source, commit); err != nil {
		t.Fatal(err)
	}
	if got := server.Head(t, "main"); got != commit.String() {
		t.Errorf("the head is %s, want %s", got, commit)
	}
	if got := server.Show(t, "main", "c.txt"); got != "c\n" {
		t.Errorf("c.txt is %q", got)
	}
	server.Git(t, "fsck", "--strict")
}

// TestTheBranchDecides: whatever the answer of a server is, the branch says what became of a push.
func TestTheBranchDecides(t *testing.T) {
	server := gitserver.New(t, map[string]string{"a.txt": "a\n"})
	r := open(t, server.Repository(), onLoopback(), credentialsOf(server))

	t.Run("moved before", func(t *testing.T) {
		source := fetch(t, r)
		theirs := server.Commit(t, "main", "of a person", map[string]string{"b.txt": "b\n"})
		err := r.Push(t.Context(), "main", source, write(t, source, "c.txt", "c\n"))
		reason(t, err, remote.Moved, "branch main has moved to another commit")
		if got := server.Head(t, "main"); got != theirs {
			t.Error("the commit of the person is gone")
		}
	})
	t.Run("moved meanwhile", func(t *testing.T) {
		source := fetch(t, r)
		// After the server listed its branches, and before the push.
		var theirs string
		server.Watch(func(_ http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "git-receive-pack") && theirs == "" {
				theirs = server.Commit(t, "main", "of a person", map[string]string{"d.txt": time.Now().String()})
			}
			return false
		})
		defer server.Watch(nil)
		err := r.Push(t.Context(), "main", source, write(t, source, "e.txt", "e\n"))
		reason(t, err, remote.Moved, "branch main has moved to another commit")
		if got := server.Head(t, "main"); got != theirs {
			t.Error("the commit of the person is gone")
		}
	})
	t.Run("protected", func(t *testing.T) {
		server.Hook(t, "pre-receive", `echo "GL-HOOK-ERR: You are not allowed to push code to protected branches, $SECRET `+server.Password+`" >&2; exit 1`)
		defer server.Hook(t, "pre-receive", "")
		source := fetch(t, r)
		err := r.Push(t.Context(), "main", source, write(t, source, "f.txt", "f\n"))
		reason(t, err, remote.Protected, "the server does not accept a push to branch main: GL-HOOK-ERR: You are not allowed to push code to protected branches, *** command error on refs/heads/main: pre-receive hook declined; allow the user of spec.source.secretRef to push to it")
	})
	t.Run("within another branch", func(t *testing.T) {
		server.Git(t, "update-ref", "refs/heads/poolwright/main/a", "main")
		defer server.Git(t, "update-ref", "-d", "refs/heads/poolwright/main/a")
		source := fetch(t, r)
		commit := write(t, source, "g.txt", "g\n")
		for _, branch := range []string{"poolwright/main", "poolwright/main/a/b"} {
			reason(t, r.Move(t.Context(), branch, plumbing.ZeroHash, commit, source), remote.Protected, expected.Text("branch "+branch+
				" cannot be created beside branch poolwright/main/a, because Git has no branch within another; write another spec.publish.branch, or delete that one"))
		}
	})
	t.Run("cut after the push", func(t *testing.T) {
		server.Watch(func(_ http.ResponseWriter, q *http.Request) bool {
			if q.Method != http.MethodPost || !strings.HasSuffix(q.URL.Path, "git-receive-pack") {
				return false
			}
			server.Watch(nil)
			server.ServeHTTP(httptest.NewRecorder(), q) // the push is done, and its answer lost
			panic(http.ErrAbortHandler)
		})
		source := fetch(t, r)
		commit := write(t, source, "g.txt", "g\n")
		if err := r.Push(t.Context(), "main", source, commit); err != nil {
			t.Fatal(err)
		}
		if got := server.Head(t, "main"); got != commit.String() {
			t.Errorf("the head is %s, want %s", got, commit)
		}
	})
	t.Run("cut before the push", func(t *testing.T) {
		server.Watch(func(_ http.ResponseWriter, q *http.Request) bool {
			if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "git-receive-pack") {
				panic(http.ErrAbortHandler)
			}
			return false
		})
		defer server.Watch(nil)
		before := server.Head(t, "main")
		source := fetch(t, r)
		err := r.Push(t.Context(), "main", source, write(t, source, "h.txt", "h\n"))
		reason(t, err, remote.Failed, "cannot be asked: ")
		if got := server.Head(t, "main"); got != before {
			t.Errorf("the head is %s, want %s", got, before)
		}
	})
}

// TestReasons holds what is said of each source that cannot be read.
func TestReasons(t *testing.T) {
	server := gitserver.New(t, map[string]string{"a.txt": "a\n"})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was asked", r.Method, r.URL)
	}))
	defer elsewhere.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/storage.git/info/refs?service=git-upload-pack", http.StatusFound))
	defer redirecting.Close()
	host := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	good := credentialsOf(server)
	closed := onLoopback()
	closed.Hosts = nil
	for _, c := range []struct {
		name    string
		address string
		branch  string
		rules   remote.Rules
		with    remote.Credentials
		want    remote.Reason
		says    expected.Text
	}{
		{"no password", server.Repository(), "main", onLoopback(), remote.Credentials{}, remote.Unknown,
			expected.Text(host(server.URL) + " does not accept the credentials: authentication required: no access for; name a Secret with them in spec.source.secretRef")},
		{"wrong password", server.Repository(), "main", onLoopback(), remote.Credentials{Username: "bot", Password: "wrong"}, remote.Unknown,
			"does not accept the credentials: authentication required: no access for Basic *** ***; correct the Secret that spec.source.secretRef names"},
		{"no repository", server.URL + "/other.git", "main", onLoopback(), good, remote.Unavailable,
			"has no such repository, or the credentials may not read it; correct spec.source.url, or the Secret that spec.source.secretRef names"},
		{"no branch", server.Repository(), "prod", onLoopback(), good, remote.Unavailable,
			"the repository has no branch prod; create it, or correct spec.source.branch"},
		{"redirect", redirecting.URL + "/storage.git", "main", onLoopback(), good, remote.Refused,
			"redirects to another server, which is not followed; write the URL that it leads to in spec.source.url"},
		{"loopback", "https://" + host(server.URL) + "/storage.git", "main", closed, good, remote.Refused,
			"127.0.0.1 is 127.0.0.1, a loopback address; correct spec.source.url, or start the controller with --allow-host 127.0.0.1"},
		{"link-local", "https://169.254.169.254/storage.git", "main", closed, good, remote.Refused,
			"169.254.169.254 is 169.254.169.254, a link-local address; "},
		{"unspecified", "https://0.0.0.0/storage.git", "main", closed, good, remote.Refused, "the unspecified address; "},
		{"multicast", "https://224.0.0.1/storage.git", "main", closed, good, remote.Refused, "a multicast address; "},
		{"mapped", "https://[::ffff:127.0.0.1]:" + host(server.URL)[len("127.0.0.1:"):] + "/storage.git", "main", closed, good, remote.Refused, "a loopback address; "},
		{"name of loopback", "https://localhost:1/storage.git", "main", closed, good, remote.Refused, "localhost is "},
		{"API server", "https://192.0.2.7/storage.git", "main", remote.Rules{APIServer: apiServer(nil), MaxSource: 1}, good, remote.Refused,
			"192.0.2.7 is 192.0.2.7, an address of the Kubernetes API server; "},
		{"perhaps the API server", "https://192.0.2.7/storage.git", "main", remote.Rules{APIServer: apiServer(errors.New("not now")), MaxSource: 1}, good, remote.Unavailable,
			"192.0.2.7 is not connected to: it is not known whether 192.0.2.7 is an address of the Kubernetes API server: not now"},
		{"too large", server.Repository(), "main", remote.Rules{Hosts: []string{"127.0.0.1"}, MaxSource: 100}, good, remote.Refused,
			"the files of the branch are larger than 100; keep the package in a repository of its own, or start the controller with a larger --max-source"},
		{"nobody there", "http://127.0.0.1:1/storage.git", "main", onLoopback(), good, remote.Unavailable, "127.0.0.1:1 cannot be asked: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, c.address, c.rules, c.with)
			_, err := r.Fetch(t.Context(), c.branch)
			reason(t, err, c.want, c.says)
			if strings.Contains(err.Error(), "wrong") || strings.Contains(err.Error(), server.Password) {
				t.Error("says the password")
			}
		})
	}
}

// apiServer is at 192.0.2.7, or not known.
func apiServer(err error) func(context.Context) ([]netip.Addr, error) {
	return func(context.Context) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, err
	}
}

// TestRefusedURLs are not even asked.
func TestRefusedURLs(t *testing.T) {
	for address, c := range map[string]struct {
		want remote.Reason
		says expected.Text
	}{
		"http://git.example.com/a.git": {remote.Refused,
			"git.example.com is to be read by http, which anybody on the way can read and change; write https:// in spec.source.url, or start the controller with --allow-host git.example.com"},
		"file:///srv/a.git": {remote.Refused,
			"the source is a folder of the controller; write https:// or ssh:// in spec.source.url, or start the controller with --allow-file"},
		"git://git.example.com/a.git": {remote.Refused,
			`the source has scheme "git"; write https:// or ssh:// in spec.source.url`},
		"https://ann:secret@git.example.com/a.git": {remote.Refused,
			"the URL of the source has a user or a password; put them in the Secret that spec.source.secretRef names"},
		"https:git.example.com": {remote.Refused,
			"the URL of the source cannot be read; write one such as https://git.example.com/team/storage.git"},
		"ssh://git.example.com/a.git": {remote.Unknown,
			"the Secret has no identity or no known_hosts, which SSH needs; add them to the Secret that spec.source.secretRef names"},
	} {
		_, err := remote.Open(address, remote.Rules{}, remote.Credentials{})
		reason(t, err, c.want, c.says)
	}
}

// TestAuthority: a private authority must be in the Secret.
func TestAuthority(t *testing.T) {
	server := gitserver.NewTLS(t, map[string]string{"a.txt": "a\n"})
	c := credentialsOf(server)
	_, err := open(t, server.Repository(), onLoopback(), c).Head(t.Context(), "main")
	reason(t, err, remote.Unavailable, "is from an unknown authority; add its certificate to the Secret as ca.crt")
	c.CA = []byte("no certificate")
	_, err = open(t, server.Repository(), onLoopback(), c).Head(t.Context(), "main")
	reason(t, err, remote.Unknown, "ca.crt of the Secret that spec.source.secretRef names has no certificate in PEM; correct it")
	c.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if _, err = open(t, server.Repository(), onLoopback(), c).Head(t.Context(), "main"); err != nil {
		t.Error(err)
	}
}

// TestFiles reads and pushes to a folder, where that is allowed.
func TestFiles(t *testing.T) {
	server := gitserver.New(t, map[string]string{"a.txt": "a\n"})
	r := open(t, "file://"+server.Dir, remote.Rules{Files: true, MaxSource: 1 << 20}, remote.Credentials{})
	source := fetch(t, r)
	commit := write(t, source, "b.txt", "b\n")
	if err := r.Push(t.Context(), "main", source, commit); err != nil {
		t.Fatal(err)
	}
	if got := server.Head(t, "main"); got != commit.String() {
		t.Errorf("the head is %s, want %s", got, commit)
	}
}

// TestSilentServer: one that does not answer is given up when the caller gives up.
func TestSilentServer(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer silent.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := open(t, silent.URL+"/a.git", onLoopback(), remote.Credentials{}).Head(ctx, "main")
	reason(t, err, remote.Unavailable, "did not answer in time")
}

// TestNoCredentialIsSaid: a server may say what it was sent, in any form.
func TestNoCredentialIsSaid(t *testing.T) {
	const password, token = "p@ss wörd/+%", "tok-4711"
	forms := func(secret string) []string {
		return []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)), fmt.Sprintf("%x", secret),
		}
	}
	for _, with := range []remote.Credentials{{Username: "bot", Password: password}, {BearerToken: token}} {
		said := append(forms(with.Password+with.BearerToken), forms(with.Username+":"+with.Password)...)
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Join(append(said, r.Header.Get("Authorization")), "\n"), http.StatusUnauthorized)
		}))
		_, err := open(t, echo.URL+"/a.git", onLoopback(), with).Head(t.Context(), "main")
		echo.Close()
		if err == nil {
			t.Fatal("no error")
		}
		for _, form := range append(said, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(with.Password+with.BearerToken)), "=")) {
			if len(form) > 4 && strings.Contains(err.Error(), form) {
				t.Errorf("%q is in %q", form, err)
			}
		}
	}
}
