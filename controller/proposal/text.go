package proposal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/controller/forge"
)

// Room is how many bytes Compose and Withdrawn add to a body at most.
const Room = 1000

const (
	markBegin     = "<!-- poolwright: "
	markEnd       = " -->"
	markWithdrawn = "withdrawn"
	markOutput    = "output "
	markText      = "text "
)

// note says to people how the pull request behaves.
const note = "Poolwright keeps this pull request up to date. Merge it to take over the output. " +
	"Close it to decline this output; the next one that differs is proposed again. " +
	"A commit that you add stops the updates until it is merged or removed.\n"

// Marks are the lines by which the controller knows a pull request again.
type Marks struct {
	Withdrawn bool   // the controller closed it
	Output    string // digest of the proposed output
	Text      string // digest of the text as it was written: people may edit it
}

// ReadMarks reads them. A mark has a line of its own: the names of objects are never at the beginning
// of one.
func ReadMarks(body string) Marks {
	var m Marks
	for line := range strings.Lines(body) {
		mark, found := strings.CutPrefix(strings.TrimSpace(line), markBegin)
		if !found {
			continue
		}
		mark, found = strings.CutSuffix(mark, markEnd)
		output, isOutput := strings.CutPrefix(mark, markOutput)
		text, isText := strings.CutPrefix(mark, markText)
		switch {
		case !found:
		case mark == markWithdrawn:
			m.Withdrawn = true
		case isOutput:
			m.Output = output
		case isText:
			m.Text = text
		}
	}
	return m
}

// Compose is the text of a pull request for an output, and the digest of it. body has at most the
// characters of the forge without Room.
func Compose(title, body, output string) (forge.Text, string) {
	body = strings.TrimRight(body, "\n") + "\n\n" + note
	sum := sha256.Sum256([]byte(title + "\n" + body))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	return forge.Text{Title: title, Body: body + "\n" + mark(markOutput+output) + mark(markText+digest)}, digest
}

// Withdrawn is the text of a pull request before the controller closes it.
func Withdrawn(r *forge.Request) forge.Text {
	return withdraw(r, "the output of the base is that of the specs and the cluster again")
}

// Duplicate is the text of a pull request before the controller closes it for another one.
func Duplicate(r, of *forge.Request) forge.Text {
	return withdraw(r, fmt.Sprintf("this is a duplicate of pull request %d", of.Number))
}

func withdraw(r *forge.Request, why string) forge.Text {
	t := r.Text
	if !ReadMarks(t.Body).Withdrawn {
		t.Body = strings.TrimRight(t.Body, "\n") + "\n\nWithdrawn: " + why + ".\n" + mark(markWithdrawn)
	}
	return t
}

func mark(text string) string { return markBegin + text + markEnd + "\n" }
