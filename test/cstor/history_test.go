package cstor

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/tool"
)

var (
	histories = flag.Int("histories", tool.Share(20), "how many random histories TestHistories runs")
	first     = flag.Uint64("first", 1, "the seed of the first of them")
	length    = flag.Int("events", 200, "how much happens in each")
	shortened = flag.Int("shortened", 2, "how many of those that fail are shortened, and told whole")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // much garbage, of which little is in use: a quarter of the processor time
	os.Exit(m.Run())
}

// TestHistories goes through random histories of clusters and of the packages that
// describe them: nodes and disks fail, specs are edited, snapshots are old. At every step the
// watch of the cluster holds, what a fresh snapshot gives is never refused, and when nothing
// happens any more the cluster comes to rest. make histories runs a thousand.
func TestHistories(t *testing.T) {
	t.Parallel()
	liveThrough(t, newHistory)
}

// beginning is how a history begins, by its seed.
type beginning func(seed uint64) *history

// liveThrough goes through as many histories as the flags say.
func liveThrough(t *testing.T, begin beginning) {
	t.Helper()
	count := *histories
	if testing.Short() {
		count = min(count, 4)
	}
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	var lock sync.Mutex
	var seen tally
	failed, rules, edits, stopped := map[uint64]error{}, map[string]int{}, map[string]int{}, map[string][]uint64{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				h, err := live(begin, seed, events(seed, *length))
				lock.Lock()
				for edit, count := range h.cluster.Engine.Edits {
					edits[edit] += count
				}
				for rule, count := range h.errors {
					rules[rule] += count
				}
				for _, rule := range h.stopped {
					stopped[rule] = append(stopped[rule], seed)
				}
				if seen.add(h.tally); err != nil {
					failed[seed] = err
				}
				lock.Unlock()
			}
		})
	}
	for i := range uint64(count) {
		seeds <- *first + i
	}
	close(seeds)
	workers.Wait()
	t.Logf("%+v, edits %v, errors %v, at rest %v", seen, edits, rules, stopped)
	for i, seed := range slices.Sorted(maps.Keys(failed)) {
		if i >= *shortened {
			t.Errorf("-first=%d -histories=1: %.200v", seed, failed[seed])
			continue
		}
		h, err := live(begin, seed, shorten(begin, seed, events(seed, *length), failed[seed]))
		t.Errorf("-first=%d -histories=1: %v\n\n%s", seed, err, h.story())
	}
	if seen.Rendered == 0 || seen.Applied == 0 || seen.Rested == 0 {
		t.Error("the histories show nothing")
	}
}

// tally counts what histories were about.
type tally struct{ Rendered, Failed, Applied, Refused, Rested, Waiting int }

func (t *tally) add(more tally) {
	t.Rendered += more.Rendered
	t.Failed += more.Failed
	t.Applied += more.Applied
	t.Refused += more.Refused
	t.Rested += more.Rested
	t.Waiting += more.Waiting
}

// events draws what happens. What the numbers of an event mean depends on what there is when
// it happens, so that a history can be shortened.
func events(seed uint64, count int) []event {
	random := rand.New(rand.NewPCG(seed, 2))
	all := make([]event, count)
	for i := range all {
		all[i] = event{random.IntN(len(happenings())), random.IntN(24), random.IntN(24), random.IntN(24)}
	}
	return all
}

func live(begin beginning, seed uint64, events []event) (*history, error) {
	h := begin(seed)
	for _, e := range events {
		what, err := happenings()[e.kind](h, e)
		if what != "" {
			h.told = append(h.told, what)
		}
		if err := errors.Join(err, h.cluster.Watch.Err()); err != nil {
			return h, err
		}
	}
	return h, h.settle()
}

// shorten leaves out the events without which the same is wrong.
func shorten(begin beginning, seed uint64, events []event, cause error) []event {
	for size := len(events) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(events); {
			fewer := slices.Delete(slices.Clone(events), at, at+size)
			if _, err := live(begin, seed, fewer); err != nil && kindOf(err) == kindOf(cause) {
				events = fewer
			} else {
				at += size
			}
		}
	}
	return events
}

