package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/controller"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
	"github.com/poolwright/poolwright/test/tool"
)

// scale leaves a test out that measures, and takes minutes.
func scale(t *testing.T) {
	t.Helper()
	if os.Getenv("POOLWRIGHT_TEST_SCALE") == "" {
		t.Skip("skipped: it measures, for minutes; make test-scale runs it")
	}
}

// each does something for every number below n, eight at a time.
func each(n int, do func(i int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wait.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
}

// TestTwoHundredNodes runs the agents of 200 nodes in one process against one API server: what they
// watch, what they ask for at rest, and what they need.
func TestTwoHundredNodes(t *testing.T) {
	scale(t)
	const nodes = 200
	c := newCluster(t)
	name := func(i int) string { return fmt.Sprintf("node-%03d", i) }
	each(nodes, func(i int) {
		node := parse(t, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s}}", name(i)))[0]
		if err := c.try(t, node); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	before := heap()
	for i := range nodes {
		folder := t.TempDir()
		journal, err := step.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		h := fixture.Machine(t, fixture.Disk("sda", "8:0", fmt.Sprintf("naa.5000c5000000%04x", i), fmt.Sprintf("S%04d", i))+
			"-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n")
		agent := &controller.Controller{
			Client: c.Interface, Node: name(i), Log: slog.New(slog.DiscardHandler), Metrics: controller.NewMetrics(),
			Engine: &source.Engine{Host: h, Cluster: mark.Cluster("test"), Node: name(i), Folder: folder, Runner: step.Runner{Journal: journal}},
		}
		running.Go(func() {
			if err := agent.Run(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	settled := func(what string, want int, count func() int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Minute); count() < want; time.Sleep(time.Second) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d of %d", what, count(), want)
			}
		}
	}
	settled("NodeInventories", nodes, func() int {
		list, err := c.Resource(inventory).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return 0
		}
		written := 0
		for _, o := range list.Items {
			if disks, _, _ := unstructured.NestedSlice(o.Object, "status", "disks"); len(disks) == 1 {
				written++
			}
		}
		return written
	})
	// One change of one node's object reaches that node alone.
	c.apply(t, strings.ReplaceAll(sparseVolume("lonely", "missing", "40Mi", "Filesystem"), "nodeName: n1", "nodeName: "+name(7)))
	await(t, "the Volume is not judged", func() (bool, string) {
		got := c.get(t, volume, "lonely", "status", "phase")
		return got == "Failed", got
	})
	watches := c.metric(t, "apiserver_longrunning_requests", `verb="WATCH"`, "volumes", "volumegroups", "persistentvolumes", "storageclasses", "deployments", "nodes")
	asked := func() map[string]int {
		return c.metric(t, "apiserver_request_total", "", "volumes", "volumegroups", "nodeinventories", "persistentvolumes", "events")
	}
	// A busy machine needs minutes until every agent has begun.
	var minute map[string]int
	for end := time.Now().Add(10 * time.Minute); ; {
		first := asked()
		time.Sleep(time.Minute)
		minute = difference(asked(), first)
		// Watches end by themselves after some minutes, and begin again.
		if most := slices.Max(slices.Collect(maps.Values(minute))); most <= nodes {
			break
		}
		if time.Now().After(end) {
			t.Errorf("no rest: requests in a minute: %v", minute)
			break
		}
	}
	t.Logf("%d agents: watches %v; requests in a minute at rest %v; %.0f KiB of heap an agent", nodes, watches, minute, float64(heap()-before)/1024/nodes)
}

func difference(a, b map[string]int) map[string]int {
	d := map[string]int{}
	for key, n := range a {
		d[key] = n - b[key]
	}
	return d
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

var sample = regexp.MustCompile(`resource="([^"]*)".* ([0-9.e+]+)$`)

// metric sums a metric of the API server by resource.
func (c *cluster) metric(t *testing.T, name, with string, resources ...string) map[string]int {
	t.Helper()
	resp, err := c.plane.Client.Get(c.plane.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	sums := map[string]int{}
	for line := range strings.Lines(text.String()) {
		m := sample.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !strings.HasPrefix(line, name+"{") || !strings.Contains(line, with) {
			continue
		}
		for _, resource := range resources {
			if n, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] == resource {
				sums[resource] += int(n)
			}
		}
	}
	return sums
}

// TestThousandVolumes measures the agent on a node with 1,000 sparse Volumes and their PersistentVolumes: time to attach
// them, memory at rest, and processor time of a pass over all of them, of a mount and of a scrape.
func TestThousandVolumes(t *testing.T) {
	scale(t)
	if os.Geteuid() != 0 {
		tool.Missing(t, "loop devices need root")
	}
	c := newCluster(t)
	folder := filepath.Join(t.TempDir(), "state")
	s := &sparseVolumes{cluster: c, folder: folder}
	s.removeLoops(t)
	s.make(t, 0, 250)
	a := c.start(t, c.token(t, "n1"), folder)
	a.rest(t)
	s.available(t, 250)
	few := a.pass(t, s.loops[0])
	t.Logf("250 Volumes: %s of the processor for a look at all", few)
	a.stop()

	s.make(t, 250, 1000)
	begun := time.Now()
	address := tool.FreeAddress(t)
	a = c.startWith(t, c.token(t, "n1"), folder, []string{"--metrics-listen", address})
	s.available(t, 1000)
	t.Logf("1000 Volumes are Available after %s", time.Since(begun).Round(time.Second))
	a.rest(t)
	a.checkMemory(t)
	many := a.pass(t, s.loops[0])
	// The cost is linear, with a factor of 2 to spare, and within the limit of TestPass.
	if limit := 2*4*few + 100*time.Millisecond; many > limit || many > 5*time.Second {
		t.Errorf("a look at 1000 Volumes took %s of the processor, more than %s or 5s: 250 took %s", many, limit, few)
	}
	mountpoint := t.TempDir()
	mounted := a.cost(t, func() {
		if err := unix.Mount("/dev/"+s.loops[500], mountpoint, "ext4", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(mountpoint, unix.MNT_DETACH) })
	})
	unmounted := a.cost(t, func() {
		if err := unix.Unmount(mountpoint, 0); err != nil {
			t.Fatal(err)
		}
	})
	if limit := 100 * time.Millisecond; mounted > limit || unmounted > limit {
		t.Errorf("a mount of a Volume took %s of the processor, and its end %s: more than %s", mounted, unmounted, limit)
	}
	t.Logf("1000 Volumes: %s of the processor for a look at all, %s for a mount of one, %s for its end", many, mounted, unmounted)
	c.apply(t, scrapers)
	token := "Bearer " + c.ofAccount(t, "prometheus")
	scraped := a.cost(t, func() {
		for range 3 {
			checkAnswer(t, "a scrape", "GET", "https://"+address+"/metrics", token, 200, `poolwright_agent_volumes{phase="Available"} 1000`)
		}
	})
	t.Logf("three scrapes of 1000 Volumes took %s of the processor", scraped)
	a.checkMemory(t)
}

// sparseVolumes are Volumes on real sparse files that were complete before a boot.
type sparseVolumes struct {
	*cluster
	folder string
	loops  []string // such as loop7, by Volume
}

// make creates the Volumes of a range of numbers, attaches their files with nodeagent attach, and creates their links where
// there is no udev.
func (s *sparseVolumes) make(t *testing.T, from, to int) {
	t.Helper()
	journal, err := step.Open(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.folder, "sparse"), 0o700); err != nil {
		t.Fatal(err)
	}
	each(to-from, func(i int) {
		name := fmt.Sprintf("data-%04d", from+i)
		uuid := mark.Cluster("test").Of(api.KindVolume, name, "n1")
		file := filepath.Join(s.folder, "sparse", uuid)
		out, err := exec.Command("mkfs.ext4", "-q", "-U", uuid, file, "8M").CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if err := journal.Write(step.Entry{Object: api.KindVolume + "/" + name, UUID: uuid, Made: true}); err != nil {
			t.Error(err)
		}
		for _, o := range parse(t, strings.ReplaceAll(sparseVolume(name, "keep", "8Mi", "Filesystem"), "{app: db}", "{}")) {
			if err := s.try(t, o); err != nil {
				t.Error(err)
			}
		}
	})
	begun := time.Now()
	out, err := exec.Command(s.program, "attach", "--state", s.folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d files are attached after %s", to-from, time.Since(begun).Round(time.Millisecond))
	for line := range strings.Lines(string(out)) {
		// Volume/data-0000: /dev/loop7 is over /.../sparse/UUID
		fields := strings.Fields(line)
		loop, uuid := filepath.Base(fields[1]), filepath.Base(fields[4])
		s.loops = append(s.loops, loop)
		if _, err := os.Stat("/run/udev/data"); err == nil {
			continue
		}
		link := "/dev/disk/by-uuid/" + uuid
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../"+loop, link); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(link) })
	}
	if len(s.loops) != to {
		t.Fatalf("%d of %d files are attached", len(s.loops), to)
	}
}

// removeLoops detaches the files of the folder when the test ends, and removes the loop devices that the test has added.
func (s *sparseVolumes) removeLoops(t *testing.T) {
	t.Helper()
	all := func() []string {
		loops, err := filepath.Glob("/sys/block/loop*")
		if err != nil {
			t.Fatal(err)
		}
		return loops
	}
	before := all()
	t.Cleanup(func() {
		if err := fixture.DetachLoops(func(path string) bool { return strings.HasPrefix(path, s.folder+"/") }); err != nil {
			t.Error(err)
		}
		control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = control.Close() }() // nothing is written to it
		for _, loop := range all() {
			n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(loop), "loop"))
			if err == nil && !slices.Contains(before, loop) {
				_ = unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, n) // fails if the device is in use by now
			}
		}
	})
}

