package source_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
	"github.com/poolwright/poolwright/test/tool"
)

// place is one run of a program in the life of an object: the operation, the point of a step that was
// passed last, and which run of the program since then.
type place struct {
	operation      int
	after, program string
	run            int
}

func (p place) String() string {
	return fmt.Sprintf("run %d of %s in operation %d after %s", p.run, p.program, p.operation, cmp.Or(p.after, "its beginning"))
}

// midStep is after what an agent begins that finds a step begun and not ended. A life without faults has no such place.
const midStep = "a step that was begun"

// spoiler lets objects live, and spoils each run of a program at a place that was not yet met by every fault.
type spoiler struct {
	t          *testing.T
	folder     string // of the agent
	wrappers   string
	operations []operation
	programs   []string
	reset      func(folder string)
	names      []string // of disks, for the summary

	// What a life without faults has, which is the first one.
	passed []place  // its points, which have no program
	places []place  // its runs of programs, in order
	sooner []place  // those of them that a life lacks where udev is sooner than the agent
	want   []string // what the machine is after each operation

	left map[place][]string // the faults that a place has not met; nil in the first life

	// The current agent, and what it has met.
	now      place
	runs     map[string]int
	tools    *host.Tools
	deadline time.Duration // of tools
	fault    string        // the last one, or ""
	at       place         // of fault
	writes   bool          // whether it is of a program that writes
	met      []string      // in the current operation, also by the agents before

	// How long a program hangs before its run is given up: more, once it was too little for it to begin.
	patience time.Duration
}

// inject spoils each run of each program in the ways that it gets from ways. A run that was spoiled without effect is met again by
// the agent that starts again, and spoiled in the next way, until that agent gets past it; what is left then
// is met in a further life of the objects, from nothing. After each operation the machine has
// to be what it is without faults.
func inject(t *testing.T, operations []operation, programs []string, reset func(string), names ...string) {
	t.Helper()
	injectSome(t, ways, operations, programs, reset, names...)
}

// injectSome is inject with other ways: which of all faults the nth run of a program meets.
func injectSome(
	t *testing.T, ways func(all []string, n int) []string, operations []operation, programs []string, reset func(string), names ...string,
) {
	t.Helper()
	s := &spoiler{
		t: t, folder: filepath.Join(t.TempDir(), "agent"), wrappers: filepath.Join(t.TempDir(), "bin"),
		operations: operations, programs: programs, reset: reset, names: names, runs: map[string]int{},
		patience: 300 * time.Millisecond,
	}
	t.Cleanup(func() { reset(s.folder) })
	s.live()
	s.left = map[place][]string{}
	count := map[string]int{}
	for _, at := range s.places {
		s.left[at] = ways(slices.Sorted(maps.Keys(faultsOf(at.program))), count[at.program])
		count[at.program]++
	}
	for _, program := range programs {
		fmt.Printf("PROGRESS %s: %d runs of %s\n", t.Name(), count[program], program)
		if count[program] == 0 {
			t.Errorf("%s was not run", program)
		}
	}
	all, lives := s.rest(), 0
	for rest := all; rest > 0; lives++ {
		patience := s.patience
		s.live()
		fmt.Printf("PROGRESS %s: life %d met %d faults, %d are left\n", t.Name(), lives+1, rest-s.rest(), s.rest())
		if s.rest() == rest && s.patience == patience {
			maps.DeleteFunc(s.left, func(at place, ways []string) bool { return len(ways) == 0 || slices.Contains(s.sooner, at) })
			if len(s.left) > 0 {
				t.Fatalf("these were not met: %v", s.left)
			}
			t.Logf("%d faults were not met: udev was sooner in every life but the first", rest)
			all -= rest
			break
		}
		rest = s.rest()
	}
	t.Logf("%d faults of %d, in %d lives", all-s.rest(), all, lives)
}

// waysPerPlace is how many faults a run of a program meets where tool.All is not set. Each costs some processes: of
// those in the virtual machine every one takes seconds.
func waysPerPlace() int {
	if os.Getenv(inMachine) != "" {
		return 1
	}
	return 2
}

