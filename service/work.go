package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// endpoint is what is done with a body.
type endpoint struct {
	name, short string
	parameters  []Parameter
	forms       []Form
	result      any
	run         func(body []byte, values url.Values, form Form) reply
}

// reply is what a client gets.
type reply struct {
	status   int
	exit     int
	text     []byte
	problem  *problem // instead of the text
	findings []finding.Finding
}

// bodyName is what messages call the body, as those of poolwright fn do.
const bodyName = "stdin"

// function is poolwright fn.
func (s *Server) function() *endpoint {
	return &endpoint{
		name: "fn", short: "Run the KRM function, as poolwright fn",
		forms: []Form{{Type: typeYAML}, {Type: typeJSON}},
		run: func(body []byte, _ url.Values, form Form) reply {
			var out bytes.Buffer
			fs, err := s.config.Function.Run(&document.Source{Name: bodyName, Data: body}, &out)
			if err != nil {
				return reply{problem: refuseInput(err, 1)}
			}
			r := reply{status: http.StatusOK, text: out.Bytes(), findings: fs}
			if finding.Failed(fs) {
				r.status, r.exit = http.StatusUnprocessableEntity, 1
			}
			if form.Type == typeJSON {
				r.text = asJSON(r.text)
			}
			return r
		},
	}
}

// asJSON is a document that the function wrote, as JSON.
func asJSON(text []byte) []byte {
	docs, err := document.Parse(&document.Source{Data: text})
	if err != nil {
		panic(err) // the function wrote it
	}
	return append(document.AppendJSON(nil, &docs[0].Node), '\n')
}

// verb is one of the commands that read a package.
func (s *Server) verb(v *Verb) *endpoint {
	return &endpoint{
		name: v.Name, short: v.Short, parameters: v.Parameters, forms: v.Forms, result: v.Result,
		run: func(body []byte, values url.Values, form Form) reply {
			list, err := krm.ReadResourceList(&document.Source{Name: bodyName, Data: body})
			if err != nil {
				return reply{problem: refuseInput(err, 1)}
			}
			o := v.Run(Call{List: list, Values: values, Form: form})
			r := reply{status: http.StatusOK, exit: o.Code, text: o.Out, findings: o.Findings}
			switch {
			case o.Err != nil:
				r.problem = refuseInput(o.Err, o.Code)
			case o.Refused && form.Type != typeText && (!v.Listed || len(o.Out) == 0):
				r.problem = forbidden(o.Findings, o.Code)
			case o.Refused:
				r.status = http.StatusUnprocessableEntity
			}
			return r
		},
	}
}

// work answers a request to an endpoint.
func (s *Server) work(x *exchange, e *endpoint) {
	if !s.begin() {
		x.fail(refuse(http.StatusServiceUnavailable, shuttingDown))
		return
	}
	defer s.end()
	b, p := openBody(x, s.config.MaxBody, s.config.Stall)
	if p != nil {
		x.fail(p)
		return
	}
	values, p := checkParameters(x.request.URL.RawQuery, e.parameters)
	if p != nil {
		x.fail(p)
		return
	}
	form, p := choose(e.forms, values, x.request.Header.Values("Accept"))
	if p != nil {
		x.fail(p)
		return
	}
	t, p := s.admit(x, b)
	if p != nil {
		x.fail(p)
		return
	}
	defer t.answered()
	text := b.received.Bytes()
	sum := sha256.Sum256(text)
	x.received, x.digest = int64(len(text)), "sha256:"+hex.EncodeToString(sum[:])
	r, p := s.run(x, t, func() reply { return e.run(text, values, form) })
	if p != nil {
		x.fail(p)
		return
	}
	s.metrics.count(r.findings)
	if r.problem != nil {
		x.fail(r.problem)
		return
	}
	x.header().Set(exitCode, strconv.Itoa(r.exit))
	x.send(r.status, form.Type, r.text)
}

// turn is the slot of a request, and its part of the budget. Both the work and the answer hold
// the budget: the work may go on after the time is up, and an answer is in memory until it is
// sent.
type turn struct {
	server *Server
	until  time.Time
	weight int64 // of the budget, in bytes
	begun  bool  // the work gives the slot back
	users  atomic.Int32
}

// answered ends the answer.
func (t *turn) answered() {
	if !t.begun {
		t.server.slots.give()
	}
	t.leave()
}

// leave gives the budget back with its last user.
func (t *turn) leave() {
	if t.users.Add(-1) == 0 && t.weight > 0 {
		t.server.budget.Give(t.weight)
	}
}

// admit reads the body and waits for a slot: a small body is read first, so that a slow client
// takes no slot, and of a larger one only the beginning.
func (s *Server) admit(x *exchange, b *body) (*turn, *problem) {
	if s.slots.full() {
		return nil, busy()
	}
	done := false
	if b.isSmall() {
		if s.slots.read() != nil {
			return nil, busy()
		}
		var p *problem
		done, p = b.read(min(smallBody, b.most)+1, time.Now().Add(s.config.Timeout), http.StatusRequestTimeout)
		s.slots.hasRead()
		if p != nil {
			x.received = int64(b.received.Len())
			return nil, p
		}
	}
	if err := s.slots.take(x.request.Context()); err != nil {
		if errors.Is(err, errBusy) {
			return nil, busy()
		}
		return nil, refuse(statusGone, "the client is gone")
	}
	t := &turn{server: s, until: time.Now().Add(s.config.Timeout)}
	t.users.Store(1)
	if done {
		return t, nil
	}
	ctx, cancel := context.WithDeadline(x.request.Context(), t.until)
	defer cancel()
	if err := s.budget.Take(ctx, b.weight()); err != nil {
		t.answered()
		if x.request.Context().Err() != nil {
			return nil, refuse(statusGone, "the client is gone")
		}
		return nil, s.tooLate()
	}
	t.weight = b.weight()
	if _, p := b.read(b.most+1, t.until, http.StatusGatewayTimeout); p != nil {
		x.received = int64(b.received.Len())
		t.answered()
		return nil, p
	}
	return t, nil
}

func busy() *problem { return refuse(http.StatusTooManyRequests, "%v; try again later", errBusy) }

func (s *Server) tooLate() *problem {
	return refuse(http.StatusGatewayTimeout, "not done after %s; a server with a longer --timeout waits longer", s.config.Timeout)
}

// run works until the time is up. The slot is taken until the work ends, so that requests that
// take too long do not add up.
func (s *Server) run(x *exchange, t *turn, work func() reply) (reply, *problem) {
	type end struct {
		reply reply
		panic any
		stack []byte
	}
	done := make(chan end, 1)
	t.begun = true
	t.users.Add(1)
	go func() {
		var e end
		defer func() {
			if e.panic = recover(); e.panic != nil {
				e.stack = debug.Stack()
			}
			s.slots.give()
			t.leave()
			done <- e
		}()
		e.reply = work()
	}()
	timer := time.NewTimer(time.Until(t.until))
	defer timer.Stop()
	select {
	case e := <-done:
		if e.panic != nil {
			return reply{}, s.panicked(x, e.panic, e.stack)
		}
		return e.reply, nil
	case <-timer.C:
		return reply{}, s.tooLate()
	}
}
