package apart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Deadline is how long a device may take to answer: far longer than a disk that is spun up, or that many write
// to.
const Deadline = 30 * time.Second

// Pool is a process that answers, as long as there is something to ask, and those before it that were left with a
// device that does not.
type Pool struct {
	// Command is this program with other arguments; with "read" it serves.
	Command func(args ...string) *exec.Cmd
	// Deadline stands for the usual one, if it is not zero.
	Deadline time.Duration
	// Answered, if not nil, is called when a device that was stuck has answered.
	Answered func()

	mu    sync.Mutex
	child *child
	stuck map[string]*child
}

// child is one process. It ends once its input is closed and its last request is answered.
type child struct {
	in      io.WriteCloser
	next    int
	waiting map[int]chan answer
	ended   chan struct{}
}

func (p *Pool) call(device string, r request) (answer, error) {
	c, got, err := p.send(device, r)
	if err != nil {
		return answer{}, err
	}
	deadline := p.Deadline
	if deadline == 0 {
		deadline = Deadline
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case a := <-got:
		return a, nil
	case <-c.ended:
		select {
		case a := <-got:
			return a, nil
		default:
			return answer{}, errors.New("the process that reads it has ended")
		}
	case <-timer.C:
		p.leave(c, device)
		return answer{}, ErrStuck
	}
}

// send hands a request to the process, which is started where there is none.
func (p *Pool) send(device string, r request) (*child, chan answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck[device] != nil {
		return nil, nil, ErrStuck
	}
	if p.child == nil {
		c, err := p.start()
		if err != nil {
			return nil, nil, err
		}
		p.child = c
	}
	c := p.child
	c.next++
	r.ID = c.next
	got := make(chan answer, 1)
	c.waiting[r.ID] = got
	// A request is shorter than what a pipe takes, and the process reads on whatever it waits for.
	if err := json.NewEncoder(c.in).Encode(r); err != nil {
		delete(c.waiting, r.ID)
		return nil, nil, err
	}
	return c, got, nil
}

// leave leaves a process alone that waits for a device.
func (p *Pool) leave(c *child, device string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-c.ended:
		return // it has answered just now
	default:
	}
	if p.stuck == nil {
		p.stuck = map[string]*child{}
	}
	p.stuck[device] = c
	if p.child == c {
		p.child = nil
		_ = c.in.Close()
	}
}

// Stuck reports whether a device owes an answer.
func (p *Pool) Stuck(device string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stuck[device] != nil
}

// Alone runs this program with arguments until it ends. It has open files as descriptors 3 and so on, and with them
// their locks; when ctx ends it is left to go on.
func (p *Pool) Alone(ctx context.Context, files []*os.File, args ...string) error {
	cmd := p.Command(args...)
	cmd.ExtraFiles = files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", args[0], err, bytes.TrimSpace(said.Bytes()))
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Rest ends the process until something is asked again.
func (p *Pool) Rest() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil {
		_ = p.child.in.Close()
		p.child = nil
	}
}

func (p *Pool) start() (*child, error) {
	cmd := p.Command("read")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{in: in, waiting: map[int]chan answer{}, ended: make(chan struct{})}
	go p.listen(c, out, cmd)
	return c, nil
}

// listen hands out answers until the process has ended. What it was stuck with has answered then.
func (p *Pool) listen(c *child, out io.Reader, cmd *exec.Cmd) {
	answers := json.NewDecoder(out)
	for {
		var a answer
		if answers.Decode(&a) != nil {
			break
		}
		p.mu.Lock()
		got := c.waiting[a.ID]
		delete(c.waiting, a.ID)
		p.mu.Unlock()
		if got != nil {
			got <- a
		}
	}
	_ = cmd.Wait()
	p.mu.Lock()
	if p.child == c {
		p.child = nil
	}
	freed := false
	for device, of := range p.stuck {
		if of == c {
			delete(p.stuck, device)
			freed = true
		}
	}
	close(c.ended)
	p.mu.Unlock()
	if freed && p.Answered != nil {
		p.Answered()
	}
}
