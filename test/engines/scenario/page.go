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

// rowSeen is what is said of a hurdle in the column State, and in that of the engine.
type rowSeen struct{ state, engine string }

// seen is what the page is to say of a hurdle. The state is that of the engines that wait; of
// another one it stands in its own column, where it is not the same as in the row that is there.
func seen(st hurdle, row rowSeen, said, reached string, waits bool) rowSeen {
	went := "waits"
	switch {
	case reached == "":
		went = "applies nothing"
	case reached > st.level:
		went = "goes on to " + reached
	}
	if !waits && said != row.state {
		return rowSeen{row.state, went + "; " + said}
	}
	return rowSeen{said, went}
}

// row reads what the page says of a hurdle.
func (p *table) row(t *testing.T, st hurdle) rowSeen {
	t.Helper()
	var row rowSeen
	p.edit(t, st, func(state, engine *string) { row = rowSeen{*state, *engine} })
	return row
}

// write writes it.
func (p *table) write(t *testing.T, st hurdle, row rowSeen) {
	t.Helper()
	p.edit(t, st, func(state, engine *string) { *state, *engine = row.state, row.engine })
}

// edit finds the row of a hurdle, and writes what becomes of it.
func (p *table) edit(t *testing.T, st hurdle, change func(state, engine *string)) {
	t.Helper()
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
		if len(cells) == 0 || len(cells) != len(head) || cells[0] != st.level || cells[1] != st.what {
			continue
		}
		change(&cells[slices.Index(head, "State")], &cells[slices.Index(head, p.engine)])
		now := "| " + strings.Join(cells, " | ") + " |"
		if now == line {
			return
		}
		lines[i] = now
		if err := os.WriteFile(p.file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no row for %s, %s, with a column for %s", p.file, st.level, st.what, p.engine)
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
