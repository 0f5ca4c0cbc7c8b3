package console

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/poolwright/poolwright/schema/finding"
)

// problem is an error as a program reads it (RFC 9457).
type problem struct {
	Type     string    `json:"type"` // about:blank: the status says it
	Title    string    `json:"title"`
	Status   int       `json:"status"`
	Detail   string    `json:"detail"`
	Code     string    `json:"code"` // one word
	Findings []Finding `json:"findings"`

	near string // a path that was perhaps meant
	line int    // in the text of a form, from 1; 0 for none
}

// Finding is a finding as the API has it.
type Finding struct {
	Severity finding.Severity `json:"severity"`
	File     *string          `json:"file"`
	Line     *int             `json:"line"` // from 1
	Column   *int             `json:"column"`
	Path     *string          `json:"path"` // of the field
	Message  string           `json:"message"`
}

// findings are those for programs; never nil. The object that one is about begins its message.
func findings(fs []finding.Finding) []Finding {
	out := make([]Finding, len(fs))
	for i, f := range fs {
		out[i] = Finding{Severity: f.Severity, File: known(f.Pos.File), Line: known(f.Pos.Line), Column: known(f.Pos.Column), Path: known(f.Field), Message: f.Message}
		if f.Object != (finding.Ref{}) {
			out[i].Message = f.Object.String() + ": " + f.Message
		}
	}
	return out
}

// known is nil for nothing.
func known[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

func refuse(status int, code, format string, args ...any) *problem {
	return &problem{Status: status, Code: code, Detail: fmt.Sprintf(format, args...), Findings: []Finding{}}
}

// json is the body of the answer.
func (p *problem) json() []byte {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // all of it are texts and numbers
	}
	return append(text, '\n')
}
