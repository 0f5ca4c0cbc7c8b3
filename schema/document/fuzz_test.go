package document

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// bothRoads reads every document of data with the reader and with yaml.v3, and
// fails where the reader accepts a document and the two do not agree.
func bothRoads(t rapid.TB, data []byte) {
	t.Helper()
	src := &Source{Name: "f.yaml", Data: data}
	marks, odd, err := checkText(src)
	if err != nil || odd {
		return
	}
	text := string(data)
	parts := splitter{text: text, pos: bomLen(text), marks: marks}
	r := reader{}
	for {
		p, more, err := parts.next(src)
		if err != nil || !more {
			return
		}
		if p.directives {
			continue
		}
		r.text, r.trouble = text[:p.end], trouble{}
		fast, fastFound, ok := r.document(p)
		slow, _, slowFound, err := fallback(src, text, p, trouble{})
		switch {
		case !ok:
			continue
		case err != nil:
			t.Fatalf("%q: the reader accepts what yaml.v3 refuses: %v", text[p.whole:p.end], err)
		case fastFound != slowFound:
			t.Fatalf("%q: found %v, yaml.v3 %v", text[p.whole:p.end], fastFound, slowFound)
		}
		if diff := differ(&fast, &slow, ""); fastFound && diff != "" {
			t.Fatalf("%q: %s", text[p.whole:p.end], diff)
		}
	}
}

// FuzzParse holds that no input makes Parse panic, that its errors have a
// place, and that both roads give the same tree.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Parse(&Source{Name: "f.yaml", Data: data})
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Pos.File == "" || syntax.Msg == "") {
			t.Fatalf("error without place or text: %#v", err)
		}
		for _, d := range docs {
			if d.Start < 0 || d.Start > d.End || int(d.End) > len(data) {
				t.Fatalf("document at %d to %d of %d", d.Start, d.End, len(data))
			}
		}
		bothRoads(t, data)
		sideBySide(t, data)
	})
}
