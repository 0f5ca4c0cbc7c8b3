package service

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/poolwright/poolwright/schema/finding"
)

// metrics count requests. path is a route, or "other": a client must not be able to make series.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	received prometheus.Histogram
	sent     prometheus.Histogram
	inFlight prometheus.Gauge
	findings *prometheus.CounterVec
	handler  http.Handler
}

func newMetrics(s *Server, version string) *metrics {
	sizes := prometheus.ExponentialBuckets(1<<10, 4, 10) // 1 KiB to 256 MiB
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "poolwright_http_requests_total", Help: "Requests, by route, method and status."}, []string{"path", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "poolwright_http_request_duration_seconds", Help: "Time from the header of a request to the end of its answer.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 13)}, []string{"path"}),
		received: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "poolwright_http_request_size_bytes", Help: "Size of the bodies of requests, uncompressed.", Buckets: sizes}),
		sent:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "poolwright_http_response_size_bytes", Help: "Size of the bodies of answers, as they were sent.", Buckets: sizes}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "poolwright_http_requests_in_flight", Help: "Requests that are not answered yet."}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "poolwright_findings_total", Help: "Findings in answers, by severity."}, []string{"severity"}),
	}
	queued := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "poolwright_http_requests_queued", Help: "Requests that wait for a slot."},
		func() float64 { return float64(s.slots.queued.Load()) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "poolwright_build_info", Help: "The version; always 1.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	for _, severity := range []finding.Severity{finding.Error, finding.Warning, finding.Info} {
		m.findings.WithLabelValues(string(severity))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, m.received, m.sent, m.inFlight, m.findings, queued, build)
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, DisableCompression: true})
	return m
}

// observe counts an answer.
func (m *metrics) observe(path string, x *exchange, took time.Duration) {
	method := x.request.Method
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(path, method, strconv.Itoa(x.status)).Inc()
	m.duration.WithLabelValues(path).Observe(took.Seconds())
	m.received.Observe(float64(x.received))
	m.sent.Observe(float64(x.sent))
}

func (m *metrics) count(fs []finding.Finding) {
	for _, f := range fs {
		m.findings.WithLabelValues(string(f.Severity)).Inc()
	}
}

func (m *metrics) serve(x *exchange) {
	text := &page{header: http.Header{}, status: http.StatusOK}
	m.handler.ServeHTTP(text, x.request)
	x.send(text.status, text.header.Get("Content-Type"), text.body)
}

// page keeps an answer, so that it is sent as all others are.
type page struct {
	header http.Header
	status int
	body   []byte
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) { p.status = status }

func (p *page) Write(text []byte) (int, error) {
	p.body = append(p.body, text...)
	return len(text), nil
}
