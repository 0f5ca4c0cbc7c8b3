package controller

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// Metrics are the metrics of the agent and its node, and whether the agent is ready.
type Metrics struct {
	steps     *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	reconcile *prometheus.CounterVec
	gauges    gauges
	ready     atomic.Bool
}

// NewMetrics makes metrics that stand at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "poolwright_agent_step_duration_seconds", Help: "Duration of the steps run on this node, failed ones included, by kind.",
			Buckets: []float64{.01, .1, 1, 10, 60, 600, 3600, 6 * 3600}, // a loop device, a program, an erase of terabytes
		}, []string{"kind"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_agent_step_failures_total", Help: "Steps that were begun and failed, by kind.",
		}, []string{"kind"}),
		reconcile: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_agent_reconciles_total", Help: "Reconciliations by kind of object and result: ok or error. A refusal of the guard is not an error; its object is Failed.",
		}, []string{"kind", "result"}),
		gauges: newGauges(),
	}
}

// collectors are all metrics.
func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.steps, m.failures, m.reconcile, &m.gauges}
}

// StepEnded counts a step. A runner calls it when the step has ended.
func (m *Metrics) StepEnded(s step.Step, took time.Duration, err error) {
	m.steps.WithLabelValues(s.Kind).Observe(took.Seconds())
	failures := m.failures.WithLabelValues(s.Kind) // reported as 0 before the first failure
	if err != nil {
		failures.Inc()
	}
}

func (m *Metrics) reconciled(kind string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.reconcile.WithLabelValues(kind, result).Inc()
}

// Handler serves the metrics in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.collectors()...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

// Probes serves /healthz and /readyz. The agent is ready once it knows what the API server has.
func (m *Metrics) Probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !m.ready.Load() {
			http.Error(w, "the API server has not answered yet", http.StatusServiceUnavailable)
		}
	})
	return mux
}

// gauges are read when they are scraped, so that removed objects are not reported.
type gauges struct {
	disks, diskCapacity, groups, groupCapacity, groupFree, volumes, volumeCapacity, sparseFree *prometheus.Desc

	inventory atomic.Pointer[capacity]
	objects   atomic.Pointer[Controller] // once it knows what the API server has
}

// capacity is the sizes in a NodeInventory, in bytes.
type capacity struct {
	disks, bytes map[bool]int64                // by whether they may be used
	groups       map[string]api.InventoryGroup // by UUID
}

func newGauges() gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("poolwright_agent_"+name, help, labels, nil)
	}
	return gauges{
		disks:          desc("disks", "Disks of this node, by whether the guard lets them be used.", "usable"),
		diskCapacity:   desc("disk_capacity_bytes", "Size of all disks of this node, by whether the guard lets them be used.", "usable"),
		groups:         desc("volume_groups", "VolumeGroups of this node, by phase.", "phase"),
		groupCapacity:  desc("volume_group_capacity_bytes", "Size of an LVM volume group, whoever created it.", "group", "uuid"),
		groupFree:      desc("volume_group_free_bytes", "Free space in an LVM volume group.", "group", "uuid"),
		volumes:        desc("volumes", "Volumes of this node, by phase.", "phase"),
		volumeCapacity: desc("volume_capacity_bytes", "Size of a Volume.", "volume", "storageclass"),
		sparseFree:     desc("sparse_free_bytes", "Space for more sparse files: free space of their filesystem, less what they have not used yet and 1 GiB."),
	}
}

// Describe is for Prometheus.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.disks, g.diskCapacity, g.groups, g.groupCapacity, g.groupFree, g.volumes, g.volumeCapacity, g.sparseFree} {
		to <- d
	}
}

// measured keeps the sizes in a NodeInventory.
func (g *gauges) measured(inv api.Inventory) {
	c := &capacity{disks: map[bool]int64{}, bytes: map[bool]int64{}, groups: map[string]api.InventoryGroup{}}
	for _, d := range inv.Disks {
		c.disks[d.Usable]++
		c.bytes[d.Usable] += d.Size
	}
	for _, group := range inv.Groups {
		c.groups[group.UUID] = api.InventoryGroup{Name: group.Name, Size: group.Size, Free: group.Free}
	}
	g.inventory.Store(c)
}

// Collect is for Prometheus.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	if c := g.inventory.Load(); c != nil {
		for usable, text := range map[bool]string{true: "true", false: "false"} {
			gauge(g.disks, c.disks[usable], text)
			gauge(g.diskCapacity, c.bytes[usable], text)
		}
		for uuid, group := range c.groups {
			gauge(g.groupCapacity, group.Size, group.Name, uuid)
			gauge(g.groupFree, group.Free, group.Name, uuid)
		}
	}
	c := g.objects.Load()
	if c == nil {
		return
	}
	if free, err := c.Engine.SparseFree(); err == nil { // before the first file there is no folder
		gauge(g.sparseFree, free)
	}
	volumes, groups := map[api.Phase]int64{}, map[api.Phase]int64{}
	for _, v := range c.volumes.All() {
		if v.Spec.NodeName != c.Node {
			continue
		}
		volumes[phaseOf(v.Status.Phase)]++
		if v.Status.Size > 0 {
			gauge(g.volumeCapacity, v.Status.Size, v.Name, v.Spec.StorageClassName)
		}
	}
	for _, group := range c.groups.All() {
		if group.Spec.NodeName == c.Node {
			groups[phaseOf(group.Status.Phase)]++
		}
	}
	for _, phase := range []api.Phase{api.PhasePending, api.PhaseAvailable, api.PhaseFailed, api.PhaseTerminating} {
		gauge(g.volumes, volumes[phase], string(phase))
		gauge(g.groups, groups[phase], string(phase))
	}
}

// phaseOf is the phase of an object; a new object has none yet.
func phaseOf(p api.Phase) api.Phase {
	if p == "" {
		return api.PhasePending
	}
	return p
}