// ways are the faults that the nth run of a program meets: so many to each run, the next ones to the next run, so that
// a program meets every fault. tool.All gives all of them to each run.
func ways(all []string, n int) []string {
	if tool.Whole() {
		return all
	}
	per := waysPerPlace()
	var some []string
	for i := range per {
		some = append(some, all[(n*per+i)%len(all)])
	}
	return some
}

// everyFault is set where each of several programs of one kind meets all faults, as in make test-faults.
const everyFault = "POOLWRIGHT_TEST_FAULTS"

// inTurn are the ways of one of several programs that do the same work. With tool.All a run meets each fault in one of
// them, and each of them meets every fault.
func inTurn(program, programs int) func(all []string, n int) []string {
	return func(all []string, n int) []string {
		if !tool.Whole() || os.Getenv(everyFault) != "" {
			return ways(all, n)
		}
		var some []string
		for i, way := range all {
			if (i+n)%programs == program {
				some = append(some, way)
			}
		}
		return some
	}
}

// TestInTurn: of two programs one meets a fault in a run, and each meets every fault in two runs.
func TestInTurn(t *testing.T) {
	t.Setenv(tool.All, "1")
	t.Setenv(everyFault, "")
	all := slices.Sorted(maps.Keys(faultsOf("storcli64")))
	one, two := inTurn(0, 2), inTurn(1, 2)
	for n := range 4 {
		for what, both := range map[string][]string{
			"two programs in a run": slices.Concat(one(all, n), two(all, n)),
			"a program in two runs": slices.Concat(one(all, n), one(all, n+1)),
			"the other in two runs": slices.Concat(two(all, n), two(all, n+1)),
		} {
			slices.Sort(both)
			if !slices.Equal(both, all) {
				t.Errorf("%s, from run %d on, meet %v", what, n, both)
			}
		}
	}
	t.Setenv(everyFault, "1")
	if got := two(all, 3); !slices.Equal(got, all) {
		t.Errorf("with %s a run meets %v", everyFault, got)
	}
}

// TestWays: every fault is met in as many runs of a program as it takes for that, and no run meets one twice.
func TestWays(t *testing.T) {
	all := slices.Sorted(maps.Keys(faultsOf("storcli64")))
	for machine, per := range map[string]int{"": 2, "1": 1} {
		t.Setenv(tool.All, "")
		t.Setenv(inMachine, machine)
		met := map[string]int{}
		runs := (len(all) + per - 1) / per
		for n := range runs {
			some := ways(all, n)
			if len(some) != per || len(slices.Compact(slices.Clone(some))) != per {
				t.Errorf("run %d meets %v", n, some)
			}
			for _, way := range some {
				met[way]++
			}
		}
		if len(met) != len(all) {
			t.Errorf("%d runs meet %d of %d faults: %v", runs, len(met), len(all), met)
		}
		t.Setenv(tool.All, "1")
		if got := ways(all, 3); !slices.Equal(got, all) {
			t.Errorf("with %s a run meets %v", tool.All, got)
		}
	}
}

// rest is how many faults were not met.
func (s *spoiler) rest() (n int) {
	for _, ways := range s.left {
		n += len(ways)
	}
	return n
}

// live does all operations, from nothing, each with as many agents as it takes.
func (s *spoiler) live() {
	s.t.Helper()
	s.reset(s.folder)
	for _, dir := range []string{s.folder, s.wrappers} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, program := range s.programs {
		wrap(s.t, s.wrappers, program, controllers(s.folder))
	}
	for i := range s.operations {
		s.now, s.met = place{operation: i}, nil
		for again := true; again; {
			again = s.agent()
		}
		got := summary(s.t, s.folder, s.names...)
		if s.left == nil {
			s.want = append(s.want, got)
		} else if got != s.want[i] {
			s.t.Errorf("operation %d, after\n%s\nhas come to\n%swant\n%s", i, strings.Join(s.met, "\n"), got, s.want[i])
		}
	}
}

