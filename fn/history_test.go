package fn

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/cluster"
)

// eventsOfHistory is how much happens in one history.
const eventsOfHistory = 50

// TestHistories goes through what a hostile user does to a cluster and to its package:
// after every event it renders, and holds the rules of history_rules_test.go. There are
// -rapid.checks histories, the same in every run; others with -rapid.seed.
func TestHistories(t *testing.T) {
	t.Parallel()
	var seen tally
	starts := rapid.Custom(drawStart)
	events := rapid.SliceOfN(rapid.Custom(drawEvent), eventsOfHistory, eventsOfHistory)
	count, first := number(t, "rapid.checks"), number(t, "rapid.seed")
	if testing.Short() {
		count /= 5 // as rapid itself does
	}
	for seed := first; seed < first+count; seed++ {
		s, happened := starts.Example(seed), events.Example(seed)
		h, err := replay(t, s, happened)
		if err != nil {
			h, err = replay(t, s, shorten(t, s, happened, err))
			t.Fatalf("-rapid.seed=%d: %v\n\n%s", seed, err, h.story())
		}
		seen.add(h.tally)
	}
	t.Logf("%+v", seen)
	if seen.Rendered == 0 || seen.Refused == 0 || seen.Pools == 0 || seen.Converged == 0 {
		t.Fatal("the histories show nothing")
	}
}

// number is the value of a flag of rapid.
func number(t *testing.T, name string) int {
	n, err := strconv.Atoi(flag.Lookup(name).Value.String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func replay(t rapid.TB, start start, events []event) (*history, error) {
	h := newHistory(t, start)
	return h, h.live(events)
}

// shorten leaves out the events without which the same rule is broken.
func shorten(t rapid.TB, start start, events []event, first error) []event {
	rule := func(err error) string {
		var b broken
		errors.As(err, &b)
		return b.rule
	}
	for size := len(events) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(events); {
			fewer := slices.Delete(slices.Clone(events), at, at+size)
			if _, err := replay(t, start, fewer); err != nil && rule(err) == rule(first) {
				events = fewer
			} else {
				at += size
			}
		}
	}
	return events
}

// tally counts what histories were about.
type tally struct{ Rendered, Refused, Pools, Converged, Waiting, Moved int }

func (t *tally) add(more tally) {
	t.Rendered += more.Rendered
	t.Refused += more.Refused
	t.Pools += more.Pools
	t.Converged += more.Converged
	t.Waiting += more.Waiting
	t.Moved += more.Moved
}

// start is what a history begins with.
type start struct {
	nodes []int // disks of each
	specs []clusterSpec
}

func drawStart(t *rapid.T) start {
	var s start
	s.nodes = rapid.SliceOfN(rapid.IntRange(2, 6), 2, 4).Draw(t, "disks of nodes")
	for i := range rapid.IntRange(1, 3).Draw(t, "specs") {
		s.specs = append(s.specs, clusterSpec{
			Name:     fmt.Sprintf("c%d", i),
			RAID:     rapid.SampledFrom([]string{"mirror", "mirror", "stripe"}).Draw(t, "raid"),
			Min:      rapid.IntRange(1, 2).Draw(t, "min"),
			Spare:    rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "spare"),
			Groups:   1,
			External: rapid.IntRange(0, 4).Draw(t, "external") == 4,
		})
	}
	return s
}

// clusterSpec is a CStorClusterConfig.
type clusterSpec struct {
	Name, RAID       string
	Min, Max, Groups int
	Spare            int
	Label            string // of the nodes that are selected, "" for all
	External         bool
	Consent          []string
	Moves            []string // consent to move
}

func (s *clusterSpec) content() map[string]any {
	size := map[string]int{"mirror": 2, "stripe": s.Groups}[s.RAID]
	disk := map[string]any{"minCount": map[string]int{"mirror": 2 * s.Groups, "stripe": s.Groups}[s.RAID], "groupSize": size, "minCapacity": "100Gi"}
	if s.External {
		disk["externalProvisioner"] = map[string]any{"csiAttacherName": "csi.example.com", "storageClassName": "fast"}
	} else {
		disk["local"] = map[string]any{}
	}
	spec := map[string]any{"minPoolCount": s.Min, "diskConfig": disk, "poolConfig": map[string]any{"raidType": s.RAID, "spare": s.Spare}}
	if s.Max > 0 {
		spec["maxPoolCount"] = s.Max
	}
	if s.Label != "" {
		spec["allowedNodes"] = map[string]any{"nodeSelectorTerms": []any{map[string]any{"matchLabels": map[string]any{"pool": s.Label}}}}
	}
	meta, consent := map[string]any{"name": s.Name, "namespace": cluster.Namespace}, map[string]any{}
	if len(s.Consent) > 0 {
		consent[krm.AnnotationAllowRemoval] = strings.Join(s.Consent, ",")
	}
	if len(s.Moves) > 0 {
		consent["poolwright.io/allow-move"] = strings.Join(s.Moves, ",")
	}
	if len(consent) > 0 {
		meta["annotations"] = consent
	}
	return map[string]any{"apiVersion": "dao.mayadata.io/v1alpha1", "kind": "CStorClusterConfig", "metadata": meta, "spec": spec}
}

