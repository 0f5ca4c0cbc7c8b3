package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// typeProblem is the media type of an error (RFC 9457).
const typeProblem = "application/problem+json"

// problem is an error as a client reads it.
type problem struct {
	Type     string           `json:"type"` // about:blank: the status says it
	Title    string           `json:"title"`
	Status   int              `json:"status"`
	Detail   string           `json:"detail"`
	Line     int              `json:"line,omitempty"` // in the body, from 1
	Column   int              `json:"column,omitempty"`
	Findings []finding.Record `json:"findings,omitempty"`

	exit int // the exit code of the command, -1 for none
}

func refuse(status int, format string, args ...any) *problem {
	return &problem{Status: status, Detail: fmt.Sprintf(format, args...), exit: -1}
}

// refuseInput is an error of the command about its input, with the place in the body.
func refuseInput(err error, exit int) *problem {
	p := &problem{Status: http.StatusBadRequest, Detail: err.Error(), exit: exit}
	var syntax *document.SyntaxError
	if errors.As(err, &syntax) {
		p.Line, p.Column = syntax.Pos.Line, syntax.Pos.Column
	}
	return p
}

// forbidden says which findings forbid a render.
func forbidden(fs []finding.Finding, exit int) *problem {
	return &problem{Status: http.StatusUnprocessableEntity, Detail: "findings of severity error forbid a render", exit: exit, Findings: finding.Records(fs)}
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
