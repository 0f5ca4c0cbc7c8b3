package keeper_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/controller/proposal"
	"github.com/poolwright/poolwright/test/gitea"
)

const head = "poolwright/main/clusters/prod"

// propose makes a repository on a Gitea and a Hydration that keeps a pull request there.
func propose(t *testing.T, k kube, s *gitea.Server, ns, more string) *gitea.Repository {
	t.Helper()
	r := s.Repository(t, ns, filesOf(ns))
	k.must(t, `{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, ns)
	secret(t, k, ns, s.User, s.Token)
	k.must(t, `
apiVersion: poolwright.io/v1alpha1
kind: Hydration
metadata: {name: prod, namespace: %s}
spec:
  source: {url: "%s", path: %s, interval: 10s, secretRef: {name: git}}
  publish: {mode: PullRequest, provider: gitea}
  facts: {debounce: 0s, flapWindow: 0s}
  %s
`, ns, r.URL, dir, more)
	return r
}

// rendered is the file that has a Volume for each node.
const rendered = dir + "/rendered/volumetemplate.logs/volume.yaml"

// TestForge is about pull requests on a real forge.
func TestForge(t *testing.T) {
	t.Parallel()
	s := gitea.Start(t)
	for name, test := range map[string]func(*testing.T, *gitea.Server){
		"PullRequest": pullRequest, "Flapping": pullRequestFlapping, "Killed": pullRequestKilled, "AutoMerge": autoMerge,
		"Tutorial": readerTutorial, "Webhook": forgeWebhook,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// pullRequest is the way from a fact to a merged pull request.
func pullRequest(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	const ns = "pull"
	k.member(t, ns, "p1")
	r := propose(t, k, s, ns, "")
	said := keep(t, ns)

	h := k.becomes(t, ns, "prod", "AwaitingMerge")
	pulls := r.Pulls(t)
	if len(pulls) != 1 || pulls[0].State != "open" || pulls[0].Head.Label != head || pulls[0].Title != "1 to create, 0 to change, 0 to remove; all safe" {
		t.Fatalf("pull requests %+v", pulls)
	}
	for _, want := range []string{"| safe | create | `Volume logs-", "\n<!-- poolwright: output " + h.Status.Published.Digest + " -->\n"} {
		if !strings.Contains(pulls[0].Body, want) {
			t.Errorf("no %q in\n%s", want, pulls[0].Body)
		}
	}
	if p := h.Status.Published; p.Revision != head+"@sha1:"+r.Head(t, head) || !strings.HasSuffix(p.URL, "/bot/pull/pulls/1") {
		t.Errorf("published %+v", p)
	}
	ahead := func() string {
		r.Git(t, "fetch", "-q", "--prune", "origin")
		return r.Git(t, "log", "--format=%an", "origin/main..origin/"+head)
	}

	// A second fact comes to the same pull request, with one commit.
	k.member(t, ns, "p2")
	await(t, "the second node in the pull request", func() bool {
		all := r.Pulls(t)
		return strings.Contains(r.Show(t, head, rendered), "p2") && len(all) == 1 && strings.HasPrefix(all[0].Title, "2 to create")
	})
	if got := ahead(); got != "Poolwright" {
		t.Errorf("commits of %q", got)
	}
	if got := r.Show(t, "main", rendered); got != "" {
		t.Errorf("main has\n%s", got)
	}

	// Another folder, or nothing new: the head stays.
	before := r.Head(t, head)
	r.Commit(t, "main", "elsewhere", map[string]string{"README.md": "more\n"})
	k.reconcile(t, ns, "prod")
	if got := r.Head(t, head); got != before {
		t.Errorf("the head is replaced: %s, %s", before, got)
	}

	// A commit of a person stops the updates.
	foreign := r.Commit(t, head, "my own", map[string]string{"NOTES.md": "mine\n"})
	k.member(t, ns, "p3")
	k.reconcile(t, ns, "prod")
	if h := k.becomes(t, ns, "prod", "ForeignCommits"); !strings.Contains(h.Status.Condition("Stalled").Message, foreign[:12]) {
		t.Errorf("%+v", h.Status.Conditions)
	}
	if got := r.Head(t, head); got != foreign {
		t.Fatalf("the commit of a person is lost: %s", got)
	}

	// Squashed, it is in the base. The third node is a new pull request.
	r.Merge(t, 1, "squash")
	k.reconcile(t, ns, "prod")
	await(t, "a second pull request", func() bool { return len(r.Pulls(t)) == 2 })
	k.becomes(t, ns, "prod", "AwaitingMerge")
	if got := ahead(); got != "Poolwright" {
		t.Errorf("after the squash, commits of %q", got)
	}
	r.Merge(t, 2, "merge")
	k.reconcile(t, ns, "prod")
	h = k.becomes(t, ns, "prod", "UpToDate")
	if p := h.Status.Published; p.Revision != "main@sha1:"+r.Head(t, "main") {
		t.Errorf("after the merge, %+v is published", p)
	}
	if r.Show(t, "main", "NOTES.md") != "mine" || !strings.Contains(r.Show(t, "main", rendered), "p3") {
		t.Error("main lacks what was merged")
	}
	if got := r.Head(t, head); got != "" {
		t.Errorf("the merged branch is left over: %s", got)
	}
	await(t, "the event Merged", func() bool { return strings.Contains(k.everything(t, ns), `"reason":"Merged"`) })

	// Closed by a person, the output is not proposed again; another one is.
	k.member(t, ns, "p4")
	k.reconcile(t, ns, "prod")
	k.becomes(t, ns, "prod", "AwaitingMerge")
	r.Close(t, 3)
	k.reconcile(t, ns, "prod")
	k.becomes(t, ns, "prod", "Declined")
	k.reconcile(t, ns, "prod")
	if all := r.Pulls(t); len(all) != 3 || all[0].State != "closed" {
		t.Fatalf("after it was closed: %+v", all)
	}
	r.Commit(t, "main", "a larger size", map[string]string{dir + "/logs.yaml": strings.Replace(filesOf(ns)[dir+"/logs.yaml"], "1Gi", "2Gi", 1)})
	k.reconcile(t, ns, "prod")
	await(t, "a pull request with another output", func() bool {
		all := r.Pulls(t)
		return len(all) == 4 && all[0].State == "open"
	})

	// The output is that of the base again: withdrawn, and not declined.
	r.Commit(t, "main", "back", map[string]string{dir + "/logs.yaml": filesOf(ns)[dir+"/logs.yaml"]})
	if err := k.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).Delete(t.Context(), "p4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "withdrawn", func() bool {
		all := r.Pulls(t)
		return all[0].State == "closed" && proposal.ReadMarks(all[0].Body).Withdrawn && r.Head(t, head) == ""
	})
	k.becomes(t, ns, "prod", "UpToDate")

	for what, text := range map[string]string{"the log": said.String(), "the cluster": k.everything(t, ns), "the pull requests": r.Pulls(t)[0].Body} {
		if strings.Contains(text, s.Token) {
			t.Errorf("%s has the token", what)
		}
	}
}