// history is a cluster, the package that describes it, and what was committed before.
type history struct {
	t      rapid.TB
	reader *cluster.Reader
	told   []string

	cluster  cluster.Cluster
	lost     []cluster.Node     // nodes that may come back
	past     []cluster.Snapshot // earlier ones
	made     int                // names that were given
	snapshot cluster.Snapshot
	specs    []clusterSpec
	rendered []*krm.Object
	commits  [][]*krm.Object // earlier contents of rendered/

	serials    map[string]string   // of each block device, as far as anything says it
	hosts      map[string][]string // names that the node of a host has had
	remembered map[string]bool     // consent that the plans remember
	going      map[string]bool     // pools whose removal was allowed, by cluster/host
	read       cluster.Facts       // the snapshot
	last       Result
	turn       int // which of the rules that take turns is asked
	tally
}

func newHistory(t rapid.TB, s start) *history {
	h := &history{
		t: t, reader: cluster.NewReader(), specs: slices.Clone(s.specs),
		hosts: map[string][]string{}, going: map[string]bool{},
	}
	for i, disks := range s.nodes {
		h.addNode(i, disks)
	}
	h.refresh()
	return h
}

func (h *history) addNode(i, disks int) {
	name := fmt.Sprintf("n%d", i)
	n := cluster.Node{Name: name, UID: "uid-" + name, Hostname: name, Label: []string{"a", "a", "b"}[i%3], Day: 1 + i%9}
	if i%4 == 3 {
		n.Hostname = "host-of-" + name
	}
	h.cluster.Nodes = append(h.cluster.Nodes, n)
	for range disks {
		h.addDisk(n.Hostname)
	}
}

func (h *history) addDisk(host string) string {
	h.made++
	name := fmt.Sprintf("bd-%d", h.made)
	h.cluster.Devices = append(h.cluster.Devices, cluster.Device{Name: name, Serial: fmt.Sprintf("S%d", h.made), Host: host, Size: 100})
	return name
}

// refresh takes the snapshot again.
func (h *history) refresh() {
	h.past = append(h.past, h.snapshot)
	h.snapshot = cluster.Snapshot{Cluster: h.cluster.Clone()}
}

// identify notes which disk each block device is, as far as the snapshot or a
// storage set in rendered/ say: a name that none of them knows is a disk of its
// own.
func (h *history) identify() {
	h.serials = map[string]string{}
	for _, o := range h.rendered {
		if o.Kind != "CStorClusterStorageSet" {
			continue
		}
		for _, d := range o.Node.Seq("spec", "blockDevices") {
			h.serials[d.Str("name")] = d.Str("serial")
		}
	}
	if h.snapshot.Knows(cluster.Devices) {
		for _, d := range h.snapshot.Devices {
			h.serials[d.Name] = d.Serial + d.Handle
		}
	}
	for _, n := range h.cluster.Nodes {
		if !slices.Contains(h.hosts[n.Hostname], n.Name) {
			h.hosts[n.Hostname] = append(h.hosts[n.Hostname], n.Name)
		}
	}
}

// serial is the identity of a block device, whatever it is called now.
func (h *history) serial(device string) string { return cmp.Or(h.serials[device], device) }

// live goes through the events, and then lets the cluster come to rest.
func (h *history) live(events []event) error {
	for _, e := range events {
		h.turn = e.C
		what := e.happen(h)
		if what == "" {
			continue
		}
		h.told = append(h.told, what)
		if err := h.step(); err != nil {
			return err
		}
	}
	return h.settle()
}

// step renders, holds the rules, and commits what was rendered.
func (h *history) step() error {
	before := h.rendered
	h.remembered = rememberedConsent(before)
	h.identify()
	h.read = h.reader.Read(h.t, &h.snapshot)
	result := h.renderFacts(h.facts(), before)
	h.last = result
	if err := h.check(before, result); err != nil {
		return fmt.Errorf("%w\n%s", err, findings(result))
	}
	if finding.Failed(result.Findings) {
		h.Refused++
		return nil
	}
	if h.Rendered++; says(result, "pool-moves") {
		h.Moved++
	}
	h.rendered = reread(h.t, result)
	h.commits = append(h.commits, h.rendered)
	return nil
}

