package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/console/view"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/fn/change"
)

// Commit is a commit that changed the package.
type Commit struct {
	Commit  string    `json:"commit"`
	Who     string    `json:"who"`
	Email   string    `json:"email"`
	When    string    `json:"when"` // RFC 3339
	Subject string    `json:"subject"`
	Risk    view.Text `json:"risk"` // of the trailer Poolwright-Risk
}

func commitText(c *Commit) string {
	return strings.Join([]string{c.Commit, c.Who, c.Email, c.When, c.Subject, string(c.Risk)}, " ")
}

// records are the commits for programs, the last first.
func (x *exchange) records() ([]Commit, error) {
	entries, err := x.commits()
	all := make([]Commit, len(entries))
	for i, e := range entries {
		subject, _, _ := strings.Cut(e.Message, "\n")
		all[i] = Commit{
			Commit: e.Hash.String(), Who: e.Author.Name, Email: e.Author.Email, When: e.Time.UTC().Format(time.RFC3339), Subject: subject,
			Risk: view.Text(hydration.TrailerOf(e.Message, "Poolwright-Risk")),
		}
	}
	return all, err
}

func historyPage(x *exchange) (*page.Page, *problem) {
	all, err := x.records()
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, "internal", "%v", err)
	}
	t := page.Table{
		Caption: "Commits", Columns: columns("Commit|Who|When|~Subject|Risk|Revert"),
		Empty: page.Notice{Text: "No commit has changed this package. Commit it to Git, so that its changes have a history."},
	}
	return &page.Page{Title: "History", Blocks: []page.Block{tabulate(x, t, all, commitText, func(c *Commit) []page.Cell {
		at, _ := time.Parse(time.RFC3339, c.When)
		return []page.Cell{code(c.Commit[:shortHash]), plain(c.Who), when(at), plain(c.Subject), risk(change.Risk(c.Risk)), {Text: "Revert", Path: view.Path("history", c.Commit, "revert"), Action: true}}
	})}}, nil
}
