// Command render prints how long Poolwright takes, beside what any tool pays that
// reads the same input, as ratios from one run: make bench.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/poolwright/poolwright/cmd/internal/bench"
)

func main() {
	if len(os.Args) == 4 {
		switch os.Args[1] {
		case "as-json":
			bench.Exit(copyAsJSON(os.Args[2], os.Args[3]))
		case "in-process":
			bench.Exit(inProcess(os.Args[2], os.Args[3]))
		}
	}
	runs := flag.Int("runs", 3, "runs of each measurement; the median is printed")
	var sizes bench.Sizes
	_ = sizes.Set("3x4,100x12,1000x24")
	flag.Var(&sizes, "sizes", "the clusters to measure, nodes x disks of each")
	poolwright := flag.String("poolwright", "bin/poolwright", "the binary to measure")
	kustomize := flag.String("kustomize", "bin/kustomize", "the kustomize binary; \"\" leaves it out")
	flag.Parse()
	bench.Exit(run(*runs, sizes, *poolwright, *kustomize))
}

func run(runs int, sizes bench.Sizes, poolwright, kustomize string) error {
	for _, tool := range []*string{&poolwright, &kustomize} {
		if *tool == "" {
			continue
		}
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
	fmt.Printf("%s, %d cores, %s; median of %d runs of whole processes; ratios to parse-only\n\n", bench.CPU(), runtime.NumCPU(), runtime.Version(), runs)
	fmt.Println("| cluster | job | wall | ratio | peak memory | allocated |")
	fmt.Println("|---|---|---:|---:|---:|---:|")
	for _, s := range sizes {
		dir := filepath.Join(work, s.String())
		if err := bench.Generate(dir, s, poolwright); err != nil {
			return err
		}
		list, err := resourceList(dir)
		if err != nil {
			return err
		}
		if err := inventoryAsJSON(dir, dir+".json"); err != nil {
			return err
		}
		for end, perNode := range map[string]string{".pools": "1", ".allpools": "all"} {
			if err := bench.PoolSet(dir+end, dir, perNode); err != nil {
				return err
			}
		}
		for from, spec := range map[string]string{dir: "cstor.yaml", dir + ".allpools": "diskpools.yaml"} {
			if err := bench.Lock(from+".lock", from, spec, poolwright); err != nil {
				return err
			}
		}
		var base time.Duration
		for _, j := range jobs(self, poolwright, kustomize, dir, list, s) {
			m, err := j.Measure(runs)
			if err != nil {
				return err
			}
			if base == 0 {
				base = m.Wall
			}
			printRow(s, j.Name, m, base)
		}
	}
	return measureVolumes(runs, poolwright, work)
}

// slowKustomize is the size from which kustomize takes hours.
const slowKustomize = 1000

func jobs(self, poolwright, kustomize, dir, list string, s bench.Size) []bench.Job {
	asJSON := dir + ".json"
	jobs := []bench.Job{
		{Name: "parse only (yaml.v3)", Argv: []string{self, "in-process", "parse", list}},
		{Name: "kyaml function that does nothing", Argv: []string{self, "in-process", "kyaml", list}},
		{Name: "`poolwright render`", Argv: []string{poolwright, "render", dir, "-o", "-"}, Twin: []string{self, "in-process", "render", dir}},
		{Name: "`poolwright render`, with a lock", Argv: []string{poolwright, "render", dir + ".lock"}, Twin: []string{self, "in-process", "render", dir + ".lock"}},
		{Name: "`poolwright what-if --every node`, with a lock", Argv: []string{poolwright, "what-if", dir + ".lock", "--every", "node"}},
		{Name: "`poolwright render`, inventory in JSON", Argv: []string{poolwright, "render", asJSON, "-o", "-"}, Twin: []string{self, "in-process", "render", asJSON}},
		{Name: "`poolwright render`, DiskPoolSet", Argv: []string{poolwright, "render", dir + ".pools", "-o", "-"}, Twin: []string{self, "in-process", "render", dir + ".pools"}},
		{Name: "`poolwright render`, DiskPoolSet of all disks", Argv: []string{poolwright, "render", dir + ".allpools", "-o", "-"}, Twin: []string{self, "in-process", "render", dir + ".allpools"}},
		{Name: "`poolwright render`, DiskPoolSet of all disks, with a lock", Argv: []string{poolwright, "render", dir + ".allpools.lock"}, Twin: []string{self, "in-process", "render", dir + ".allpools.lock"}},
		{Name: "`poolwright fn`", Argv: []string{poolwright, "fn"}, Stdin: list, Twin: []string{self, "in-process", "fn", list}},
		{Name: "`poolwright build`", Argv: []string{poolwright, "build", dir}, Twin: []string{self, "in-process", "build", dir}},
	}
	if kustomize != "" && s.Nodes <= slowKustomize {
		jobs = append(jobs, bench.Job{Name: "`kustomize build` with the function", Dir: dir,
			Argv: []string{kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "."}})
	}
	return jobs
}

func printRow(s bench.Size, name string, m bench.Measurement, base time.Duration) {
	allocated := ""
	if m.Allocated > 0 {
		allocated = fmt.Sprintf("%d MiB", m.Allocated>>20)
	}
	fmt.Printf("| %s | %s | %s | %.2f | %d MiB | %s |\n", s, name, m.Wall.Round(100*time.Microsecond), float64(m.Wall)/float64(base), m.Peak>>20, allocated)
}
