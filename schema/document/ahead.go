package document

import (
	"strings"
	"sync"
)

// pace is how many readers read one document at once, and how many bytes of it are worth
// one.
type pace struct{ readers, bytes int }

// ahead reads the items of a long list from some line on, while the reader of the list
// reads those above it. That an item begins there is a guess: the line may be part of a
// text, or of another list. What was read is taken over only where the reader comes to the
// very same place in a list of the same column and depth, so that it would read the same.
type ahead struct {
	start, col, depth int
	r                 reader // which has read the items when done
	ok                bool
	panicked          any
	done              sync.WaitGroup
}

// maxGuesses bounds how often a document is searched for a line to read ahead from.
const maxGuesses = 4

// lookAhead has the rest of a list, whose first item stands at pos in column col, read by
// several readers, if it is long.
func (r *reader) lookAhead(col, depth int) {
	if r.pace.readers < 2 || r.ahead != nil && r.ahead.start >= r.pos {
		return
	}
	from, size := r.pos, (len(r.text)-r.pos)/r.pace.readers
	if size < r.pace.bytes || r.guesses == maxGuesses {
		return
	}
	r.guesses++
	r.drop()
	for k := r.pace.readers - 1; k > 0; k-- {
		start := itemAfter(r.text, from+k*size, col)
		if start < 0 || r.ahead != nil && start >= r.ahead.start {
			continue
		}
		a := &ahead{start: start, col: col, depth: depth}
		a.r = reader{text: r.text, pos: start, col: col, ahead: r.ahead}
		r.ahead = a
		a.done.Go(a.read)
	}
}

// itemAfter finds the first line from pos on that looks like an item of a list in column
// col, and gives the place of its "- ", or -1. It does not search far: the items of a long
// list are short.
func itemAfter(text string, pos, col int) int {
	const far = 1 << 20
	lead := "\n" + strings.Repeat(" ", col) + "- "
	i := strings.Index(text[pos:min(pos+far, len(text))], lead)
	if i < 0 {
		return -1
	}
	return pos + i + len(lead) - len("- ")
}

func (a *ahead) read() {
	defer func() { a.panicked = recover() }()
	a.ok = a.r.sequenceItems(a.col, a.depth)
}

// metAhead reports whether the reader of a list has come to where another has read on.
func (r *reader) metAhead(col, depth int) bool {
	a := r.ahead
	return a != nil && a.start == r.pos && a.col == col && a.depth == depth
}

// takeOver adds the items that were read ahead, and moves behind them.
func (r *reader) takeOver() bool {
	a := r.ahead
	a.done.Wait()
	if a.panicked != nil {
		panic(a.panicked)
	}
	r.ahead, r.trouble = a.r.ahead, a.r.trouble
	r.pos, r.col, r.empty, r.comment = a.r.pos, a.r.col, a.r.empty, a.r.comment
	r.items = append(r.items, a.r.items...)
	return a.ok
}

// drop waits for those who read ahead in vain: none outlives the document.
func (r *reader) drop() {
	for a := r.ahead; a != nil; a = a.r.ahead {
		a.done.Wait()
	}
	r.ahead = nil
}
