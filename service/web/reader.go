package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrTimeUp says that a request had its slot for too long.
var ErrTimeUp = errors.New("the time is up")

// Reader reads from a connection. Each read ends within the stall time, and none begins
// after until.
type Reader struct {
	From    io.Reader
	Control *http.ResponseController
	Stall   time.Duration
	Until   time.Time // zero for no end
	Failed  error
}

func (t *Reader) Read(p []byte) (int, error) {
	deadline := time.Now().Add(t.Stall)
	last := !t.Until.IsZero() && t.Until.Before(deadline)
	if last {
		deadline = t.Until
	}
	if err := t.Control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := t.From.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		if t.Failed = err; last && errors.Is(err, os.ErrDeadlineExceeded) {
			return n, fmt.Errorf("%w: %w", ErrTimeUp, err)
		}
	}
	return n, err
}

// Rest leaves no deadline on the connection: net/http looks there for the end of the client.
func (t *Reader) Rest() { _ = t.Control.SetReadDeadline(time.Time{}) }
