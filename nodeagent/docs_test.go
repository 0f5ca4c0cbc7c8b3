package nodeagent_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPage holds that docs/node-agent.md is true about its tests and rules: each of the
// nineteen hazards has a row, each test and script that is named there is one, and each rule of the guard is described.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("../docs/node-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, root := range []string{".", "../test/vm"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(source, -1) {
				tests[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(page, -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("the page names %s, which is no test", m[1])
		}
	}
	scripts := regexp.MustCompile("`(local-[\\w-]+)`").FindAllStringSubmatch(page, -1)
	if len(scripts) < 4 {
		t.Errorf("the page names %d scripts", len(scripts))
	}
	for _, m := range scripts {
		if _, err := os.Stat("../cmd/poolwright/testdata/script/" + m[1] + ".txtar"); err != nil {
			t.Errorf("the page names %s, which is no script", m[1])
		}
	}
	for n := 1; n <= 19; n++ {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| A%d \|[^|]+\|[^|]+\|[^|]+\|$`, n)).FindString(page)
		if row == "" {
			t.Errorf("hazard A%d has no row", n)
		}
	}
	rules, err := os.ReadFile("guard/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`Rule = "([\w-]+)"`).FindAllSubmatch(rules, -1)
	if len(all) < 20 {
		t.Errorf("the guard has %d rules", len(all))
	}
	for _, m := range all {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + string(m[1]) + "`").MatchString(page) {
			t.Errorf("the rule %s is not in the table of the guard", m[1])
		}
	}
}
