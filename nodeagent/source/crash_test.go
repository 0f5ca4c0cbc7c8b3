package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/nodeagent/apart"
	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/device"
	"github.com/poolwright/poolwright/nodeagent/facts"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
	"github.com/poolwright/poolwright/test/storcli"
	"github.com/poolwright/poolwright/test/tool"
)

// An operation is what the controller would ask for: the state that is wanted now.
type operation struct {
	Apply   *api.Volume `json:",omitempty"`
	Remove  *api.Volume `json:",omitempty"`
	Release *api.Volume `json:",omitempty"`
	// Use writes into the middle of a volume of mode Block, as a pod would.
	Use     *api.Volume      `json:",omitempty"`
	Group   *api.VolumeGroup `json:",omitempty"`
	Ungroup *api.VolumeGroup `json:",omitempty"`
	Ref     *api.Volume      `json:",omitempty"` // whose device the group takes
	FS      string           `json:",omitempty"`
	// KillWiping ends the process once a part of the device is erased.
	KillWiping bool `json:",omitempty"`
	// Mounted says that a pod has the volume while Apply is done.
	Mounted bool `json:",omitempty"`
}

// run is what a worker process is to do.
type run struct {
	Folder     string
	Root       string
	Tools      []string // folders of programs, before those of the machine
	Operations []operation
	KillAt     int // the number of the point at which the process ends itself; -1 for none
	// OneStep ends the process after the first step whose effect outlasts a boot.
	OneStep bool
}

const (
	workerEnv = "POOLWRIGHT_TEST_WORKER"
	apartEnv  = "POOLWRIGHT_TEST_APART" // a process of the pool
)