// available waits until a number of Volumes are Available.
func (s *sparseVolumes) available(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Minute); ; time.Sleep(2 * time.Second) {
		list, err := s.Resource(volume).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		available := 0
		for _, o := range list.Items {
			if status, _ := o.Object["status"].(map[string]any); status["phase"] == "Available" {
				available++
			}
		}
		if available == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d are Available", available, want)
		}
	}
}

// processor returns the processor time of the agent and of its programs that have ended.
func (a *agent) processor(t *testing.T) time.Duration {
	t.Helper()
	var used time.Duration
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), ") ") // its name may have spaces
	for _, field := range strings.Fields(after)[11:15] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		used += time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
	}
	return used
}

// rest waits until the agent has been idle for five seconds, and returns its processor time.
func (a *agent) rest(t *testing.T) time.Duration {
	t.Helper()
	var used time.Duration
	await(t, "the agent does not come to rest", func() (bool, string) {
		used = a.processor(t)
		time.Sleep(5 * time.Second)
		return a.processor(t)-used <= 20*time.Millisecond, used.String()
	})
	return used
}

// cost returns the processor time that a change causes. The agent waits a second for further changes first.
func (a *agent) cost(t *testing.T, change func()) time.Duration {
	t.Helper()
	before := a.rest(t)
	change()
	time.Sleep(2 * time.Second)
	return a.rest(t) - before
}

// pass returns the processor time of a pass over everything, which an event of a device causes: the least of three.
func (a *agent) pass(t *testing.T, loop string) time.Duration {
	t.Helper()
	least := time.Hour
	for range 3 {
		least = min(least, a.cost(t, func() {
			if err := os.WriteFile("/sys/block/"+loop+"/uevent", []byte("change"), 0); err != nil {
				t.Fatal(err)
			}
		}))
	}
	return least
}
