// Package apart does in a process of its own what the kernel may not answer for a long time, or never: reads of
// a device whose paths are gone, or that is suspended. Neither a deadline nor a signal ends such a read. The
// process that waits for it is left alone, and whoever asked goes on.
package apart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrStuck says that a device does not answer.
var ErrStuck = errors.New("it does not answer")

// Job is a kind of what is done apart.
type Job[A, R any] struct {
	Name string
	Do   func(A) (R, error)
}

// Run does the job with a device: in a process of the pool, or in this one where there is no pool. The error is
// ErrStuck where the device has not answered in time, now or in a call before that it still owes an answer to.
func (j Job[A, R]) Run(p *Pool, device string, args A) (R, error) {
	if p == nil {
		return j.Do(args)
	}
	var result R
	data, err := json.Marshal(args)
	if err != nil {
		return result, err
	}
	answer, err := p.call(device, request{Job: j.Name, Args: data})
	if err != nil {
		return result, err
	}
	if answer.Error != "" {
		return result, errors.New(answer.Error)
	}
	return result, json.Unmarshal(answer.Result, &result)
}

// Server is a Job as the process apart has it.
type Server interface {
	name() string
	serve(args json.RawMessage) (any, error)
}

func (j Job[A, R]) name() string { return j.Name }

func (j Job[A, R]) serve(data json.RawMessage) (any, error) {
	var args A
	if err := json.Unmarshal(data, &args); err != nil {
		return nil, err
	}
	return j.Do(args)
}

type request struct {
	ID   int             `json:"id"`
	Job  string          `json:"job"`
	Args json.RawMessage `json:"args"`
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Serve answers requests, all at the same time, until there are no more and the last is answered.
func Serve(in io.Reader, out io.Writer, servers ...Server) error {
	jobs := map[string]Server{}
	for _, s := range servers {
		jobs[s.name()] = s
	}
	var (
		running  sync.WaitGroup
		mu       sync.Mutex
		requests = json.NewDecoder(in)
		answers  = json.NewEncoder(out)
	)
	defer running.Wait()
	for {
		var r request
		switch err := requests.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		running.Go(func() {
			a := answer{ID: r.ID}
			result, err := any(nil), fmt.Errorf("there is no job %q", r.Job)
			if s := jobs[r.Job]; s != nil {
				result, err = s.serve(r.Args)
			}
			if err == nil {
				a.Result, err = json.Marshal(result)
			}
			if err != nil {
				a.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			_ = answers.Encode(a) // whoever asked may be gone
		})
	}
}
