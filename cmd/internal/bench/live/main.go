// Command live prints how long the inventory of a real API server takes, and how
// much memory, beside kubectl: make bench-live.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/poolwright/poolwright/cmd/internal/bench"
	"github.com/poolwright/poolwright/cmd/internal/bench/apiserver"
	"github.com/poolwright/poolwright/test/controlplane"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "populate" {
		bench.Exit(apiserver.Populate(os.Args[2], os.Args[3]))
	}
	runs := flag.Int("runs", 3, "runs of each measurement; the median is printed")
	nodes := flag.Int("nodes", 1000, "nodes of the cluster, with 24 disks each")
	bin := flag.String("bin", "bin", "the folder of poolwright and the programs of the control plane")
	flag.Parse()
	bench.Exit(run(*runs, *nodes, *bin))
}

func run(runs, nodes int, bin string) error {
	s := bench.Size{Nodes: nodes, Disks: 24}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "poolwright-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	poolwright, err := filepath.Abs(filepath.Join(bin, "poolwright"))
	if err != nil {
		return err
	}
	if err := bench.Generate(filepath.Join(work, "package"), s, poolwright); err != nil {
		return err
	}
	plane, err := controlplane.Start(bin)
	if err != nil {
		return err
	}
	defer func() { _ = plane.Stop() }() // the measurement is what counts
	start := time.Now()
	// A process of its own does it: what this one holds counts in the peak memory
	// of those that it starts.
	if out, err := exec.Command(self, "populate", plane.Kubeconfig, filepath.Join(work, "package", "inventory")).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	fmt.Fprintf(os.Stderr, "bench: %s created in %s\n", s, time.Since(start).Round(time.Second))
	fmt.Printf("%s, %d cores, %s; Kubernetes %s on the same machine; %d nodes, %d block devices; median of %d runs\n\n",
		bench.CPU(), runtime.NumCPU(), runtime.Version(), plane.Version, s.Nodes, s.Nodes*s.Disks, runs)
	fmt.Println("| job | wall | ratio | peak memory | written |")
	fmt.Println("|---|---:|---:|---:|---:|")
	var base time.Duration
	for _, j := range jobs(work, poolwright, plane.Kubeconfig) {
		if err := os.Mkdir(j.Dir, 0o755); err != nil {
			return err
		}
		m, err := j.Measure(runs)
		if err != nil {
			return err
		}
		base = cmp.Or(base, m.Wall)
		fmt.Printf("| %s | %s | %.2f | %d MiB | %.1f MiB |\n",
			j.Name, m.Wall.Round(time.Millisecond), float64(m.Wall)/float64(base), m.Peak>>20, float64(written(j.Dir))/(1<<20))
	}
	return nil
}

// jobs are the measurements; each writes into a folder of its own.
func jobs(work, poolwright, kubeconfig string) []bench.Job {
	const kinds = "nodes,blockdevices,persistentvolumes,persistentvolumeclaims,volumeattachments,storageclasses,csidrivers"
	var all []bench.Job
	add := func(name, program, args string) {
		all = append(all, bench.Job{
			Name: name,
			Dir:  filepath.Join(work, strconv.Itoa(len(all))),
			Argv: []string{"sh", "-c", `rm -rf out && exec "$0" ` + args + ` --kubeconfig "$1"`, program, kubeconfig},
		})
	}
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		for _, format := range []string{"yaml", "json"} {
			add("`kubectl get … -A -o "+format+"`", kubectl, "get "+kinds+" -A >out -o "+format)
		}
	} else {
		fmt.Fprintln(os.Stderr, "bench: kubectl left out:", err)
	}
	add("`poolwright inventory`", poolwright, "inventory -O out")
	add("`poolwright inventory --format json`", poolwright, "inventory -O out --format json")
	return all
}

// written is the size of all files in a folder.
func written(dir string) (bytes int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