// pullRequestFlapping: what a pull request changes once is no flapping, however often it is replaced
// for something else; what changes in it again and again is.
func pullRequestFlapping(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	const ns = "pullflap"
	k.member(t, ns, "g1")
	k.member(t, ns, "g2")
	r := propose(t, k, s, ns, "")
	k.patch(t, ns, "prod", `{"spec":{"facts":{"flapWindow":"1h"}}}`)
	keep(t, ns)
	k.becomes(t, ns, "prod", "AwaitingMerge")
	r.Merge(t, 1, "merge")
	k.reconcile(t, ns, "prod")
	k.becomes(t, ns, "prod", "UpToDate")
	has := func(node string) bool { return strings.Contains(r.Show(t, head, rendered), "logs-"+node) }
	k.away(t, "g2") // which each of the next outputs removes from the base
	await(t, "the volume goes", func() bool { return r.Head(t, head) != "" && !has("g2") })
	for _, node := range []string{"g3", "g4", "g5"} {
		k.member(t, ns, node)
		await(t, "the volume comes", func() bool { return has(node) })
	}
	// By now g5 has come once. It goes and comes until it has gone twice, and stays for the third time.
	for i := range 3 {
		k.away(t, "g5")
		if i < 2 {
			await(t, "the volume goes", func() bool { return !has("g5") })
			k.member(t, ns, "g5")
			await(t, "the volume is back", func() bool { return has("g5") })
		}
	}
	k.becomes(t, ns, "prod", "Flapping")
	if !has("g5") {
		t.Error("published although it flaps")
	}
}

