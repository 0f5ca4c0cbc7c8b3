package physical_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/poolwright/poolwright/test/physical"
	"github.com/poolwright/poolwright/test/tool"
)

var (
	packages  = flag.Int("packages", tool.Share(300), "how many packages are generated")
	histories = flag.Int("histories", tool.Share(20), "how many histories of 30 events")
	first     = flag.Uint64("first", 1, "the first seed")
	workers   = flag.Int("workers", 1, "how many seeds at a time")
	out       = flag.String("out", "", "write each violation to a file in this folder")
	all       = flag.Bool("all", false, "go on after a violation, and list them")
)

const events = 30

// TestPackages holds on generated packages that one disk has one owner.
func TestPackages(t *testing.T) {
	run(t, *packages, 25, physical.RunPackage) // many specs are new, and refused
}

// TestHistories holds the same after every event of a history.
func TestHistories(t *testing.T) {
	run(t, *histories, 15, func(seed uint64) (*physical.History, *physical.Broken) {
		return physical.RunHistory(seed, events)
	})
}

// run runs seeds; at most so many of a hundred renders may end in errors.
func run(t *testing.T, count, most int, one func(uint64) (*physical.History, *physical.Broken)) {
	var (
		seen   physical.Tally
		lock   sync.Mutex
		next   atomic.Int64
		wg     sync.WaitGroup
		rules  = map[physical.Rule]int{}
		failed atomic.Bool
	)
	for range *workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(count) && (*all || !failed.Load()); i = next.Add(1) - 1 {
				seed := *first + uint64(i)
				h, broken := one(seed)
				lock.Lock()
				seen.Add(h.Tally)
				lock.Unlock()
				if broken == nil {
					continue
				}
				failed.Store(true)
				lock.Lock()
				rules[broken.Rule]++
				lock.Unlock()
				if *all && *out == "" {
					t.Errorf("-first %d: %v", seed, broken.Violation)
					continue
				}
				broken.Shrink()
				if *out == "" {
					t.Errorf("-first %d: %v", seed, broken)
					continue
				}
				file := filepath.Join(*out, fmt.Sprintf("%s-%s-%d.txtar", t.Name(), broken.Rule, seed))
				if err := os.WriteFile(file, []byte(broken.String()), 0o600); err != nil {
					t.Error(err)
				}
				t.Errorf("-first %d: %v: %s", seed, broken.Violation, file)
			}
		})
	}
	wg.Wait()
	t.Logf("broken: %v\n%s", rules, &seen)
	if t.Failed() || count < 100 {
		return
	}
	if seen.Failed*100 > seen.Renders*most {
		t.Errorf("more than %d percent of the renders end in errors: they test nothing else", most)
	}
	if seen.Chose*2 < count {
		t.Error("most packages choose nothing: the generator is of no use")
	}
	for event, n := range seen.Events {
		if n.Happened >= 20 && n.Rendered*2 < n.Happened {
			t.Errorf("most renders after %q end in errors", event)
		}
	}
}

// TestOracle holds that the oracle finds what breaks a rule: on each disk that something holds, an object
// of somebody else is rendered.
func TestOracle(t *testing.T) {
	found := 0
	for seed := uint64(1); seed <= 60; seed++ {
		h := physical.NewHistory(seed)
		for _, l := range h.World.Live {
			d := l.Disks[0]
			if len(d.IDLinks()) == 0 {
				continue
			}
			h.World.Entries = append(h.World.Entries, &physical.Entry{Disk: d, Host: d.Places[0].Host, At: d.Places[0], Facts: physical.Facts{WWN: 1, Serial: 1, Links: ^uint(0), Path: true, Other: true}})
			p := h.Now()
			node := d.Places[0].Host.Name
			planted := fmt.Sprintf(pool, node, d.IDLinks()[0])
			out := physical.Judge(h.World, p, physical.Rendered{Lock: []physical.Chunk{{File: "rendered/diskpool.yaml", Text: planted}}})
			switch {
			case out.Violation != nil:
				found++
			case l.Plural != "cephclusters": // a filter may mean a name that nobody reports
				t.Errorf("seed %d: %s is on the disk of\n%s\nand nothing is found\n%s", seed, planted, l.Text, p)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d of the objects were found", found)
	}
}

const pool = `apiVersion: openebs.io/v1beta3
kind: DiskPool
metadata:
  name: planted
  namespace: mayastor
  labels: {app.kubernetes.io/managed-by: poolwright}
  annotations: {poolwright.io/owner: poolwright.io/DiskPoolSet/mayastor/planted}
spec:
  node: %s
  disks: [/dev/disk/by-id/%s]
`
