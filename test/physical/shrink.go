package physical

import "strings"

// Shrink leaves out objects and fields of a package without which the same rule is broken for the same disk. Less
// said is never something false.
func (b *Broken) Shrink() {
	w, p := b.World, b.Package
	broken := func(p *Package) bool {
		out := Check(w, p)
		return out.Violation != nil && out.Violation.Rule == b.Rule && out.Violation.On == b.On
	}
	p = fewer(p, broken)
	for i := range p.Chunks {
		p = shorter(p, i, broken)
	}
	b.Package = fewer(p, broken)
	b.Violation = Check(w, b.Package).Violation
}

// fewer leaves out whole objects, rendered files and kinds.
func fewer(p *Package, broken func(*Package) bool) *Package {
	drop := func(chunks []Chunk, at, n int) []Chunk {
		return append(append([]Chunk{}, chunks[:at]...), chunks[min(at+n, len(chunks)):]...)
	}
	for size := max(len(p.Chunks)/2, 1); size > 0; size /= 2 {
		for at := 0; at < len(p.Chunks); {
			if less := (&Package{p.Kinds, drop(p.Chunks, at, size), p.Lock}); broken(less) {
				p = less
			} else {
				at += size
			}
		}
	}
	for at := 0; at < len(p.Lock); {
		if less := (&Package{p.Kinds, p.Chunks, drop(p.Lock, at, 1)}); broken(less) {
			p = less
		} else {
			at++
		}
	}
	for at := 0; at < len(p.Kinds); {
		less := &Package{append(append([]string{}, p.Kinds[:at]...), p.Kinds[at+1:]...), p.Chunks, p.Lock}
		if broken(less) {
			p = less
		} else {
			at++
		}
	}
	return p
}

// shorter leaves out fields and items of an object, each with what is below it.
func shorter(p *Package, i int, broken func(*Package) bool) *Package {
	for at := 1; ; {
		lines := strings.SplitAfter(p.Chunks[i].Text, "\n")
		if at >= len(lines)-1 {
			return p
		}
		end := at + 1
		for end < len(lines)-1 && indent(lines[end]) > indent(lines[at]) {
			end++
		}
		if name := strings.TrimSpace(lines[at]); indent(lines[at]) <= 4 && (name == "metadata:" || strings.HasPrefix(name, "name:") || strings.HasPrefix(name, "namespace:")) {
			at++ // what has no name is hard to read
			continue
		}
		less := &Package{p.Kinds, append([]Chunk{}, p.Chunks...), p.Lock}
		less.Chunks[i].Text = strings.Join(append(append([]string{}, lines[:at]...), lines[end:]...), "")
		if broken(less) {
			p = less
		} else {
			at++
		}
	}
}

// indent is how far in a line begins; the items of a list are below its name, wherever they begin.
func indent(line string) int {
	n := len(line) - len(strings.TrimLeft(line, " "))
	if strings.HasPrefix(line[n:], "- ") {
		return 2*n + 1
	}
	return 2 * n
}
