// Command controller prints how long the controller of Hydrations takes from a fact to a pushed commit, and what it
// needs at rest, with a real API server and git's own server: make bench-controller.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/cmd/internal/bench"
	"github.com/poolwright/poolwright/cmd/internal/bench/apiserver"
	"github.com/poolwright/poolwright/test/controlplane"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "populate" {
		bench.Exit(apiserver.Populate(os.Args[2], os.Args[3]))
	}
	o := options{}
	flag.IntVar(&o.facts, "facts", 40, "how many nodes are added, one after the other")
	flag.DurationVar(&o.rest, "rest", 3*time.Minute, "how long the controller is measured at rest")
	flag.StringVar(&o.bin, "bin", "bin", "the folder of poolwright, poolwright-controller and the programs of the control plane")
	flag.Parse()
	bench.Exit(run(o))
}

type options struct {
	facts int
	rest  time.Duration
	bin   string
}

// scene is a cluster, and how many Hydrations there are for it.
type scene struct {
	bench.Size
	hydrations int
	pools      bool // the package has a pool of mirrors on each node, and not only a volume
}

func run(o options) error {
	fmt.Printf("%s, %d cores, %s; Kubernetes, Git and the controller on the same machine; load before it: %s\n\n", bench.CPU(), runtime.NumCPU(), runtime.Version(), load())
	fmt.Println("| cluster | Hydrations | fact to pushed commit p50 | p95 | memory at rest | largest | CPU at rest | requests a minute at rest: lease | others | Git |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, s := range []scene{{bench.Size{Nodes: 1000, Disks: 24}, 1, true}, {bench.Size{Nodes: 10, Disks: 24}, 100, false}} {
		if err := s.measure(o); err != nil {
			return err
		}
	}
	return nil
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text))[:min(3, len(strings.Fields(string(text))))], " ")
}

func (s scene) measure(o options) error {
	work, err := os.MkdirTemp("", "poolwright-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	dir := filepath.Join(work, "package")
	if err := bench.Generate(dir, s.Size, filepath.Join(bin, "poolwright")); err != nil {
		return err
	}
	plane, err := controlplane.Start(bin)
	if err != nil {
		return err
	}
	defer func() { _ = plane.Stop() }() // the measurement is what counts
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.Command(self, "populate", plane.Kubeconfig, filepath.Join(dir, "inventory")).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	a, err := connect(plane.Kubeconfig)
	if err != nil {
		return err
	}
	if err := a.define(); err != nil {
		return err
	}
	git, err := newGit(work, s.files(dir), s.hydrations)
	if err != nil {
		return err
	}
	defer git.Close()
	if err := a.hydrate(git, s.hydrations); err != nil {
		return err
	}
	way, err := newWay(plane.Kubeconfig, work)
	if err != nil {
		return err
	}
	defer way.Close()
	c, err := start(filepath.Join(bin, "poolwright-controller"), way.file)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := s.await(git, git.heads(), 20*time.Minute, c); err != nil {
		return fmt.Errorf("the first commits: %w", err)
	}
	fmt.Fprintf(os.Stderr, "bench: %s, %d Hydrations: all published\n", s.Size, s.hydrations)
	var took []time.Duration
	for i := range o.facts {
		before := git.heads()
		begun := time.Now()
		if err := a.node(fmt.Sprintf("added-%03d", i)); err != nil {
			return err
		}
		if err := s.await(git, before, 5*time.Minute, c); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		took = append(took, time.Since(begun))
		time.Sleep(time.Second) // its own commit is judged once more
	}
	slices.Sort(took)
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(10 * time.Millisecond)
	}
	time.Sleep(time.Minute) // the last judgement, and what the runtime gives back after it
	git.Requests()
	way.take()
	cpu := c.cpu()
	time.Sleep(o.rest)
	cpu = c.cpu() - cpu
	lease, others := 0, map[string]int{}
	for _, path := range way.take() {
		if strings.Contains(path, "/leases/") {
			lease++
		} else {
			others[path]++
		}
	}
	sum := 0
	for path, n := range others {
		fmt.Fprintf(os.Stderr, "bench: at rest %d of %s\n", n, path)
		sum += n
	}
	minutes := o.rest.Minutes()
	rss, largest := c.memory()
	fmt.Printf("| %s | %d | %v | %v | %d MiB | %d MiB | %.2f %% | %.1f | %.1f | %.1f |\n", s.Size, s.hydrations, at(.5), at(.95), rss>>20, largest>>20,
		100*cpu.Seconds()/o.rest.Seconds(), float64(lease)/minutes, float64(sum)/minutes, float64(len(git.Requests()))/minutes)
	return nil
}

// files are those of the package: the specs of the size, and a volume for each node, so that each new node changes the output.
func (s scene) files(dir string) map[string]string {
	files := map[string]string{"logs.yaml": `apiVersion: poolwright.io/v1alpha1
kind: VolumeTemplate
metadata:
  name: logs
spec:
  template:
    kind: Volume
    spec:
      storageClassName: local
      sparseLoopDevice:
        size: 1Gi
`}
	if text, err := os.ReadFile(filepath.Join(dir, "cstor.yaml")); err == nil && s.pools {
		files["cstor.yaml"] = string(text)
	}
	return files
}

// await waits until each branch has another commit.
func (s scene) await(git *gitServer, before map[string]string, patience time.Duration, c *process) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		now, moved := git.heads(), 0
		for branch, commit := range now {
			if before[branch] != commit {
				moved++
			}
		}
		if moved == s.hydrations {
			return nil
		}
		if c.ended() {
			break
		}
	}
	return fmt.Errorf("no commit within %v\n%s", patience, cmp.Or(c.log(), "the controller says nothing"))
}
