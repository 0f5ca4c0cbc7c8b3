package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// check reports what is missing from a document, and every value that its
// definition does not allow. It looks at each value by itself.
func (p *pass) check(s *shape, at *place) {
	n := at.node
	if n.Off == stoodIn {
		return
	}
	switch s.sort {
	case anything:
	case object:
		if n.Kind() != document.Map {
			p.wrongSort(s, at)
			return
		}
		p.checkObject(s, at)
	case list:
		if n.Kind() != document.Seq {
			p.wrongSort(s, at)
			return
		}
		if s.nonempty != "" && len(n.Items()) == 0 {
			p.isEmpty(s, at)
		}
		p.checkMost(s, at, len(n.Items()))
		item := p.below(at)
		for i := range n.Items() {
			*item = at.item(i)
			p.check(s.elem, item)
		}
	default:
		if n.Kind() != document.Scalar {
			p.wrongSort(s, at)
			return
		}
		p.checkScalar(s, at)
	}
}

func (p *pass) checkObject(s *shape, at *place) {
	n := at.node
	if s.nonempty != "" && len(n.Fields()) == 0 {
		p.isEmpty(s, at)
	}
	p.checkMost(s, at, len(n.Fields()))
	for i := range s.fields {
		if f := &s.fields[i]; f.required && n.Field(f.name) == nil {
			p.report(finding.Finding{
				Rule:    "missing",
				Message: "is missing; write " + f.wanted(),
			}, at.child(f.name), at.keyOff)
		}
	}
	in := p.below(at)
	for i := range n.Fields() {
		*in = at.field(&n.Fields()[i])
		if f := s.field(in.key); f != nil {
			if f.unsupported == "" {
				p.check(f.shape, in)
				if f.within != "" {
					p.checkWithin(in, n.Get(f.within), f.within)
				}
			}
			continue
		}
		if s.keys != nil {
			p.checkKey(s.keys, in)
			p.check(s.elem, in)
		}
	}
}

// checkKey holds the key of a map against what keys must be.
func (p *pass) checkKey(s *shape, at *place) {
	if s.fits(at.key) {
		return
	}
	p.report(finding.Finding{
		Rule:    "key",
		Message: fmt.Sprintf("%s is no key for this; write %s", shown(at.key), s.wanted()),
		Current: at.key,
	}, at.path(), at.keyOff)
	p.markBad(at.node)
}

func (p *pass) isEmpty(s *shape, at *place) {
	p.report(finding.Finding{
		Rule:    "empty",
		Message: "is empty; " + s.nonempty,
	}, at.path(), at.keyOff)
	p.markBad(at.node)
}

func (p *pass) checkMost(s *shape, at *place, count int) {
	if s.most > 0 && count > s.most {
		p.report(finding.Finding{
			Rule:    "length",
			Message: fmt.Sprintf("has %d entries; write at most %d", count, s.most),
		}, at.path(), at.keyOff)
		p.markBad(at.node)
	}
}

// wrongSort reports a mapping, a list or nothing where something else belongs.
func (p *pass) wrongSort(s *shape, at *place) {
	message := "must be " + s.wanted() + ", not " + described(at.node)
	switch {
	case at.node.Kind() == document.Null:
		message = "is empty; write " + s.wanted() + ", or remove it"
	case s.sort == list && at.node.Kind() == document.Map:
		message += `; begin each item with "- "`
	}
	p.wrong(at, finding.Finding{Rule: "type", Message: message})
}

func (p *pass) checkScalar(s *shape, at *place) {
	n := at.node
	switch s.sort {
	case text:
		p.checkText(s, at)
	case truth:
		b, ok := n.Bool()
		switch {
		case !ok:
			p.wrongType(s, at)
		case len(s.enum) > 0 && s.enum[0] != strconv.FormatBool(b):
			p.wrong(at, finding.Finding{Rule: "value", Message: fmt.Sprintf("must be %s, not %v", s.wanted(), b)})
		}
	case whole:
		if i, ok := n.Int(); !ok {
			p.wrongType(s, at)
		} else {
			p.checkBounds(s, at, float64(i))
		}
	case number:
		if f, ok := n.Float(); !ok {
			p.wrongType(s, at)
		} else {
			p.checkBounds(s, at, f)
		}
	case amount:
		p.checkQuantity(s, at)
	}
}

func (p *pass) wrongType(s *shape, at *place) {
	f := finding.Finding{Rule: "type", Message: "must be " + s.wanted() + ", not " + described(at.node)}
	bare := document.Plain(at.node.Value())
	if _, ok := bare.Bool(); ok && s.sort == truth {
		f.Message += "; write it without quotes"
		f.Proposed = at.node.Value()
	}
	p.wrong(at, f)
}