// agent goes on with the current operation, and reports whether a fault kept it from its end. Any other error
// ends the test.
func (s *spoiler) agent() (again bool) {
	s.t.Helper()
	if s.now.after != "" && !strings.HasSuffix(s.now.after, " ended") {
		s.now.after = midStep
	}
	s.fault = ""
	err := s.act()
	hung := strings.HasSuffix(s.fault, hangs)
	if err != nil && s.writes && hung {
		s.endHanging()
	}
	for _, program := range s.programs {
		switch untouched := os.Remove(s.file(program)) == nil; {
		case untouched && hung && s.at.program == program:
			s.left[s.at] = append(s.left[s.at], hangs) // it was killed before it read what to do
			s.patience *= 2
		case untouched:
			s.t.Fatalf("%s: it was not carried out", s.fault)
		}
	}
	switch {
	case err == nil:
		return false
	case s.fault == "":
		s.t.Fatalf("operation %d without a fault: %v, after\n%s", s.now.operation, err, strings.Join(s.met, "\n"))
	}
	s.met = append(s.met, "so that "+err.Error())
	return true
}

// act does the current operation with a new agent.
func (s *spoiler) act() error {
	engine, err := run{Folder: s.folder, Root: machine(s.folder).Root, Tools: []string{s.wrappers, controllers(s.folder)}}.engine(s.atPoint)
	if err != nil {
		return err
	}
	s.tools, s.deadline = engine.Host.Tools, engine.Host.Tools.Deadline
	s.tools.At = s.atRun
	return settled(engine.Host, func() (source.Result, error) {
		clear(s.runs) // what is looked at once more, because udev is not so far, is no further place
		return s.operations[s.now.operation].once(engine)
	})
}

func (s *spoiler) atPoint(done step.Step, point string) {
	if byKernel(done.Kind) {
		for _, at := range s.places {
			if s.left == nil && at.operation == s.now.operation && at.after == s.now.after {
				s.sooner = append(s.sooner, at)
			}
		}
		clear(s.runs)
		return
	}
	s.now.after = strings.TrimSpace(done.Kind+" "+done.Entry.Disk.Serial) + " " + point
	clear(s.runs)
	if s.left == nil {
		if slices.Contains(s.passed, s.now) {
			s.t.Errorf("%v is passed twice: its places are not told apart", s.now)
		}
		s.passed = append(s.passed, s.now)
	}
}

// byKernel reports whether a step only informs the kernel of a partition. A life lacks it where udev is sooner.
func byKernel(kind string) bool { return kind == "announce-partition" || kind == "forget-partition" }

func (s *spoiler) atRun(c host.Command) {
	s.tools.Deadline = s.deadline
	if !slices.Contains(s.programs, c.Name) {
		return
	}
	s.runs[c.Name]++
	at := s.now
	at.program, at.run = c.Name, s.runs[c.Name]
	if s.left == nil {
		if !slices.Contains(s.places, at) {
			s.places = append(s.places, at)
		}
		return
	}
	if len(s.left[at]) == 0 {
		return
	}
	way := s.left[at][0]
	s.left[at] = s.left[at][1:]
	s.fault, s.at, s.writes = fmt.Sprintf("%v (%v) %s", at, c, way), at, c.Writes
	s.met = append(s.met, s.fault)
	if err := os.WriteFile(s.file(c.Name), []byte(faultsOf(c.Name)[way]+"\n"), 0o600); err != nil {
		s.t.Error(err)
	}
	if way == hangs {
		_ = os.Remove(filepath.Join(s.wrappers, hanging))
		s.tools.Deadline = s.patience
	}
}

// file is where the wrapper of a program finds its fault.
func (s *spoiler) file(program string) string { return filepath.Join(s.wrappers, program+".fault") }

// endHanging ends a program that writes and hangs: it was not killed, and until it ends nothing is done for
// the object.
func (s *spoiler) endHanging() {
	s.t.Helper()
	process := 0
	for end := time.Now().Add(5 * time.Minute); process == 0; time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(s.wrappers, hanging))
		if process, _ = strconv.Atoi(strings.TrimSpace(string(data))); process == 0 && time.Now().After(end) {
			s.t.Fatalf("%s: it does not run", s.fault)
		}
	}
	if err := s.act(); !errors.Is(err, step.ErrBusy) {
		s.t.Errorf("%s, and the agent went on beside it: %v", s.fault, err)
	}
	_ = syscall.Kill(process, syscall.SIGKILL)
	for syscall.Kill(process, 0) == nil {
		time.Sleep(10 * time.Millisecond)
	}
}
