package controller

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// Metrics are what the agent tells of itself, and whether it is ready.
type Metrics struct {
	registry  *prometheus.Registry
	steps     *prometheus.CounterVec
	reconcile *prometheus.CounterVec
	usable    *prometheus.GaugeVec
	ready     atomic.Bool
}

// NewMetrics makes metrics that stand at zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_agent_steps_total", Help: "Steps carried out on this node, by kind.",
		}, []string{"kind"}),
		reconcile: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_agent_reconciles_total", Help: "Looks at an object, by its kind and result.",
		}, []string{"kind", "result"}),
		usable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poolwright_agent_disks", Help: "Disks of this node, by whether they may be used.",
		}, []string{"usable"}),
	}
	m.registry.MustRegister(m.steps, m.reconcile, m.usable)
	return m
}

func (m *Metrics) stepEnded(kind string) { m.steps.WithLabelValues(kind).Inc() }

func (m *Metrics) reconciled(kind string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.reconcile.WithLabelValues(kind, result).Inc()
}

func (m *Metrics) disks(inv api.Inventory) {
	usable := 0
	for _, d := range inv.Disks {
		if d.Usable {
			usable++
		}
	}
	m.usable.WithLabelValues("true").Set(float64(usable))
	m.usable.WithLabelValues("false").Set(float64(len(inv.Disks) - usable))
}

// Handler serves /metrics, /healthz and /readyz. The agent is ready once it knows what the API
// server has.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !m.ready.Load() {
			http.Error(w, "the API server has not answered yet", http.StatusServiceUnavailable)
		}
	})
	return mux
}
