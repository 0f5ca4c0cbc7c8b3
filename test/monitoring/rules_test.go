package monitoring

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const dir = "../../deploy/controller/monitoring/"

// groups are those of a file of rules.
type groups struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// alerts are the rules of rules.yaml, by name.
func alerts(t *testing.T) map[string]rule {
	t.Helper()
	var all groups
	if err := yaml.UnmarshalStrict(read(t, dir+"rules.yaml"), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]rule{}
	for _, g := range all.Groups {
		for _, r := range g.Rules {
			found[r.Alert] = r
		}
	}
	if len(found) < 5 {
		t.Fatalf("only %d alerts", len(found))
	}
	return found
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPrometheusRule: the object for the operator has the rules of the file.
func TestPrometheusRule(t *testing.T) {
	var file map[string]any
	var object struct{ Spec map[string]any }
	if err := yaml.Unmarshal(read(t, dir+"rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(read(t, dir+"prometheusrule.yaml"), &object); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(file, object.Spec) {
		t.Error("prometheusrule.yaml and rules.yaml have different rules")
	}
}

// expressions are those of the alerts and of the dashboard, whose variables have the values that Grafana gives them.
func expressions(t *testing.T) []string {
	t.Helper()
	var all []string
	for name, r := range alerts(t) {
		all = append(all, r.Expr)
		if _, err := model.ParseDuration(r.For); err != nil || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("alert %s is not complete: %+v", name, r)
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Query string } }
	}
	if err := json.Unmarshal(read(t, dir+"dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("$namespace", ".*", "$job", ".*", "$__rate_interval", "1m")
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, values.Replace(target.Expr))
		}
	}
	for _, v := range dashboard.Templating.List {
		if of, is := strings.CutPrefix(v.Query, "label_values("); is {
			metric, label, _ := strings.Cut(strings.TrimSuffix(of, ")"), ", ")
			all = append(all, "count by ("+label+") ("+metric+")")
		}
	}
	return all
}

// exported are the metrics of the controller with their labels, by name.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for line := range strings.Lines(string(read(t, "testdata/metrics.txt"))) {
		if fields := strings.Fields(line); !strings.HasPrefix(line, "#") && len(fields) > 0 {
			found[fields[0]] = append(fields[1:], "job", "instance") // which Prometheus adds
		}
	}
	return found
}

// TestMetricsAreThere: what alerts and dashboard ask for is exported, with these labels and reasons.
func TestMetricsAreThere(t *testing.T) {
	metrics := exported(t)
	p := parser.NewParser(parser.Options{})
	documented := string(read(t, "../../docs/controller.md"))
	for _, text := range expressions(t) {
		expr, err := p.ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			selector, is := n.(*parser.VectorSelector)
			if !is {
				return nil
			}
			known, found := metrics[selector.Name]
			if !found {
				t.Errorf("%s: there is no metric %s", text, selector.Name)
			}
			for _, m := range selector.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(known, m.Name) {
					t.Errorf("%s: %s has no label %s", text, selector.Name, m.Name)
				}
				if m.Name == "reason" {
					for reason := range strings.SplitSeq(m.Value, "|") {
						if !strings.Contains(documented, "| `"+reason+"` | ") {
							t.Errorf("%s: there is no reason %s", text, reason)
						}
					}
				}
			}
			return nil
		})
	}
}

// TestEachReasonOnce: each reason that docs/controller.md has in its table is ready, an alert, or meant by a person.
func TestEachReasonOnce(t *testing.T) {
	all := ""
	for _, r := range alerts(t) {
		all += r.Expr
	}
	_, table, _ := strings.Cut(string(read(t, "../../docs/controller.md")), "| reason | Ready |")
	table, _, _ = strings.Cut(table, "\n\n")
	reasons := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1)
	if len(reasons) < 15 {
		t.Fatalf("only %d reasons", len(reasons))
	}
	for _, r := range reasons {
		if quiet := []string{"Published", "UpToDate", "Suspended", "Declined"}; slices.Contains(quiet, r[1]) == strings.Contains(all, r[1]) {
			t.Errorf("reason %s: want one alert, or none where a person means it", r[1])
		}
	}
}