func TestMain(m *testing.M) {
	if os.Getenv(apartEnv) != "" {
		if err := workApart(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if file := os.Getenv(workerEnv); file != "" {
		if err := work(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if storcli.Is(os.Args[0]) {
		os.Exit(storcli.Main(os.Args[0], os.Args[1:], os.Stdout))
	}
	os.Exit(fixture.LoopTests(m))
}

// workApart is what nodeagent does as a process of its pool.
func workApart(args []string) error {
	if args[0] == "wipe" {
		return guard.ServeWipe(args[1])
	}
	return apart.Serve(os.Stdin, os.Stdout, slices.Concat(device.Jobs(), facts.Jobs())...)
}

// work does the operations that the folder's progress file says are left.
func work(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r run
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	points := 0
	killed := func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	engine, err := r.engine(func(s step.Step, point string) {
		if points == r.KillAt {
			killed()
		}
		points++
		fmt.Printf("POINT %s %s %s\n", s.Object, s.Kind, point)
		if r.OneStep && point == "ended" && !slices.Contains(lostByBoot(), s.Kind) {
			killed()
		}
	})
	if err != nil {
		return err
	}
	progress := filepath.Join(r.Folder, "progress")
	begun, _ := os.ReadFile(progress)
	first, _ := strconv.Atoi(string(begun))
	for i := first; i < len(r.Operations); i++ {
		if err := os.WriteFile(progress, []byte(strconv.Itoa(i)), 0o600); err != nil {
			return err
		}
		if err := r.Operations[i].do(engine); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil
}

// engine is a restarted agent.
func (r run) engine(at func(step.Step, string)) (*source.Engine, error) {
	journal, err := step.Open(r.Folder)
	if err != nil {
		return nil, err
	}
	h := host.New(r.Root)
	h.Tools.Root, h.Tools.Folders = "/", append(slices.Clone(r.Tools), h.Tools.Folders...)
	if os.Getenv(inMachine) != "" {
		h.Tools.Deadline = 10 * time.Minute // emulated, and beside others, what takes a second can take minutes
	}
	return &source.Engine{Host: h, Cluster: "test", Node: "n1", Folder: r.Folder, Runner: step.Runner{Journal: journal, At: at}}, nil
}

func (o operation) do(e *source.Engine) error {
	return settled(e.Host, func() (source.Result, error) { return o.once(e) })
}

func (o operation) once(e *source.Engine) (source.Result, error) {
	ctx, h := context.Background(), e.Host
	request := func(v *api.Volume) source.Request {
		return source.Request{Volume: v, Filesystem: source.Filesystem{Type: o.FS}, Wiping: func(w guard.Wiping) {
			fmt.Println("WIPING", w.Left)
			if o.KillWiping && w.Left < w.Size {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}}
	}
	switch {
	case o.Apply != nil && o.Mounted:
		return whileMounted(e, o.Apply.Name, func() (source.Result, error) { return e.Apply(ctx, request(o.Apply)) })
	case o.Apply != nil:
		return e.Apply(ctx, request(o.Apply))
	case o.Use != nil:
		result, err := e.Apply(ctx, request(o.Use))
		if err == nil {
			err = use(h, result)
		}
		return source.Result{}, err
	case o.Remove != nil:
		return source.Result{}, e.Remove(ctx, request(o.Remove))
	case o.Release != nil:
		return source.Result{}, e.Release(ctx, request(o.Release), "left")
	case o.Group != nil:
		_, err := e.ApplyGroup(ctx, source.GroupRequest{Group: o.Group, Ref: o.Ref})
		return source.Result{}, err
	default:
		return source.Result{}, e.RemoveGroup(ctx, source.GroupRequest{Group: o.Ungroup, Ref: o.Ref})
	}
}

// settled does it again for as long as the machine has not finished with a device, as the controller does.
func settled(h host.Host, do func() (source.Result, error)) error {
	passing := []guard.Rule{guard.RuleUnsettled, guard.RuleLocked, guard.RuleClaimed}
	for end := time.Now().Add(20 * time.Minute); ; { // udev, emulated and beside others, may take minutes
		result, err := do()
		var refusal guard.Refusal
		if !errors.As(err, &refusal) || !slices.Contains(passing, refusal.Rule) || time.Now().After(end) {
			return err
		}
		if result.Path == "" {
			time.Sleep(100 * time.Millisecond)
		} else if err := link(h, result.Path, result.Device.Name); err != nil {
			return err
		}
	}
}

// whileMounted does something while a filesystem of ours is mounted, and leaves it mounted where that fails.
func whileMounted(e *source.Engine, name string, do func() (source.Result, error)) (source.Result, error) {
	const at = "/mnt"
	device := "/dev/disk/by-uuid/" + e.Cluster.Of(api.KindVolume, name, e.Node)
	if exec.Command("mountpoint", "-q", at).Run() != nil {
		if err := patiently("mount", device, at); err != nil {
			return source.Result{}, err
		}
	}
	result, err := do()
	if err == nil {
		err = patiently("umount", at)
	}
	return result, err
}

// patiently runs a program until it succeeds, for at most ten minutes: udev takes links away while it looks at a
// disk again, and holds what it looks at.
func patiently(name string, args ...string) error {
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
	}
}

// use writes what somebody must not find later.
func use(h host.Host, r source.Result) error {
	f, err := os.OpenFile(h.Path(r.Device.Path), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("secret"), r.Size/2)
	return errors.Join(err, f.Sync(), f.Close())
}

// link does what udev does, where there is none.
func link(h host.Host, path, name string) error {
	if _, err := os.Stat(h.Path("/run/udev/data")); err == nil {
		_, err := h.Tools.Output(context.Background(), "udevadm", "settle", "--timeout=600", "--exit-if-exists="+path)
		return err
	}
	path = h.Path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_ = os.Remove(path)
	return os.Symlink("../../"+name, path)
}

// start runs a worker, and returns the points that it passed.
func start(t *testing.T, r run) (points []string, killed bool, err error) {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+file)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "POINT ") {
			points = append(points, strings.TrimSpace(line))
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return points, true, nil
		}
		err = errors.New(strings.TrimSpace(errs.String()))
	}
	return points, false, err
}

// controllers is the folder of the stand-in for storcli, beside that of the agent.
func controllers(folder string) string { return filepath.Join(filepath.Dir(folder), "controllers") }

// machineFolder is beside the folder of the agent, where the machine is a folder.
const machineFolder = "machine"

// machine is the machine of the agent in a folder: this one, or a folder beside it.
func machine(folder string) host.Host {
	root := filepath.Join(filepath.Dir(folder), machineFolder)
	if _, err := os.Stat(root); err != nil {
		root = "/"
	}
	h := host.New(root)
	h.Tools.Root = "/"
	return h
}

// summary is what a machine has come to, without what differs from run to run.
func summary(t *testing.T, folder string, names ...string) string {
	t.Helper()
	h := machine(folder)
	f, err := facts.Read(h)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	files, _ := os.ReadDir(filepath.Join(folder, "sparse"))
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "file %s %d\n", file.Name(), info.Size())
	}
	for _, d := range f.Devices.All {
		if d.Backing == nil || !strings.HasPrefix(d.Backing.Path, folder+"/sparse/") {
			if !contains(names, d.Name) {
				continue
			}
		}
		name := d.Name
		if d.Backing != nil {
			name = "loop over " + filepath.Base(d.Backing.Path)
		}
		c, err := f.Content(d)
		fmt.Fprintf(&b, "%s %d %v %v", name, d.Size, c.Kinds, err)
		if c.Filesystem != nil {
			fmt.Fprintf(&b, " %+v", *c.Filesystem)
		}
		if c.Table != nil {
			fmt.Fprintf(&b, " %+v", *c.Table)
		}
		for _, p := range f.Devices.Partitions(d) {
			fmt.Fprintf(&b, " partition %d at %d of %d", p.Number, p.Start, p.Size)
		}
		if err == nil && c.Empty() && d.Size <= 64<<20 {
			fmt.Fprintf(&b, " zero %v", allZero(t, h.Path(d.Path)))
		}
		b.WriteString("\n")
	}
	if state, err := f.LVM(context.Background()); err != nil {
		if !errors.Is(err, host.ErrMissing) {
			fmt.Fprintf(&b, "LVM: %v\n", err)
		}
	} else {
		for _, g := range state.Groups {
			fmt.Fprintf(&b, "group %s %d %d %v\n", g.Name, g.Size, g.Free, g.Tags)
			for _, lv := range g.LVs {
				fmt.Fprintf(&b, " %s %d %v %v\n", lv.Name, lv.Size, lv.Tags, lv.Active)
			}
		}
	}
	if state, err := storcli.Read(controllers(folder)); err == nil {
		for _, d := range state.Controllers[0].Drives {
			sum := checksum(t, d)
			if d.Serial == "FREE" && d.State != "UGood" {
				sum = "in use" // no two filesystems are the same
			}
			fmt.Fprintf(&b, "drive %s %s %d %s\n", d.Serial, d.State, d.Turns, sum)
		}
		for _, v := range state.Controllers[0].Virtual {
			fmt.Fprintf(&b, "virtual drive %s %s of %s: %s %s %s\n", v.Name, v.NAA, v.Drive, v.Read, v.Write, v.IO)
		}
	}
	entries, err := filepath.Glob(filepath.Join(folder, "journal", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range entries {
		fmt.Fprintf(&b, "journal %s\n", filepath.Base(file))
	}
	return b.String()
}

func allZero(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buffer, zeros := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, err := io.ReadFull(f, buffer)
		if !bytes.Equal(buffer[:n], zeros[:n]) {
			return false
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return true
		case err != nil:
			t.Fatal(err)
		}
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// crash runs a scenario once as a whole, then once for each of its points with the process
// killed there, and compares what the machine has come to.
func crash(t *testing.T, operations []operation, reset func(folder string), names ...string) int {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agent")
	begin := func(killAt int) run {
		reset(folder)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		return run{Folder: folder, Root: machine(folder).Root, Operations: operations, KillAt: killAt, Tools: []string{controllers(folder)}}
	}
	t.Cleanup(func() { reset(folder) })
	points, _, err := start(t, begin(-1))
	if err != nil {
		t.Fatalf("uninterrupted: %v\n%s", err, strings.Join(points, "\n"))
	}
	if len(points) == 0 {
		t.Fatal("no step was taken")
	}
	want := summary(t, folder, names...)
	for n := range points {
		r := begin(n)
		// Where udev is sooner in informing the kernel of a partition, a run has a step less.
		if _, killed, err := start(t, r); !killed && err != nil {
			t.Fatalf("it was not killed at %s: %v", points[n], err)
		}
		r.KillAt = -1
		if _, _, err := start(t, r); err != nil {
			t.Errorf("killed at %s, then: %v", points[n], err)
			continue
		}
		if got := summary(t, folder, names...); got != want {
			t.Errorf("killed at %s:\n%swant\n%s", points[n], got, want)
		}
	}
	t.Logf("%d crash points", len(points))
	return len(points)
}

// deathPlaces are the points of a step, by number, at which agents are killed, for each life cycle of stutter. In the virtual
// machine, where every agent takes seconds, that is after the journal and after the write, when disk and journal
// differ, unless tool.Whole holds. On loop devices it is at all of them.
func deathPlaces() [][]int {
	if os.Getenv(inMachine) != "" && !tool.Whole() {
		return [][]int{{slices.Index(step.Points(), "begun"), slices.Index(step.Points(), "written")}}
	}
	return [][]int{{0, 1, 2, 3}, {4}, {5}}
}

// stutter kills the agent at every point as well, but goes on from there each time instead of
// starting again, so that every step is also met after several deaths: first before and after
// its check, after the journal and after the write, then in a second and third run after the
// step was verified and noted. It is for where each run is slow.
func stutter(t *testing.T, operations []operation, reset func(folder string), names ...string) int {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "agent")
	begin := func() run {
		reset(folder)
		for _, err := range []error{os.RemoveAll(folder), os.MkdirAll(folder, 0o700)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return run{Folder: folder, Root: machine(folder).Root, Operations: operations, KillAt: -1, Tools: []string{controllers(folder)}}
	}
	t.Cleanup(func() { reset(folder) })
	points, _, err := start(t, begin())
	if err != nil {
		t.Fatalf("uninterrupted: %v\n%s", err, strings.Join(points, "\n"))
	}
	want := summary(t, folder, names...)
	deaths := 0
	for _, places := range deathPlaces() {
		r := begin()
		last, repeated := "", false
		for next := 0; ; next++ {
			r.KillAt = places[next%len(places)]
			if repeated {
				// A step that is done again, because its end was not noted, is let through once.
				r.KillAt, next, repeated = len(step.Points()), -1, false
			}
			passed, killed, err := start(t, r)
			if err != nil {
				t.Fatalf("after %d deaths: %v\n%s", deaths, err, strings.Join(passed, "\n"))
			}
			if !killed {
				break
			}
			if r.KillAt > 0 && r.KillAt < len(step.Points()) {
				now := strings.TrimSuffix(passed[0], " planned")
				repeated = now == last && r.KillAt == places[len(places)-1]
				if r.KillAt == places[len(places)-1] {
					last = now
				}
			}
			if deaths++; deaths%20 == 0 {
				fmt.Printf("PROGRESS %s: %d deaths\n", t.Name(), deaths)
			}
			if deaths > 4*len(points) {
				t.Fatalf("it gets no further: %s", strings.Join(passed, "\n"))
			}
		}
		if got := summary(t, folder, names...); got != want {
			t.Errorf("killed at the points %v of every step:\n%swant\n%s", places, got, want)
		}
		fmt.Printf("PROGRESS %s: %d deaths\n", t.Name(), deaths)
	}
	t.Logf("%d crash points, of %d steps", deaths, len(points)/len(step.Points()))
	return deaths
}
