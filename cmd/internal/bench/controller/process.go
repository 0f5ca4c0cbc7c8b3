package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is the controller.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	said bytes.Buffer
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(text)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.said.String()
	return text[max(0, len(text)-2000):]
}

func start(program, kubeconfig string) (*process, error) {
	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command(program, "--kubeconfig", kubeconfig, "--allow-host", "127.0.0.1", "--listen", "127.0.0.1:0")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.done
}

// memory is what the process has in memory now, and had at most, in bytes: of Linux.
func (p *process) memory() (now, most int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch key {
		case "VmRSS":
			now = kib << 10
		case "VmHWM":
			most = kib << 10
		}
	}
	return now, most
}

// cpu is how long the process had a processor: of Linux, which counts in hundredths of a second.
func (p *process) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