// pullRequestKilled: killed after each step that others see, a controller that starts again makes one
// pull request.
func pullRequestKilled(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	for _, c := range []struct{ ns, path string }{{"after-push", "/git-receive-pack"}, {"after-create", "/pulls"}} {
		t.Run(c.ns, func(t *testing.T) {
			var first *process
			started := make(chan struct{})
			proxy := newCut(t, s, http.MethodPost, c.path, func() {
				<-started
				first.signal(syscall.SIGKILL)
				<-first.ended
			})
			k.member(t, c.ns, "s-"+c.ns)
			r := propose(t, k, s, c.ns, "")
			k.patch(t, c.ns, "prod", `{"spec":{"source":{"url":"`+proxy+`/bot/`+c.ns+`.git"}}}`)
			first = start(t, c.ns, "--leader-elect=false")
			close(started)
			if code := first.end(t); code != -1 {
				t.Fatalf("not killed: %d", code)
			}
			if got := k.get(t, c.ns, "prod").Status.Condition("Ready").Reason; got == "AwaitingMerge" {
				t.Fatal("killed too late")
			}
			second := start(t, c.ns, "--leader-elect=false")
			k.becomes(t, c.ns, "prod", "AwaitingMerge")
			second.signal(syscall.SIGTERM)
			if code := second.end(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if all := r.Pulls(t); len(all) != 1 || all[0].State != "open" {
				t.Errorf("pull requests %+v", all)
			}
			r.Git(t, "fetch", "-q", "origin")
			if got := r.Git(t, "log", "--format=%an", "origin/main..origin/"+head); got != "Poolwright" {
				t.Errorf("commits of %q", got)
			}
			for what, text := range map[string]string{"the log": first.log.String() + second.log.String(), "the cluster": k.everything(t, c.ns)} {
				if strings.Contains(text, s.Token) {
					t.Errorf("%s has the token", what)
				}
			}
		})
	}
}

// autoMerge: what is safe needs no person; on a protected branch, the forge merges it.
func autoMerge(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	const ns = "auto"
	k.member(t, ns, "m1")
	r := propose(t, k, s, ns, "autoMerge: Safe")
	keep(t, ns)
	k.becomes(t, ns, "prod", "Published", "UpToDate")
	if !strings.Contains(r.Show(t, "main", rendered), "m1") || len(r.Pulls(t)) != 0 {
		t.Error("it is not on the branch of the specs")
	}
	r.Must(t, http.MethodPost, r.Path+"/branch_protections", map[string]any{"rule_name": "main", "enable_push": false, "required_approvals": 1}, nil)
	k.member(t, ns, "m2")
	k.reconcile(t, ns, "prod")
	await(t, "a pull request that waits for an approval", func() bool {
		return strings.Contains(k.get(t, ns, "prod").Status.Condition("Ready").Message, "cannot be merged yet")
	})
	r.Must(t, http.MethodPatch, r.Path+"/branch_protections/main", map[string]any{"required_approvals": 0}, nil)
	await(t, "merged by the forge", func() bool {
		all := r.Pulls(t)
		return len(all) == 1 && all[0].Merged
	})
	k.becomes(t, ns, "prod", "UpToDate")
	if !strings.Contains(r.Show(t, "main", rendered), "m2") {
		t.Error("main lacks the second node")
	}
}

// forgeWebhook: a real forge signs its webhooks as the controller expects it. The branch is looked up every 10 minutes,
// so that only they have a push and a merge noticed.
func forgeWebhook(t *testing.T, s *gitea.Server) {
	k := newKube(t)
	const ns = "forgehook"
	k.member(t, ns, "fh-1")
	r := propose(t, k, s, ns, "")
	k.must(t, `{apiVersion: v1, kind: Secret, metadata: {name: hook, namespace: %s}, stringData: {token: %q}}`, ns, hookToken)
	k.patch(t, ns, "prod", `{"spec":{"source":{"interval":"10m","webhookSecretRef":{"name":"hook"}}}}`)
	url := hooksOf(t, start(t, ns, "--leader-elect=false", "--webhook-listen", "127.0.0.1:0")) + "/hook/" + ns + "/prod"
	k.becomes(t, ns, "prod", "AwaitingMerge")
	r.Must(t, http.MethodPost, r.Path+"/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request"},
		"config": map[string]string{"url": url, "content_type": "json", "secret": hookToken},
	}, nil)
	r.Merge(t, 1, "merge")
	k.becomes(t, ns, "prod", "UpToDate")
	r.Commit(t, "main", "larger", map[string]string{dir + "/logs.yaml": strings.Replace(filesOf(ns)[dir+"/logs.yaml"], "1Gi", "2Gi", 1)})
	k.becomes(t, ns, "prod", "AwaitingMerge")
}