// kindOf is what is wrong, without the names.
func kindOf(err error) string {
	var b broken
	if errors.As(err, &b) {
		return b.rule
	}
	return "watch"
}

// broken is a rule that does not hold.
type broken struct {
	rule string
	text string
}

func (b broken) Error() string { return b.rule + ": " + b.text }

// history is a cluster, and the package that describes it.
type history struct {
	cluster  *Cluster
	function *fn.Function
	told     []string

	configs  []*config
	deleted  map[string]*config // those that were, by name
	facts    snapshotted
	past     []snapshotted
	rendered []*krm.Object
	view     View // of the facts that it was rendered from
	commits  [][]*krm.Object
	findings []finding.Finding
	errors   map[string]int // how often each rule was an error
	stopped  []string       // the rules that are errors at rest
	reverted bool           // rendered/ is what a person put back, and could not be rendered again
	split    bool           // configs are split into several CStorPoolClusters
	lists    bool           // entries of spec.pools come and go
	fresh    bool           // nobody renders from an old snapshot
	branch   *branch        // in which the controller publishes; nil where a person does it all
	made     int            // names that were given
	volumes  int
	tally
}

// snapshotted is a snapshot, and what it shows.
type snapshotted struct {
	objects []*krm.Object
	view    View
	taken   *snapshot.Snapshot
}

// config is a CStorClusterConfig.
type config struct {
	name, raid  string
	minimum     int
	maximum     int
	groups      int
	spare       int
	label       string // of the nodes that are selected, "" for all
	cloud       bool
	capacity    int    // of a disk, in GiB; 0 for 100
	policy      string // deletionPolicy, "" for none
	deletes     bool   // it had the policy Delete at some time
	autoReplace bool
	compression string
	limit       int // of the disks of a CStorPoolCluster, 0 for none
	noExpansion bool
	listed      []listedPool
	onlyListed  bool
	consent     []string
	drain       []string
	replace     []string
}

// bare is a history of an empty cluster.
func bare(seed uint64) *history {
	return &history{errors: map[string]int{}, deleted: map[string]*config{}, cluster: New(seed), function: fn.New(schema.Load(), systems.All()...)}
}

func newHistory(seed uint64) *history {
	random := rand.New(rand.NewPCG(seed, 3))
	h := bare(seed)
	h.cluster.SetWebhookTimeout([]int{5, 10, 30, 30}[random.IntN(4)])
	for range 4 + random.IntN(3) {
		h.addNode(2 + random.IntN(5))
	}
	for i := range 1 + random.IntN(4)/3 {
		h.configs = append(h.configs, &config{
			name: fmt.Sprintf("c%d", i), raid: []string{"mirror", "mirror", "stripe"}[random.IntN(3)],
			minimum: 1 + random.IntN(3), groups: 1, spare: random.IntN(4) / 3, cloud: random.IntN(5) == 0,
		})
	}
	h.cluster.Advance(1)
	h.tell("%d nodes, %d disks", len(h.cluster.Machines()), len(h.cluster.Disks("")))
	return h
}

