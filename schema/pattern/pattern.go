// Package pattern matches text against regular expressions of the kind that names
// are described by. What is written is checked name by name, tens of thousands of
// names in a large cluster, and an engine for all expressions is the dearest part
// of that: here an expression becomes a table with one step a byte.
package pattern

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
)

// Pattern is a compiled expression. It may be used by several goroutines.
type Pattern struct {
	expr  *regexp.Regexp
	uses  atomic.Int32  // while it is cold
	table func() *table // nil where there is none
}

// cold is how many texts are matched without a table, which takes as long to build
// as a thousand matches.
const cold = 500

// MustCompile compiles an expression of package regexp, and panics if it is none.
func MustCompile(expr string) *Pattern {
	p := &Pattern{expr: regexp.MustCompile(expr)}
	p.table = sync.OnceValue(func() *table { return newTable(expr) })
	return p
}

// String is the expression.
func (p *Pattern) String() string { return p.expr.String() }

// MatchString reports what the method of regexp.Regexp does.
func (p *Pattern) MatchString(text string) bool {
	if p.uses.Load() < cold {
		p.uses.Add(1)
		return p.expr.MatchString(text)
	}
	t := p.table()
	if t == nil {
		return p.expr.MatchString(text)
	}
	at := uint16(0)
	for i := range len(text) {
		b := text[i]
		if b >= ascii {
			return p.expr.MatchString(text)
		}
		at = t.next[int(at)*t.classes+int(t.class[b])]
	}
	return t.accepts[at]
}

// ascii is how many characters a table knows.
const ascii = 128

// maxStates bounds what a table costs: an expression that needs more has none.
const maxStates = 4096

// table is a deterministic automaton. State 0 is the first.
type table struct {
	class   [ascii]uint8 // characters that no instruction distinguishes are in one class
	classes int
	next    []uint16 // by state and class
	accepts []bool   // where the text may end
}

// newTable builds the table of an expression; nil if it cannot be one.
func newTable(expr string) *table {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil
	}
	b := builder{prog: prog, states: map[string]uint16{}, seen: make([]int, len(prog.Inst))}
	samples := b.classify()
	if !b.add(b.closure([]uint32{uint32(prog.Start)}, syntax.EmptyBeginText|syntax.EmptyBeginLine)) {
		return nil
	}
	for at := 0; at < len(b.sets); at++ {
		for _, c := range samples {
			if !b.step(at, rune(c)) {
				return nil
			}
		}
	}
	return &b.table
}

// builder makes a table by following all ways through a program at once.
type builder struct {
	table
	prog   *syntax.Prog
	sets   [][]uint32 // by state: the instructions that it stands at, sorted
	states map[string]uint16
	seen   []int // by instruction: the last round of closure that came there
	round  int
}

// classify puts each character in a class, and returns one of each.
func (b *builder) classify() []byte {
	var samples []byte
	seen := map[string]uint8{}
	for c := range ascii {
		key := make([]byte, len(b.prog.Inst))
		for i := range b.prog.Inst {
			if matches(&b.prog.Inst[i], rune(c)) {
				key[i] = 1
			}
		}
		class, found := seen[string(key)]
		if !found {
			class = uint8(len(samples))
			seen[string(key)] = class
			samples = append(samples, byte(c))
		}
		b.class[c] = class
	}
	b.classes = len(samples)
	return samples
}

// step adds where a state goes on a character. It reports false if that cannot be
// distinguished.
func (b *builder) step(at int, c rune) bool {
	if slices.ContainsFunc(b.sets[at], func(pc uint32) bool { return b.prog.Inst[pc].Op == syntax.InstMatch }) {
		b.next = append(b.next, uint16(at)) // whatever follows, it has matched
		return true
	}
	var to []uint32
	for _, pc := range b.sets[at] {
		if i := &b.prog.Inst[pc]; matches(i, c) {
			to = append(to, i.Out)
		}
	}
	if b.prog.StartCond()&syntax.EmptyBeginText == 0 {
		to = append(to, uint32(b.prog.Start)) // a match may begin anywhere
	}
	return b.add(b.closure(to, 0))
}

// add adds a state where there is none for that set, and the way to it.
func (b *builder) add(set []uint32, plain bool) bool {
	key := make([]byte, 0, 4*len(set))
	for _, pc := range set {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	state, found := b.states[string(key)]
	if !found {
		state = uint16(len(b.sets))
		b.states[string(key)] = state
		b.sets = append(b.sets, set)
		end, _ := b.closure(set, syntax.EmptyEndText|syntax.EmptyEndLine)
		b.accepts = append(b.accepts, slices.ContainsFunc(end, func(pc uint32) bool { return b.prog.Inst[pc].Op == syntax.InstMatch }))
	}
	if len(b.sets) > 1 || found {
		b.next = append(b.next, state)
	}
	return plain && len(b.sets) <= maxStates
}

// closure follows what needs no character, where some conditions hold. What
// asks for the end of the text stays. It reports false for a condition that
// depends on the characters around.
func (b *builder) closure(from []uint32, holds syntax.EmptyOp) (set []uint32, plain bool) {
	const known = syntax.EmptyBeginText | syntax.EmptyEndText
	plain = true
	b.round++
	var follow func(pc uint32)
	follow = func(pc uint32) {
		if b.seen[pc] == b.round {
			return
		}
		b.seen[pc] = b.round
		switch i := &b.prog.Inst[pc]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			follow(i.Out)
			follow(i.Arg)
		case syntax.InstCapture, syntax.InstNop:
			follow(i.Out)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(i.Arg)
			plain = plain && op&^known == 0
			if op&^holds == 0 {
				follow(i.Out)
			} else if op == syntax.EmptyEndText {
				set = append(set, pc)
			}
		case syntax.InstFail:
		default:
			set = append(set, pc)
		}
	}
	for _, pc := range from {
		follow(pc)
	}
	slices.Sort(set)
	return set, plain
}

// matches reports whether an instruction takes a character.
func matches(i *syntax.Inst, c rune) bool {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1:
		return i.MatchRune(c)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return c != '\n'
	}
	return false
}
