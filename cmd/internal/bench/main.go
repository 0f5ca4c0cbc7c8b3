// Command bench prints how long Poolwright takes, beside what any tool pays that
// reads the same input, as ratios from one run: make bench.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	switch {
	case len(os.Args) == 5 && os.Args[1] == "in-process":
		work := map[string]func(string, string) error{"as-json": copyAsJSON, "populate": populate}
		if err := work[os.Args[2]](os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case len(os.Args) == 4 && os.Args[1] == "in-process":
		inProcess(os.Args[2], os.Args[3])
		return
	}
	runs := flag.Int("runs", 3, "runs of each measurement; the median is printed")
	largest := flag.Int("max-nodes", 5000, "leave out clusters with more nodes")
	poolwright := flag.String("poolwright", "bin/poolwright", "the binary to measure")
	kustomize := flag.String("kustomize", "bin/kustomize", "the kustomize binary; left out where it is missing")
	live := flag.String("live", "", "measure the inventory of a real API server instead, from the programs in this folder")
	flag.Parse()
	if *live != "" {
		if err := runLive(*runs, *largest, *live); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*runs, *largest, *poolwright, *kustomize); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(runs, largest int, poolwright, kustomize string) error {
	tools := []*string{&poolwright, &kustomize}
	for _, tool := range tools {
		path, err := filepath.Abs(*tool)
		if err != nil {
			return err
		}
		*tool = path
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "poolwright-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Printf("%s, %d cores, %s; median of %d runs of whole processes; ratios to parse-only\n\n", cpu(), runtime.NumCPU(), runtime.Version(), runs)
	fmt.Println("| cluster | job | wall | ratio | peak memory | allocated |")
	fmt.Println("|---|---|---:|---:|---:|---:|")
	for _, s := range sizes {
		if s.nodes > largest {
			continue
		}
		dir := filepath.Join(work, s.String())
		if err := generate(dir, s, poolwright); err != nil {
			return err
		}
		list, err := resourceList(dir)
		if err != nil {
			return err
		}
		if err := inventoryAsJSON(dir, dir+".json"); err != nil {
			return err
		}
		var base time.Duration
		for _, j := range jobs(self, poolwright, kustomize, dir, list, s) {
			if _, err := os.Stat(j.argv[0]); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %s left out: %v\n", j.name, err)
				continue
			}
			m, err := j.measure(runs)
			if err != nil {
				return err
			}
			if base == 0 {
				base = m.wall
			}
			m.print(s, j.name, base)
		}
	}
	return nil
}

// job is one thing to measure.
type job struct {
	name  string
	dir   string
	stdin string
	argv  []string
	twin  []string // the same work in a process that tells what it allocated; nil if argv does
}

// slowKustomize is the size from which kustomize takes minutes.
const slowKustomize = 1000

func jobs(self, poolwright, kustomize, dir, list string, s size) []job {
	asJSON := dir + ".json"
	jobs := []job{
		{name: "parse only (yaml.v3)", argv: []string{self, "in-process", "parse", list}},
		{name: "kyaml function that does nothing", argv: []string{self, "in-process", "kyaml", list}},
		{name: "`poolwright render`", argv: []string{poolwright, "render", dir, "-o", "-"}, twin: []string{self, "in-process", "render", dir}},
		{name: "`poolwright render`, inventory in JSON", argv: []string{poolwright, "render", asJSON, "-o", "-"}, twin: []string{self, "in-process", "render", asJSON}},
		{name: "`poolwright fn`", argv: []string{poolwright, "fn"}, stdin: list, twin: []string{self, "in-process", "fn", list}},
		{name: "`poolwright build`", argv: []string{poolwright, "build", dir}, twin: []string{self, "in-process", "build", dir}},
	}
	if s.nodes <= slowKustomize {
		jobs = append(jobs, job{name: "`kustomize build` with the function", dir: dir,
			argv: []string{kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "."}})
	}
	return jobs
}

// measurement is the median of several runs. allocated is 0 where the process
// does not tell.
type measurement struct {
	wall      time.Duration
	peak      int64 // bytes
	allocated int64 // bytes
}

func (j job) measure(runs int) (measurement, error) {
	var all []measurement
	for range runs {
		m, err := j.once()
		if err != nil {
			return m, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b measurement) int { return cmp.Compare(a.wall, b.wall) })
	m := all[len(all)/2]
	if j.twin != nil {
		told, err := job{argv: j.twin, dir: j.dir}.once()
		if err != nil {
			return m, err
		}
		m.allocated = told.allocated
	}
	return m, nil
}

func (j job) once() (measurement, error) {
	cmd := exec.Command(j.argv[0], j.argv[1:]...)
	cmd.Dir = j.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if j.stdin != "" {
		in, err := os.Open(j.stdin)
		if err != nil {
			return measurement{}, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return measurement{}, fmt.Errorf("%s: %w\n%s", strings.Join(j.argv, " "), err, tail(stderr.String()))
	}
	m := measurement{wall: time.Since(start), peak: peak(cmd.ProcessState)}
	for line := range strings.Lines(stderr.String()) {
		if n, found := strings.CutPrefix(line, allocatedPrefix); found {
			m.allocated, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return m, nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

func (m measurement) print(s size, name string, base time.Duration) {
	allocated := ""
	if m.allocated > 0 {
		allocated = fmt.Sprintf("%d MiB", m.allocated>>20)
	}
	fmt.Printf("| %s | %s | %s | %.2f | %d MiB | %s |\n", s, name, m.wall.Round(100*time.Microsecond), float64(m.wall)/float64(base), m.peak>>20, allocated)
}

// cpu names the machine.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