// facts are the objects of the snapshot.
func (h *history) facts() []*krm.Object { return h.read.Objects() }

// renderFacts renders all specs from facts and a content of rendered/.
func (h *history) renderFacts(facts, before []*krm.Object) Result {
	objects := slices.Clone(facts)
	completed := map[string][]byte{}
	for i := range h.specs {
		content := h.specs[i].content()
		objects = append(objects, h.reader.Object(h.t, content))
		text, err := json.Marshal(content)
		if err != nil {
			h.t.Fatal(err)
		}
		completed[h.specs[i].Name] = text
	}
	return renderCompleted(objects, before, completed)
}

// renderCompleted renders without CUE, which would dominate.
func renderCompleted(objects, before []*krm.Object, completed map[string][]byte) Result {
	pkg := &prepared{
		function:   poolwright(),
		classified: classify(Package{Objects: objects, Output: before}, poolwright().kinds, poolwright().schemas.Kinds()),
	}
	pkg.policy.Engine, pkg.policy.Protection, pkg.policy.Intermediates = "all", "confirm", "local"
	for _, o := range pkg.classified.specs {
		pkg.specs = append(pkg.specs, &system.Spec{
			Object: o, Completed: completed[o.Name], Before: pkg.lock[o.OwnerKey()], Consent: system.NewConsent(o.AnnotationList(krm.AnnotationAllowRemoval)),
		})
	}
	return pkg.render()
}

// apply applies what is rendered, as an engine does: what the webhook refuses stays as it
// is, and what is protected is not pruned without consent.
func (h *history) apply() (refused []string) {
	wanted := map[string]bool{}
	for _, o := range h.rendered {
		switch o.Kind {
		case pool.ClusterKind:
			wanted[o.Name] = true
			if why := h.cluster.Apply(o.Name, o.Owner(), pool.DecodeCluster(o).Pools); why != "" {
				refused = append(refused, o.Name+": "+why)
			}
		case "PersistentVolumeClaim":
			h.cluster.Provision(o.Name, o.Annotation("volume.kubernetes.io/selected-node"), o.Owner())
		case "VolumeAttachment":
			h.cluster.Attach(o.Node.Str("spec", "source", "persistentVolumeName"))
		}
	}
	for _, p := range slices.Clone(h.cluster.Pools) {
		if !wanted[p.Name] && h.allowsCluster(p.Name) {
			h.cluster.Delete(p.Name)
		}
	}
	return refused
}

// story describes what happened, for a person.
func (h *history) story() string {
	var b strings.Builder
	for _, s := range h.specs {
		fmt.Fprintf(&b, "spec %+v\n", s)
	}
	for i, s := range h.told {
		fmt.Fprintf(&b, "%2d %s\n", i+1, s)
	}
	fmt.Fprintf(&b, "rendered before the last event:\n")
	for _, u := range h.uses(h.rendered) {
		fmt.Fprintf(&b, "   %s\n", u)
	}
	fmt.Fprintf(&b, "rendered by it:\n")
	for _, u := range h.uses(objectsOf(h.last)) {
		fmt.Fprintf(&b, "   %s\n", u)
	}
	fmt.Fprintf(&b, "snapshot without %v:\n", h.snapshot.Unread)
	for _, n := range h.snapshot.Nodes {
		fmt.Fprintf(&b, "   node %+v\n", n)
	}
	for _, d := range h.snapshot.Devices {
		fmt.Fprintf(&b, "   disk %+v\n", d)
	}
	for _, c := range h.snapshot.Claims {
		fmt.Fprintf(&b, "   claim %+v\n", c)
	}
	for _, p := range h.snapshot.Pools {
		for _, one := range p.Pools {
			fmt.Fprintf(&b, "   pool of %s on %s: %v\n", p.Name, one.Hostname, one.Disks())
		}
	}
	for _, i := range h.snapshot.Instances {
		fmt.Fprintf(&b, "   instance %s on %s: %v, %d replicas\n", i.Name, i.Host, i.Pool.Disks(), i.Replicas)
	}
	fmt.Fprintf(&b, "   %+v %+v %+v\n", h.snapshot.Volumes, h.snapshot.Holders, h.snapshot.Cloud)
	return b.String()
}

func findings(r Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s %s %s %s: %s\n", f.Severity, f.Rule, f.Object, f.Field, f.Message)
	}
	return b.String()
}

func objectsOf(r Result) []*krm.Object {
	objects := make([]*krm.Object, len(r.Objects))
	for i, o := range r.Objects {
		objects[i] = o.Object
	}
	return objects
}