func (h *history) tell(format string, args ...any) {
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

func (h *history) addNode(disks int) string {
	h.made++
	name, host := fmt.Sprintf("n%d", h.made), ""
	if h.made%6 == 4 {
		host = "host-of-" + name
	}
	labels := map[string]string{"pool": []string{"a", "a", "b"}[h.made%3], "topology.kubernetes.io/zone": fmt.Sprintf("z%d", h.made%3)}
	h.cluster.AddNode(name, host, labels)
	for range disks {
		h.addDisk(name)
	}
	return name
}

func (h *history) addDisk(node string) string {
	h.made++
	name := fmt.Sprintf("bd-%d", h.made)
	h.cluster.AddDisk(node, name, 100<<30)
	return name
}

func (c *config) allow(removal string) {
	if !slices.Contains(c.consent, removal) {
		c.consent = append(slices.Clone(c.consent), removal)
	}
}

func (c *config) object() *krm.Object {
	type fields = map[string]any
	disk := fields{"minCount": c.disks(), "minCapacity": fmt.Sprintf("%dGi", max(c.capacity, 100))}
	if c.cloud {
		disk["externalProvisioner"] = fields{"csiAttacherName": cloudDriver, "storageClassName": cloudClass}
	} else {
		disk["local"] = fields{}
	}
	pools := fields{"raidType": c.raid, "spare": c.spare}
	if c.compression != "" {
		pools["compression"] = c.compression
	}
	if c.autoReplace {
		pools["autoReplace"] = true
	}
	if c.policy != "" {
		pools["deletionPolicy"] = c.policy
	}
	if c.noExpansion {
		pools["poolExpansion"] = fields{"disable": true}
	}
	if c.limit > 0 {
		pools["maxDisksPerCluster"] = max(c.limit, c.largest())
	}
	spec := fields{"minPoolCount": c.fewest(), "diskConfig": disk, "poolConfig": pools}
	if c.maximum > 0 {
		spec["maxPoolCount"] = max(c.maximum, len(c.listed))
	}
	if len(c.listed) > 0 {
		spec["pools"], spec["onlyListed"] = c.entries(), c.onlyListed
	}
	if c.label != "" {
		spec["allowedNodes"] = fields{"nodeSelectorTerms": []any{fields{"matchLabels": fields{"pool": c.label}}}}
	}
	annotations := fields{}
	for key, values := range map[string][]string{"allow-removal": c.consent, "drain": c.drain, "replace": c.replace} {
		if len(values) > 0 {
			annotations["poolwright.io/"+key] = strings.Join(values, ",")
		}
	}
	return parse(encode(fields{
		"apiVersion": "dao.mayadata.io/v1alpha1", "kind": "CStorClusterConfig",
		"metadata": fields{"name": c.name, "namespace": Namespace, "annotations": annotations}, "spec": spec,
	}))[0]
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func parse(text []byte) []*krm.Object {
	objects, err := krm.Parse(&document.Source{Name: "history.yaml", Data: text})
	if err != nil {
		panic(err)
	}
	return objects
}

// snapshot takes the facts again, as poolwright inventory does.
func (h *history) snapshot() {
	taken, findings := snapshot.Dump(parse(h.cluster.Dump()), "", snapshot.Options{Kinds: h.function.Kinds().Read()})
	if taken == nil {
		panic(fmt.Sprint(findings))
	}
	var text bytes.Buffer
	for i := range taken.Kinds {
		text.WriteString("---\n")
		if err := taken.Kinds[i].Write(&text, snapshot.JSON); err != nil {
			panic(err)
		}
	}
	h.past = append(h.past, h.facts)
	h.facts = snapshotted{parse(text.Bytes()), h.cluster.Watch.Look(), taken}
}

// render renders the package; where that fails the old output stays.
func (h *history) render() {
	var specs []*krm.Object
	for _, c := range h.configs {
		specs = append(specs, c.object())
	}
	h.allowDeletions()
	output := h.publish(specs)
	if finding.Failed(h.findings) {
		for _, f := range h.findings {
			if f.Severity == finding.Error {
				h.errors[f.Rule]++
			}
		}
		h.Failed++
		return
	}
	h.Rendered++
	h.reverted = false
	h.view = h.facts.view
	h.rendered = output
	h.commits = append(h.commits, h.rendered)
}

// publish renders, by hand or with the controller, and returns the new output.
func (h *history) publish(specs []*krm.Object) []*krm.Object {
	if h.branch == nil {
		result := h.function.Render(fn.Package{Objects: append(slices.Clone(h.facts.objects), specs...), Output: h.rendered})
		h.findings = result.Findings
		return reread(result)
	}
	err := h.branch.edit(specs, h.rendered)
	if err == nil {
		err = h.branch.pass(h, h.facts.taken)
	}
	_, output, readErr := h.branch.read()
	if err = errors.Join(err, readErr); err != nil {
		h.cluster.Watch.report("%v", err)
	}
	return output
}

// reread is what is on disk after a render.
func reread(result fn.Result) []*krm.Object {
	var objects []*krm.Object
	for _, r := range result.Objects {
		objects = append(objects, parse(r.Object.Raw)...)
	}
	return objects
}

func textOf(objects []*krm.Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.Write(o.Raw)
	}
	return b.String()
}

// apply applies what is rendered, and returns what was refused.
func (h *history) apply() []Refusal {
	var manifests [][]byte
	for _, o := range h.rendered {
		manifests = append(manifests, o.Raw)
	}
	h.cluster.Watch.Know(h.view)
	h.cluster.Watch.theirs = h.reverted
	kept := h.retained()
	refused, err := h.cluster.Engine.Apply(manifests)
	if err != nil {
		panic(err)
	}
	for _, claim := range kept {
		if !h.reverted && h.cluster.VolumeClaims[Namespace+"/"+claim] == nil {
			h.cluster.Watch.report("PersistentVolumeClaim %s is gone, and was to be retained", claim)
		}
	}
	h.Applied++
	h.Refused += len(refused)
	return refused
}

// turn is one round with nothing in between: nothing of it may be refused, and to render
// again changes nothing.
func (h *history) turn(minutes int) error {
	h.snapshot()
	h.render()
	if err := h.clustersKeepPools(); err != nil && !finding.Failed(h.findings) {
		return err
	}
	before := textOf(h.rendered)
	if refused := h.apply(); len(refused) > 0 && !finding.Failed(h.findings) {
		return broken{"refused", fmt.Sprint(refused)}
	}
	if !finding.Failed(h.findings) {
		if h.render(); textOf(h.rendered) != before {
			return broken{"fixed-point", "to render again changes the output:\n" + difference(before, textOf(h.rendered))}
		}
	}
	h.cluster.Advance(minutes)
	return nil
}

// difference lists the lines that are in one text only.
func difference(a, b string) string {
	lines := func(text string) []string { return strings.Split(text, "\n") }
	var out strings.Builder
	for _, line := range minus(lines(a), lines(b)) {
		out.WriteString("- " + line + "\n")
	}
	for _, line := range minus(lines(b), lines(a)) {
		out.WriteString("+ " + line + "\n")
	}
	return out.String()
}

// story describes what happened, for a person.
func (h *history) story() string {
	var b strings.Builder
	for i, s := range h.told {
		fmt.Fprintf(&b, "%3d %s\n", i+1, s)
	}
	for _, c := range h.configs {
		fmt.Fprintf(&b, "config %+v\n", *c)
	}
	fmt.Fprintf(&b, "%s", h.cluster)
	for _, c := range sorted(h.cluster.PoolClusters) {
		for i := range c.Spec.Pools {
			fmt.Fprintf(&b, "applied: %s on %s: %v\n", c.Name, c.Spec.Pools[i].host(), c.Spec.Pools[i].disks())
		}
	}
	for _, o := range h.rendered {
		switch o.Kind {
		case "CStorPoolCluster":
			wanted := poolsOf(o)
			for i := range wanted.Spec.Pools {
				fmt.Fprintf(&b, "rendered: %s on %s: %v\n", o.Name, wanted.Spec.Pools[i].host(), wanted.Spec.Pools[i].disks())
			}
		case "CStorVolumeConfig", "CStorClusterPlan":
			fmt.Fprintf(&b, "rendered: %s %s %s\n", o.Kind, o.Name, encode(clone(specOf(o))))
		}
	}
	for _, f := range h.findings {
		fmt.Fprintf(&b, "%s %s %s %s: %s\n", f.Severity, f.Rule, f.Object, f.Field, f.Message)
	}
	return b.String()
}

func poolsOf(o *krm.Object) *PoolCluster {
	var wanted *PoolCluster
	if err := decoded(o.Raw, func(c *PoolCluster) error { wanted = c; return nil }); err != nil {
		panic(err)
	}
	return wanted
}

func specOf(o *krm.Object) any {
	var content map[string]any
	if err := yaml.Unmarshal(o.Raw, &content); err != nil {
		panic(err)
	}
	return content["spec"]
}
