package hydration

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxSubject = 72     // characters
	maxTable   = 60_000 // bytes; a larger table helps nobody
)

// Trailer is a line at the end of a commit message.
type Trailer struct{ Key, Value string }

// Subject is the plan in one line of at most 72 characters.
func (j *Judgement) Subject() string {
	subject := j.Plan.Summary()
	if len(j.rendered) == 0 {
		subject += "; inventory refreshed"
	}
	if utf8.RuneCountInString(subject) > maxSubject {
		subject = string([]rune(subject)[:maxSubject-1]) + "…"
	}
	return subject
}

// Message is the message of a commit: the subject, the table of the plan, and trailers, of which the given
// ones come first.
func (j *Judgement) Message(trailers ...Trailer) string {
	var b strings.Builder
	b.WriteString(j.Subject() + "\n\n")
	if len(j.Plan.Changes) > 0 {
		b.WriteString(j.table() + "\n")
	}
	trailers = append(trailers, Trailer{"Poolwright-Facts", j.Facts}, Trailer{TrailerOutput, j.Output}, Trailer{"Poolwright-Risk", string(j.Risk())})
	for _, t := range trailers {
		fmt.Fprintf(&b, "%s: %s\n", t.Key, t.Value)
	}
	return b.String()
}

// TrailerOutput is the trailer by which a commit is known as the controller's: Package.Output of its tree.
const TrailerOutput = "Poolwright-Output"

// TrailerOf finds a trailer in a commit message, "" if it is not there.
func TrailerOf(message, key string) string {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	for i := len(lines) - 1; i >= 0 && lines[i] != ""; i-- {
		if value, found := strings.CutPrefix(lines[i], key+": "); found {
			return value
		}
	}
	return ""
}

// table is the table of the plan, cut between two lines.
func (j *Judgement) table() string {
	var b bytes.Buffer
	_ = j.Plan.Table(&b) // a buffer takes everything
	if b.Len() <= maxTable {
		return b.String()
	}
	end := bytes.LastIndexByte(b.Bytes()[:maxTable], '\n') + 1
	rest := bytes.Count(b.Bytes()[end:], []byte("\n"))
	return fmt.Sprintf("%s%d more lines left out\n", b.Bytes()[:end], rest)
}
