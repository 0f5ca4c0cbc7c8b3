package schema

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// pass is one document on its way through the checks.
type pass struct {
	where    Locate
	ref      finding.Ref
	shape    *shape
	findings []finding.Finding

	places []*place // by depth

	// bad holds the values that were found wrong. What would follow from them
	// is not said.
	bad map[*document.Node]bool
	// renamed shows under which path a field was written that has an old name.
	renamed []renaming
}

type renaming struct{ canonical, written string }

// place is where a walk stands. It is a list, so that a path becomes text only
// when there is something to say.
type place struct {
	parent *place
	key    string // of a field
	index  int    // of an item, where key is ""
	keyOff int32  // where the key or the item stands
	node   *document.Node
	depth  int // below the root
}

func rootPlace(n *document.Node) place {
	off := document.NoOffset
	if n != nil {
		off = n.Off
	}
	if n != nil && len(n.Fields()) > 0 {
		off = n.Fields()[0].Off
	}
	return place{keyOff: off, node: n, index: -1}
}

func (p *place) field(f *document.Field) place {
	return place{parent: p, key: f.Key, keyOff: f.Off, node: &f.Value, depth: p.depth + 1}
}

func (p *place) item(i int) place {
	n := &p.node.Items()[i]
	return place{parent: p, index: i, keyOff: n.Off, node: n, depth: p.depth + 1}
}

// below is where a walk stands while it looks below a place: nothing keeps it, so
// each depth has one.
func (p *pass) below(at *place) *place {
	for len(p.places) <= at.depth {
		p.places = append(p.places, &place{})
	}
	return p.places[at.depth]
}

func (p *place) path() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *place) write(b *strings.Builder) {
	if p.parent == nil {
		return
	}
	p.parent.write(b)
	if p.key == "" && p.index >= 0 && p.parent.node.Kind() == document.Seq {
		b.WriteString("[" + strconv.Itoa(p.index) + "]")
		return
	}
	b.WriteString(step(p.key, b.Len() == 0))
}

// child is the path of a field of p, whether it is there or not.
func (p *place) child(name string) string {
	path := p.path()
	return path + step(name, path == "")
}

// step is the text of one field in a path. Keys of labels and annotations hold
// dots, and are set in brackets.
func step(key string, first bool) string {
	switch {
	case strings.ContainsAny(key, "./[] ") || key == "":
		return "[" + key + "]"
	case first:
		return key
	}
	return "." + key
}

// written is the path as the document has it. An old name may stand below
// another, so one renaming may lead to the next.
func (p *pass) written(path string) string {
	for range p.renamed {
		var best renaming
		for _, r := range p.renamed {
			rest, ok := strings.CutPrefix(path, r.canonical)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(r.canonical) > len(best.canonical) {
				best = r
			}
		}
		if best.canonical == "" {
			break
		}
		path = best.written + path[len(best.canonical):]
	}
	return path
}

func (p *pass) position(off int32) document.Position {
	if p.where == nil {
		return document.Position{}
	}
	if pos := p.where(off); pos.Line > 0 {
		return pos
	}
	return document.Position{File: p.where(0).File}
}

// report adds a finding about the field at path, which stands at off.
func (p *pass) report(f finding.Finding, path string, off int32) {
	if f.Severity == "" {
		f.Severity = finding.Error
	}
	f.Object = p.ref
	f.Message, f.Current = withoutUser(f.Message), withoutUser(f.Current)
	f.Field = p.written(path)
	f.Pos = p.position(off)
	p.findings = append(p.findings, f)
}

// userOfURL is the user of a URL, and the password with it. A password may have any letter, also an @.
var userOfURL = regexp.MustCompile(`(\b[a-z]+://)[^/\s"]*@`)

// withoutUser masks users and passwords of URLs: findings are in logs of pipelines, and in statuses.
func withoutUser(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userOfURL.ReplaceAllString(text, "$1***@")
}

// wrong reports the value at a place.
func (p *pass) wrong(at *place, f finding.Finding) {
	if at.node.Kind() == document.Scalar {
		f.Current = at.node.Value()
	}
	off := at.node.Off
	if off < 0 {
		off = at.keyOff
	}
	p.report(f, at.path(), off)
	p.markBad(at.node)
}

func (p *pass) markBad(n *document.Node) {
	if p.bad == nil {
		p.bad = map[*document.Node]bool{}
	}
	p.bad[n] = true
}
