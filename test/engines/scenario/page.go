package scenario

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Update is the flag -update of every test that uses a scenario.
var Update = flag.Bool("update", false, "write into the tables of docs what was seen")

// table is that of docs/hypercloud.md: what a cluster lacks when it comes up, what the state
// says, and how far each engine went.
type table struct {
	file   string
	engine string // the head of its column
}

// readTable leaves the test out where the page has no column for the engine.
func readTable(t *testing.T, root, engine string) *table {
	t.Helper()
	p := &table{filepath.Join(root, "docs/hypercloud.md"), engine}
	text, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if slices.Contains(cellsOf(strings.TrimSpace(line)), engine) {
			return p
		}
	}
	t.Skipf("skipped: the table of %s has no column for %s; add an empty one, and run this with -update", p.file, engine)
	return nil
}

// hold holds that the page says of a stage what was seen.
// The state is that of the engines that wait; of another one it stands in its own column,
// where it is not the same.
func (p *table) hold(t *testing.T, st hurdle, said, reached string, waits bool) {
	t.Helper()
	went := "waits"
	switch {
	case reached == "none":
		went = "applies nothing"
	case reached > st.level:
		went = "goes on to " + reached
	}
	text, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var head []string
	for i, line := range lines {
		cells := cellsOf(line)
		if slices.Contains(cells, p.engine) {
			head = cells
		}
		if len(cells) == 0 || head == nil || len(cells) != len(head) || cells[0] != st.level || cells[1] != st.what {
			continue
		}
		state, column := slices.Index(head, "State"), slices.Index(head, p.engine)
		if !waits {
			if said != cells[state] {
				went += "; " + said
			}
			said = cells[state]
		}
		if *Update {
			cells[state], cells[column] = said, went
			lines[i] = "| " + strings.Join(cells, " | ") + " |"
			if err := os.WriteFile(p.file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if cells[state] != said || cells[column] != went {
			t.Errorf("%s: %s has %q and %q, and the test saw %q and %q", st.what, p.file, cells[state], cells[column], said, went)
		}
		return
	}
	t.Errorf("%s has no row for %s, %s, with a column for %s", p.file, st.level, st.what, p.engine)
}

// cellsOf are those of a row of a table in Markdown.
func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