// TestAlertsFire: each alert fires where it is to, and not before, nor elsewhere.
func TestAlertsFire(t *testing.T) {
	one := func(text string) series { return constant(t, text, 1) }
	hydration := func(reason string) series {
		return one(`poolwright_hydration_condition{namespace="storage", name="prod", reason="` + reason + `"}`)
	}
	slow := func(seconds float64) database {
		var all database
		for _, le := range []string{"1", "60", "300", "+Inf"} {
			s := counter(t, `poolwright_hydration_judgement_duration_seconds_bucket{le="`+le+`"}`, 1)
			if bound := map[string]float64{"1": 1, "60": 60, "300": 300}[le]; bound > 0 && bound < seconds {
				s = constant(t, `poolwright_hydration_judgement_duration_seconds_bucket{le="`+le+`"}`, 0)
			}
			all = append(all, s)
		}
		return all
	}
	waiting := constant(t, `poolwright_controller_leader{instance="b"}`, 0)
	tried := map[string]bool{}
	for _, c := range []struct {
		alert string
		data  database
		want  string // the labels that it fires with; "" for not at all
	}{
		{"PoolwrightControllerAbsent", database{waiting}, "{}"},
		{"PoolwrightControllerAbsent", nil, "{}"},
		{"PoolwrightControllerAbsent", database{waiting, one(`poolwright_controller_leader{instance="a"}`)}, ""},
		{"PoolwrightControllerTwice", database{one(`poolwright_controller_leader{instance="b"}`), one(`poolwright_controller_leader{instance="a"}`)}, "{}"},
		{"PoolwrightControllerTwice", database{waiting, one(`poolwright_controller_leader{instance="a"}`)}, ""},
		{"PoolwrightHydrationStalled", database{hydration("Protected")}, `{name="prod", namespace="storage", reason="Protected"}`},
		{"PoolwrightHydrationStalled", database{hydration("Declined")}, ""},
		{"PoolwrightHydrationStalled", database{hydration("Published")}, ""},
		{"PoolwrightHydrationFailing", database{hydration("ServiceUnavailable")}, `{name="prod", namespace="storage"}`},
		{"PoolwrightHydrationFailing", database{hydration("Invalid")}, ""},
		{"PoolwrightHydrationAwaitsMerge", database{hydration("AwaitingMerge")}, `{name="prod", namespace="storage"}`},
		{"PoolwrightHydrationAwaitsMerge", database{hydration("UpToDate")}, ""},
		{"PoolwrightJudgementsSlow", slow(100), "{}"},
		{"PoolwrightJudgementsSlow", slow(10), ""},
	} {
		tried[c.alert] = true
		r, found := alerts(t)[c.alert]
		if !found {
			t.Errorf("there is no alert %s", c.alert)
			continue
		}
		wait, err := model.ParseDuration(r.For)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.data.firing(t, r.Expr, time.Duration(wait)); got != c.want {
			t.Errorf("%s: fires with %q, want %q", c.alert, got, c.want)
		}
	}
	for name := range alerts(t) {
		if !tried[name] {
			t.Errorf("alert %s is not tried", name)
		}
	}
}

// firing are the labels with which an expression has a result at every minute of a time. It is looked at after
// the 40 minutes that the longest range of an alert needs.
func (d database) firing(t *testing.T, expr string, wait time.Duration) string {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	defer func() { _ = engine.Close() }()
	begin := time.UnixMilli(0).Add(40 * time.Minute)
	q, err := engine.NewRangeQuery(context.Background(), d, nil, expr, begin, begin.Add(wait), max(time.Minute, wait/100))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	matrix, err := q.Exec(context.Background()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	steps := int(wait/max(time.Minute, wait/100)) + 1
	var firing []string
	for _, s := range matrix {
		if len(s.Floats) == steps {
			firing = append(firing, s.Metric.String())
		}
	}
	return strings.Join(firing, " ")
}
