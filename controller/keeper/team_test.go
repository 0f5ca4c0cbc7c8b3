package keeper_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/gitserver"
)

// A team has a namespace, a repository, and nodes of its own: its package takes no others. What happens to the
// others changes its inventory and not its output, so that tests of several teams run beside one another.

// filesOf are those of a repository of a team.
func filesOf(team string) map[string]string {
	all := files()
	all[dir+"/logs.yaml"] = strings.Replace(template, "spec:\n", "spec:\n  nodeSelector: {nodeSelectorTerms: [{matchLabels: {team: "+team+"}}]}\n", 1)
	return all
}

// member adds a node to a team, until the test ends.
func (k kube) member(t *testing.T, team, name string) {
	t.Helper()
	k.must(t, `{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s, team: %[2]s}}}`, name, team)
	t.Cleanup(func() { k.away(t, name) })
}

// backdate makes the last commit of a branch one of so long ago.
func backdate(t *testing.T, server *gitserver.Server, ago time.Duration) {
	t.Helper()
	amend := exec.Command("git", "commit-tree", "main^{tree}", "-m", "long ago")
	amend.Dir = server.Dir
	at := fmt.Sprintf("%d +0000", time.Now().Add(-ago).Unix())
	amend.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	out, err := amend.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server.Git(t, "update-ref", "refs/heads/main", strings.TrimSpace(string(out)))
}
