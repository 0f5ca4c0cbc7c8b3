// Package bench measures whole processes, and generates the clusters that they are
// measured with. Its commands print tables: render is make bench, and live is make
// bench-live. They are two, so that none pays for what only the other links in.
package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AllocatedPrefix begins the line on the standard error with which a process reports
// how many bytes it allocated.
const AllocatedPrefix = "allocated: "

// Exit ends a command.
func Exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Job is one thing to measure.
type Job struct {
	Name  string
	Dir   string
	Stdin string
	Argv  []string
	Twin  []string // the same work in a process that reports what it allocated; nil if Argv does
}

// Measurement is the median of several runs. Allocated is 0 where the process
// does not report.
type Measurement struct {
	Wall      time.Duration
	Peak      int64 // bytes
	Allocated int64 // bytes
}

// Measure runs the job so many times.
func (j Job) Measure(runs int) (Measurement, error) {
	var all []Measurement
	for range runs {
		m, err := j.once()
		if err != nil {
			return m, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Measurement) int { return cmp.Compare(a.Wall, b.Wall) })
	m := all[len(all)/2]
	if j.Twin != nil {
		told, err := Job{Argv: j.Twin, Dir: j.Dir}.once()
		if err != nil {
			return m, err
		}
		m.Allocated = told.Allocated
	}
	return m, nil
}

func (j Job) once() (Measurement, error) {
	cmd := exec.Command(j.Argv[0], j.Argv[1:]...)
	cmd.Dir = j.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if j.Stdin != "" {
		in, err := os.Open(j.Stdin)
		if err != nil {
			return Measurement{}, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return Measurement{}, fmt.Errorf("%s: %w\n%s", strings.Join(j.Argv, " "), err, tail(stderr.String()))
	}
	m := Measurement{Wall: time.Since(start), Peak: peak(cmd.ProcessState)}
	for line := range strings.Lines(stderr.String()) {
		if n, found := strings.CutPrefix(line, AllocatedPrefix); found {
			m.Allocated, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return m, nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// CPU names the machine.
func CPU() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
