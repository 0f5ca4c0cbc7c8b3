package keeper

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/poolwright/poolwright/live/hydrations"
)

// Metrics are what the controller counts.
type Metrics struct {
	registry     *prometheus.Registry
	reasons      *prometheus.GaugeVec
	judgements   prometheus.Histogram
	publications *prometheus.CounterVec
	webhooks     *prometheus.CounterVec
	leader       prometheus.Gauge
}

// NewMetrics makes the metrics of a version of the program.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		reasons: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poolwright_hydration_condition", Help: "1 for the reason of condition Ready of each Hydration.",
		}, []string{"namespace", "name", "reason"}),
		judgements: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "poolwright_hydration_judgement_duration_seconds", Help: "How long a judgement takes, with fetch and push.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
		publications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_hydration_publications_total", Help: "How often something was published, by mode.",
		}, []string{"mode"}),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poolwright_webhooks_total", Help: "Webhooks that were accepted, refused, or sent when the process was busy or did not work.",
		}, []string{"result"}),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "poolwright_controller_leader", Help: "1 while this process holds the lease, or needs none.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "poolwright_build_info", Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	for _, result := range []string{"accepted", "refused", "busy"} {
		m.webhooks.WithLabelValues(result)
	}
	m.registry.MustRegister(m.reasons, m.judgements, m.publications, m.webhooks, m.leader, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Leads says that this process works.
func (m *Metrics) Leads() { m.leader.Set(1) }

func (m *Metrics) verdict(key hydrations.Key, r reason) {
	m.forget(key)
	m.reasons.WithLabelValues(key.Namespace, key.Name, string(r)).Set(1)
}

func (m *Metrics) forget(key hydrations.Key) {
	m.reasons.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

func (m *Metrics) judged(took time.Duration) { m.judgements.Observe(took.Seconds()) }

func (m *Metrics) published(mode string) { m.publications.WithLabelValues(mode).Inc() }

func (m *Metrics) hooked(result string) { m.webhooks.WithLabelValues(result).Inc() }

// Handler answers /healthz, /readyz and /metrics. A process that waits for the lease is ready, too.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	well := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }
	mux.HandleFunc("GET /healthz", well)
	mux.HandleFunc("GET /readyz", well)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}
