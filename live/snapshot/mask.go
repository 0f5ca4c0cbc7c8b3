package snapshot

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// mask is what is kept of a value. Without fields it is all of it.
type mask struct {
	fields []field
	only   *where // of a list, only the items for which this holds
	names  bool   // only the names of its fields
}

type field struct {
	key string
	mask
}

type where struct{ key, value string }

// parseMask reads the notation of system.Kind.Keep: field names separated by
// blanks, each kept whole or followed by {what is kept of it}. In a list that
// applies to every item, or to those with a field of a certain value. With @ only the
// names of its fields are kept, as a list. Names count in any case, since drivers write LUN
// and lun, and * is any name:
//
//	spec{taints{key value}} status{conditions[type=Ready]{type status}} schema{properties@} details{*{severity}}
func parseMask(s string) mask {
	m, _ := parseFields(s)
	return m
}

func parseFields(s string) (m mask, rest string) {
	for {
		s = strings.TrimLeft(s, " ")
		if s == "" || s[0] == '}' {
			return m, strings.TrimPrefix(s, "}")
		}
		end := strings.IndexAny(s, " {}[")
		if end < 0 {
			end = len(s)
		}
		f := field{key: strings.TrimSuffix(s[:end], "@"), mask: mask{names: s[end-1] == '@'}}
		s = s[end:]
		if inside, ok := strings.CutPrefix(s, "["); ok {
			test, after, _ := strings.Cut(inside, "]")
			key, value, _ := strings.Cut(test, "=")
			f.only, s = &where{key, value}, after
		}
		if inside, ok := strings.CutPrefix(s, "{"); ok {
			var inner mask
			inner, s = parseFields(inside)
			f.fields = inner.fields
		}
		m.fields = append(m.fields, f)
	}
}

// with is the mask that keeps a path, too.
func (m mask) with(path []string) mask {
	if len(path) == 0 {
		return mask{}
	}
	m.fields = slices.Clone(m.fields)
	for i := range m.fields {
		if f := &m.fields[i]; f.key == path[0] {
			if f.fields != nil {
				f.mask = f.mask.with(path[1:])
			}
			return m
		}
	}
	inner := mask{fields: []field{}}
	m.fields = append(m.fields, field{path[0], inner.with(path[1:])})
	return m
}

// apply copies what is kept of a value, with keys in order. The texts are still
// those of the value.
func (m mask) apply(n *document.Node) document.Node {
	switch n.Kind() {
	case document.Map:
		if m.names {
			return namesOf(n)
		}
		out := document.Object()
		for i := range n.Fields() {
			f := &n.Fields()[i]
			inner, kept := m.field(f.Key)
			if !kept || f.Value.Kind() == document.Null || isNoise(f.Key) && !m.spells(f.Key) {
				continue
			}
			// An empty value may mean something, one of which nothing was kept does not.
			if value := inner.apply(&f.Value); inner.fields == nil && !inner.names || !isEmpty(&value) {
				out.SetFields(append(out.Fields(), document.F(f.Key, value)))
			}
		}
		slices.SortFunc(out.Fields(), byKey)
		return out
	case document.Seq:
		out := document.List()
		for i := range n.Items() {
			if m.only == nil || n.Items()[i].Str(m.only.key) == m.only.value {
				out.Add(mask{fields: m.fields}.apply(&n.Items()[i]))
			}
		}
		return out
	}
	return cleaned(*n)
}

// cleaned is a value that is no map and no list, its text clean.
func cleaned(n document.Node) document.Node {
	if n.Kind() == document.Scalar {
		n.SetValue(clean(n.Value()))
	}
	return n
}

// namesOf are the names of the fields of a map, in order.
func namesOf(n *document.Node) document.Node {
	out := document.List()
	for _, f := range n.Fields() {
		out.Add(document.Text(f.Key))
	}
	slices.SortFunc(out.Items(), func(a, b document.Node) int { return cmp.Compare(a.Value(), b.Value()) })
	return out
}

func isEmpty(n *document.Node) bool {
	return n.Kind() != document.Scalar && len(n.Fields()) == 0 && len(n.Items()) == 0
}

// spells reports whether a field is asked for by its very name: that of a Secret is no
// secret where somebody has looked.
func (m mask) spells(key string) bool {
	return slices.ContainsFunc(m.fields, func(f field) bool { return f.key == key })
}

func (m mask) field(key string) (mask, bool) {
	if m.fields == nil {
		return mask{}, true
	}
	for i := range m.fields {
		if strings.EqualFold(m.fields[i].key, key) || m.fields[i].key == "*" {
			return m.fields[i].mask, true
		}
	}
	return mask{}, false
}

func byKey(a, b document.Field) int { return cmp.Compare(a.Key, b.Key) }

var (
	// userinfo is who asks, and the password, in an address.
	userinfo = regexp.MustCompile(`://[^/?#\s]*@`)
	// requestID is how the clouds of some drivers number each attempt.
	requestID = regexp.MustCompile(`RequestID: [0-9a-fA-F-]+,? ?`)
)

// clean is a text without what must not be kept of any.
func clean(text string) string {
	if strings.Contains(text, "://") {
		text = userinfo.ReplaceAllLiteralString(text, "://")
	}
	if strings.Contains(text, "RequestID: ") {
		text = requestID.ReplaceAllLiteralString(text, "")
	}
	return text
}

// isNoise reports whether a field is never kept, wherever it stands: what may
// hold or name a secret, and what changes although nothing did. It is a net under
// the fields that are kept whole.
func isNoise(key string) bool {
	switch key {
	case "lastHeartbeatTime", "lastUpdateTime", "lastProbeTime", "observedGeneration", "resourceVersion":
		return true
	}
	lower := strings.ToLower(key)
	for _, word := range []string{"secret", "password", "passphrase", "token", "credential"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}
