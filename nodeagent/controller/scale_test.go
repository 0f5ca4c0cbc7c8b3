package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/nodeagent/controller"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
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

// TestThousandVolumes: what the agent needs with a thousand Volumes, each with a PersistentVolume, on its
// node.
func TestThousandVolumes(t *testing.T) {
	scale(t)
	const volumes = 1000
	c := newCluster(t)
	each(volumes, func(i int) {
		text := fmt.Sprintf(`
apiVersion: storage.metalk8s.scality.com/v1alpha1
kind: Volume
metadata: {name: data-%04[1]d}
spec: {nodeName: n1, storageClassName: keep, mode: Filesystem, rawBlockDevice: {disk: {serial: GONE%04[1]d}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: data-%04[1]d, labels: {poolwright.io/node: n1}}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: keep
  persistentVolumeReclaimPolicy: Retain
  local: {path: /dev/disk/by-uuid/%04[1]d}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`, i)
		for _, o := range parse(t, text) {
			if err := c.try(t, o); err != nil {
				t.Error(err)
			}
		}
	})
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	a := c.start(t, c.token(t, "n1"), folder)
	begun := time.Now()
	for end := begun.Add(20 * time.Minute); ; time.Sleep(time.Second) {
		list, err := c.Resource(volume).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		judged := 0
		for _, o := range list.Items {
			if status, _ := o.Object["status"].(map[string]any); status["phase"] == "Failed" {
				judged++
			}
		}
		if judged == volumes {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d were judged", judged, volumes)
		}
	}
	took := time.Since(begun)
	time.Sleep(20 * time.Second)
	t.Logf("%d Volumes judged in %s", volumes, took.Round(time.Second))
	a.checkMemory(t)
}
