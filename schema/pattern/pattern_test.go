package pattern

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// expressions are of each form that the definitions use, and of forms that have no
// table.
var expressions = []string{
	`^[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*$`,
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`,
	`^([A-Za-z0-9]+([-_.]+[A-Za-z0-9]+)*)?$`,
	`^\s*[A-Z][a-z]*/[a-z]([-a-z.]*[a-z])?(\s*,\s*[A-Z][a-z]*)*\s*$`,
	`^/dev/.`,
	`b`,
	`^$`,
	``,
	`^(|a)+$`,
	`a$|^b`,
	`(?i)^ab+$`,
	`^[^a]b*$`,
	`.`,
	`(?s)^.b$`,
	`(^a|b$)+`,
	`a$b`,
	`a^b`,
	// Without a table.
	`(?m)^a$`,
	`\ba`,
	`^(a|b)*a(a|b){12}$`,
}

func TestMatchesAsRegexp(t *testing.T) {
	for _, expr := range expressions {
		t.Run(expr, func(t *testing.T) {
			p, want := MustCompile(expr), regexp.MustCompile(expr)
			p.uses.Store(cold)
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.OneOf(
					rapid.StringMatching(expr),
					rapid.StringOfN(rapid.RuneFrom([]rune("abAB0-_./, \nä\xff")), 0, 80, -1),
				).Draw(t, "text")
				if text != "" && rapid.Bool().Draw(t, "cut") {
					text = text[:rapid.IntRange(0, len(text)).Draw(t, "at")]
				}
				if got := p.MatchString(text); got != want.MatchString(text) {
					t.Fatalf("%q: got %v", text, got)
				}
			})
		})
	}
}

// The table is made once there are many texts, and says the same.
func TestTableIsMadeLate(t *testing.T) {
	p := MustCompile(`^a+$`)
	for i := range 2 * cold {
		if !p.MatchString("aa") || p.MatchString("ab") {
			t.Fatalf("text %d", i)
		}
	}
}

func TestWhichHaveTables(t *testing.T) {
	without := 0
	for _, expr := range expressions {
		if newTable(expr) == nil {
			without++
		}
	}
	if without != 3 {
		t.Errorf("%d expressions have no table, want 3", without)
	}
}

// Names of at most 63 characters are counted, which takes the most states.
func TestTableIsSmall(t *testing.T) {
	table := newTable(expressions[1])
	if states := len(table.accepts); states > 1000 {
		t.Errorf("%d states", states)
	}
}

func BenchmarkMatch(b *testing.B) {
	name := "blockdevice-" + strings.Repeat("0123456789abcdef", 2)
	b.Run("table", func(b *testing.B) {
		p := MustCompile(expressions[0])
		p.uses.Store(cold)
		for b.Loop() {
			p.MatchString(name)
		}
	})
	b.Run("regexp", func(b *testing.B) {
		p := regexp.MustCompile(expressions[0])
		for b.Loop() {
			p.MatchString(name)
		}
	})
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		newTable(expressions[1])
	}
}
