package fn

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/forecast"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/quantity"
)

// usedBlur is half of the step in which a snapshot keeps how full something is, in percent.
const usedBlur = 2.5

// Usages is how full the facts show each object of a kind that fills up, by its identity.
func (f *Function) Usages(facts []*krm.Object, at time.Time) map[krm.ID]forecast.Point {
	usages := map[krm.ID]forecast.Point{}
	for _, o := range facts {
		kind, found := f.kinds.Find(o.GroupKind())
		if !found || len(kind.Total) == 0 {
			continue
		}
		p := forecast.Point{Time: at.UTC(), Total: quantity.Bytes(o.Node.Str(kind.Total...))}
		used := quantity.Bytes(o.Node.Str(kind.Used...))
		percent, err := strconv.ParseFloat(o.Annotation(krm.AnnotationUsedPercent), 64)
		switch {
		case err == nil && percent >= 0 && percent <= 100:
			p.Percent, p.Blur = percent+usedBlur, usedBlur
		case p.Total > 0 && o.Node.Get(kind.Used...) != nil:
			p.Percent = float64(max(0, used)) * 100 / float64(p.Total)
		default:
			continue
		}
		usages[o.ID()] = p
	}
	return usages
}

// History is points of pools, by their identity.
type History map[krm.ID][]forecast.Point

// Growth is one that a person assumes in place of that of the history: percent points, or bytes, a day.
type Growth struct{ Points, Bytes float64 }

// Forecast says when each pool of a history, and each spec with its pools, passes its threshold and is full. The facts of the package
// say which disks are free for a pool to grow.
func (f *Function) Forecast(p Package, history History, grow *Growth) []forecast.Object {
	pkg := f.prepare(p)
	facts := pkg.index()
	disks := f.holdings(pkg.classified, facts).open(f, facts, nil)
	objects := []forecast.Object{}
	ofSpec := map[*system.Spec]History{}
	for id, points := range history {
		pool, spec := facts.Object(id), (*system.Spec)(nil)
		if pool != nil {
			spec = pkg.specOf(pool)
		}
		o := forecast.Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Threshold: defaultThreshold}
		trend := trendOf(forecast.Newest(points), grow)
		if spec != nil {
			if ofSpec[spec] == nil {
				ofSpec[spec] = History{}
			}
			ofSpec[spec][id] = forecast.Newest(points)
			if grower, grows := f.of(spec.Object.OwnerKey()).System.(system.Grower); grows {
				o.Threshold = thresholdOf(grower, spec)
				if adds, times, expands := grower.Expands(facts, disks, spec, pool); expands {
					o.Expansion = &forecast.Expansion{Adds: adds, Times: times}
					if total := quantity.Bytes(pool.Node.Str(f.totalOf(pool)...)); total > 0 {
						o.Expansion.EndsAt = trend.Reaches(o.Threshold * (1 + float64(times)*float64(adds)/float64(total)))
					}
				}
			}
		}
		o.Set(trend)
		objects = append(objects, o)
	}
	for spec, pools := range ofSpec {
		ref := spec.Object.Ref
		o := forecast.Object{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Threshold: defaultThreshold}
		if grower, grows := f.of(spec.Object.OwnerKey()).System.(system.Grower); grows {
			o.Threshold = thresholdOf(grower, spec)
		}
		o.Set(trendOf(usedTogether(pools), grow))
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b forecast.Object) int { return a.Compare(&b) })
	return objects
}

// defaultThreshold is how full a pool is to be at most where no spec says so, in percent.
const defaultThreshold = 80

func thresholdOf(grower system.Grower, spec *system.Spec) float64 {
	if percent := grower.Threshold(spec); percent > 0 {
		return percent
	}
	return defaultThreshold
}

func (f *Function) totalOf(o *krm.Object) []string {
	kind, _ := f.kinds.Find(o.GroupKind())
	return kind.Total
}

// trendOf is the trend of points, or with the growth that a person assumes.
func trendOf(points []forecast.Point, grow *Growth) forecast.Trend {
	trend := forecast.Of(points)
	if grow == nil || len(points) == 0 {
		return trend
	}
	slope := grow.Points
	if grow.Bytes != 0 {
		total := points[len(points)-1].Total
		if total <= 0 {
			trend.Slope, trend.Reason = nil, "its size is not known"
			return trend
		}
		slope = grow.Bytes * 100 / float64(total)
	}
	return trend.Grow(slope)
}

// specOf is the spec that a pool was rendered for, or of whose rendered cluster it is a part.
func (pkg *prepared) specOf(pool *krm.Object) *system.Spec {
	cluster := pool.Label(inventory.LabelPoolCluster)
	for _, spec := range pkg.specs {
		if pool.Owner() == spec.Object.OwnerKey() {
			return spec
		}
		if cluster != "" && slices.ContainsFunc(spec.Before, func(o *krm.Object) bool {
			return o.Name == cluster && o.Namespace == pool.Namespace && pkg.kinds.Stateful(o)
		}) {
			return spec
		}
	}
	return nil
}

// usedTogether is how full some pools are together: on each day on which all of them have a point, that many have as on the newest.
func usedTogether(pools History) []forecast.Point {
	type sum struct {
		points []forecast.Point
	}
	days := map[string]*sum{}
	for _, points := range pools {
		for _, p := range points {
			day := p.Time.UTC().Format(time.DateOnly)
			if days[day] == nil {
				days[day] = &sum{}
			}
			days[day].points = append(days[day].points, p)
		}
	}
	var all []forecast.Point
	for _, day := range days {
		if len(day.points) != len(pools) {
			continue
		}
		var p forecast.Point
		weights := 0.0
		for _, one := range day.points {
			weight := float64(one.Total)
			if one.Total <= 0 {
				weight = 1
			}
			weights += weight
			p.Percent += one.Percent * weight
			p.Blur, p.Total = max(p.Blur, one.Blur), p.Total+one.Total
			if one.Time.After(p.Time) {
				p.Time = one.Time
			}
		}
		p.Percent /= weights
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b forecast.Point) int { return a.Time.Compare(b.Time) })
	return all
}

// PoolOf finds the pool that a history calls by its name, or by its namespace and name; one that the facts lack is named as it is called.
func (f *Function) PoolOf(facts []*krm.Object, name string) krm.ID {
	for _, o := range facts {
		if kind, found := f.kinds.Find(o.GroupKind()); found && len(kind.Total) > 0 && (o.Name == name || o.Namespace+"/"+o.Name == name) {
			return o.ID()
		}
	}
	namespace, short, found := strings.Cut(name, "/")
	if !found {
		namespace, short = "", name
	}
	return krm.ID{Kind: "Pool", Namespace: namespace, Name: short}
}