func (p *pass) checkBounds(s *shape, at *place, f float64) {
	low := s.min != nil && (f < s.min.value || f == s.min.value && s.min.exclusive)
	high := s.max != nil && (f > s.max.value || f == s.max.value && s.max.exclusive)
	if !low && !high {
		return
	}
	wanted := s.want
	switch {
	case wanted != "":
	case low && s.min.exclusive:
		wanted = "above " + s.min.text
	case low:
		wanted = "at least " + s.min.text
	case s.max.exclusive:
		wanted = "below " + s.max.text
	default:
		wanted = "at most " + s.max.text
	}
	p.wrong(at, finding.Finding{Rule: "bound", Message: "must be " + wanted + ", not " + at.node.Value()})
}

func (p *pass) checkText(s *shape, at *place) {
	n := at.node
	_, isFloat := n.Float()
	_, isBool := n.Bool()
	switch {
	case len(s.enum) > 0 && (!isBool || !slices.Contains(s.enum, n.Value())):
		p.checkEnum(s, at)
	case (isFloat || isBool) && !s.numeral && s.fits(n.Value()):
		p.wrong(at, finding.Finding{
			Rule:     "type",
			Message:  fmt.Sprintf("must be text, not %s; put it in quotes: %q", described(n), n.Value()),
			Proposed: strconv.Quote(n.Value()),
		})
	case (isFloat || isBool) && !s.numeral: // in quotes it would be as wrong
		p.wrongType(s, at)
	case s.tooLong(n.Value()):
		p.wrong(at, finding.Finding{
			Rule:    "length",
			Message: fmt.Sprintf("%s has %d characters; write at most %d", shown(n.Value()), utf8.RuneCountInString(n.Value()), s.maxLen),
		})
	case !s.fits(n.Value()):
		p.wrong(at, finding.Finding{
			Rule:    "pattern",
			Message: "must be " + s.wanted() + ", not " + shown(n.Value()),
		})
	}
}

func (p *pass) checkEnum(s *shape, at *place) {
	value := at.node.Value()
	for _, e := range s.enum {
		if e == value {
			return
		}
	}
	near := cmp.Or(s.synonyms[fold(value)], nearest(value, s.enum))
	// YAML of the old kind turns on and off into booleans.
	for _, e := range s.enum {
		if b, ok := at.node.Bool(); ok && (b && e == "on" || !b && e == "off") {
			near = e
		}
	}
	f := finding.Finding{Rule: "enum", Proposed: near}
	if len(s.enum) == 1 {
		f.Proposed = s.enum[0]
	}
	switch {
	case s.want != "":
		f.Message = "must be " + s.want + ", not " + shown(value)
	case len(s.enum) == 1:
		f.Message = fmt.Sprintf("must be %s, not %s", s.enum[0], shown(value))
	default:
		f.Message = fmt.Sprintf("%s is not one of %s", shown(value), strings.Join(s.enum, ", "))
		if near != "" {
			f.Message += fmt.Sprintf(" (did you mean %q?)", near)
		}
	}
	p.wrong(at, f)
}

// fits holds text against the length and the pattern.
func (s *shape) fits(t string) bool {
	return !s.tooLong(t) && (s.pattern == nil || s.pattern.MatchString(t))
}

func (s *shape) tooLong(t string) bool {
	return s.maxLen > 0 && len(t) > s.maxLen && utf8.RuneCountInString(t) > s.maxLen
}

// wanted says what is to be written: "write ...", "must be ...".
func (s *shape) wanted() string {
	switch {
	case s.want != "":
		return s.want
	case len(s.enum) == 1:
		return s.enum[0]
	case len(s.enum) > 1:
		return "one of " + strings.Join(s.enum, ", ")
	}
	switch s.sort {
	case object:
		var need []string
		for i := range s.fields {
			if s.fields[i].required {
				need = append(need, s.fields[i].name)
			}
		}
		if len(need) == 0 {
			return "a mapping"
		}
		return "a mapping with " + strings.Join(need, ", ")
	case list:
		return "a list"
	case whole:
		return "a whole number" + s.bounds()
	case number:
		return "a number" + s.bounds()
	case truth:
		return "true or false"
	case amount:
		if s.positive {
			return "a quantity such as 100Gi"
		}
		return "a quantity such as 500m or 2Gi"
	case text:
		return "text"
	}
	return "a value"
}

func (s *shape) bounds() string {
	switch {
	case s.min != nil && s.max != nil && !s.min.exclusive && !s.max.exclusive:
		return " from " + s.min.text + " to " + s.max.text
	case s.min != nil && !s.min.exclusive:
		return " of at least " + s.min.text
	}
	return ""
}

// described says what a value is, for "must be ..., not ...".
func described(n *document.Node) string {
	switch n.Kind() {
	case document.Map:
		return "a mapping"
	case document.Seq:
		return "a list"
	case document.Null:
		return "nothing"
	}
	if _, ok := n.Float(); ok || !n.Quoted && n.Value() != "" && strings.Trim(n.Value(), "0123456789") == "" {
		return "the number " + n.Value() // also one that is too large to hold
	}
	if _, ok := n.Bool(); ok {
		return "the boolean " + n.Value()
	}
	return "the text " + shown(n.Value())
}

// shown quotes a value, cut to a length that fits a line.
func shown(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "..."
	}
	return strconv.Quote(value)
}
