package systems_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
)

// small is a random cluster with pools of Mayastor, Ceph and local volumes, and the oracle's own picture of it.
type small struct {
	random *rand.Rand
	text   strings.Builder
	nodes  []string
	zone   map[string]string
	down   map[string]bool // stopped
	gone   map[string]bool
	lost   map[string]bool // disks, by the name of the BlockDevice
	online map[string]bool // DiskPools
	pools  map[string][]string
	osds   map[string][]string // disks, by node
	words  []string
}

func newSmall(seed uint64) *small {
	s := &small{
		random: rand.New(rand.NewPCG(seed, 5)), zone: map[string]string{}, down: map[string]bool{}, gone: map[string]bool{}, lost: map[string]bool{},
		online: map[string]bool{}, pools: map[string][]string{}, osds: map[string][]string{},
	}
	for i := range 1 + s.random.IntN(5) {
		node := fmt.Sprintf("n%d", i+1)
		s.nodes = append(s.nodes, node)
		s.zone[node] = string(rune('a' + i%2))
		ready := "True"
		if s.random.IntN(8) == 0 {
			ready, s.down[node] = "False", true
		}
		s.write("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: %s}}\nstatus: {conditions: [{type: Ready, status: %q}]}\n", node, node, s.zone[node], ready)
		for d := range 2 {
			s.write("apiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: %[1]s-%[2]d, namespace: openebs, labels: {kubernetes.io/hostname: %[1]s}}\nspec: {path: /dev/sd%[3]c, details: {deviceType: disk, serial: s-%[1]s-%[2]d}, devlinks: [{kind: by-id, links: [/dev/disk/by-id/ata-%[1]s-%[2]d]}]}\nstatus: {state: Active}\n", node, d, 'b'+d)
		}
		for p := range s.random.IntN(3) {
			pool, status := fmt.Sprintf("pool-%s-%d", node, p), "Online"
			if s.random.IntN(8) == 0 {
				status = "Offline"
			}
			s.online[pool] = status == "Online"
			s.pools[node] = append(s.pools[node], pool)
			s.write("apiVersion: openebs.io/v1beta3\nkind: DiskPool\nmetadata: {name: %s, namespace: openebs}\nspec: {node: %s, disks: [/dev/disk/by-id/ata-%s-%d]}\nstatus: {cr_state: Created, pool_status: %s}\n", pool, node, node, p, status)
		}
	}
	s.write("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: diskpools}\nitems: []\n")
	return s
}

func (s *small) write(format string, args ...any) { fmt.Fprintf(&s.text, format+"---\n", args...) }

// lose chooses up to three changes.
func (s *small) lose() {
	for range 1 + s.random.IntN(3) {
		node := s.nodes[s.random.IntN(len(s.nodes))]
		switch disk := fmt.Sprintf("%s-%d", node, s.random.IntN(2)); s.random.IntN(4) {
		case 0:
			if !slices.Contains(s.words, "stop node/"+node) {
				s.gone[node] = true
				s.words = append(s.words, "lose node/"+node)
			}
		case 1:
			if !slices.Contains(s.words, "lose node/"+node) {
				s.down[node] = true
				s.words = append(s.words, "stop node/"+node)
			}
		default:
			s.lost[disk] = true
			s.words = append(s.words, "lose disk/"+disk)
		}
	}
}

func (s *small) ask(t *testing.T, function *fn.Function, more ...string) resilience.Answer {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "facts.yaml", Data: []byte(strings.TrimSuffix(s.text.String(), "---\n"))})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := resilience.ParseChanges(append(slices.Clone(s.words), more...))
	if err != nil {
		t.Fatal(err)
	}
	w, err := function.WhatIf(fn.Question{Facts: objects, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	return w.Answer
}

// verdict is one state where all choices give it, else unknown, with the worst.
func verdict(states []resilience.State) (after, worst resilience.State) {
	worst = resilience.Worse(states...)
	for _, s := range states {
		if s != worst {
			return resilience.Unknown, worst
		}
	}
	return worst, worst
}

// choices are all ways to choose so many of some things, or all of them if there are fewer.
func choices(all []string, count int) [][]string {
	if count == 0 || len(all) == 0 {
		return [][]string{nil}
	}
	if len(all) <= count {
		return [][]string{all}
	}
	var found [][]string
	for _, rest := range choices(all[1:], count-1) {
		found = append(found, append([]string{all[0]}, rest...))
	}
	return append(found, choices(all[1:], count)...)
}

func check(t *testing.T, s *small, rows []resilience.Row, name string, states []resilience.State) {
	t.Helper()
	after, worst := verdict(states)
	at := slices.IndexFunc(rows, func(r resilience.Row) bool { return r.Name == name })
	if at < 0 {
		t.Fatalf("%s is not judged", name)
	}
	if rows[at].After != after || rows[at].Worst != worst {
		t.Errorf("%v: %s is %s, worst %s; the oracle has %s, worst %s\n%s", s.words, name, rows[at].After, rows[at].Worst, after, worst, &s.text)
	}
}

// TestMayastorOracle tries every choice of nodes and pools for the replicas of a volume.
func TestMayastorOracle(t *testing.T) {
	function := fn.New(schema.Load(), systems.All()...)
	for seed := range uint64(150) {
		s := newSmall(seed)
		for repl := 1; repl <= 3; repl++ {
			s.write("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c%d}\nprovisioner: io.openebs.csi-mayastor\nparameters: {repl: %q}\n", repl, fmt.Sprint(repl))
			s.write("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v%d}\nspec: {csi: {driver: io.openebs.csi-mayastor, volumeHandle: h%d}, storageClassName: c%d}\n", repl, repl, repl)
		}
		s.lose()
		answer := s.ask(t, function)
		var with []string
		for _, node := range s.nodes {
			if len(s.pools[node]) > 0 {
				with = append(with, node)
			}
		}
		for repl := 1; repl <= 3; repl++ {
			var states []resilience.State
			for _, nodes := range choices(with, repl) {
				s.replicas(nodes, 0, 0, repl, &states)
			}
			check(t, s, answer.Volumes, fmt.Sprintf("v%d", repl), states)
		}
	}
}

// replicas adds the states of a volume for every choice of a pool on each node.
func (s *small) replicas(nodes []string, healthy, kept, repl int, states *[]resilience.State) {
	if len(nodes) == 0 {
		switch {
		case healthy >= repl:
			*states = append(*states, resilience.Safe)
		case healthy > 0:
			*states = append(*states, resilience.Degraded)
		case kept > 0:
			*states = append(*states, resilience.Stops)
		default:
			*states = append(*states, resilience.Lost)
		}
		return
	}
	node := nodes[0]
	for i, pool := range s.pools[node] {
		switch {
		case s.gone[node], s.lost[fmt.Sprintf("%s-%d", node, i)]:
			s.replicas(nodes[1:], healthy, kept, repl, states)
		case s.down[node], !s.online[pool]:
			s.replicas(nodes[1:], healthy, kept+1, repl, states)
		default:
			s.replicas(nodes[1:], healthy+1, kept+1, repl, states)
		}
	}
}

// TestCephOracle tries every placement group, in any failure domains and on any of their disks, and every choice of nodes for the monitors.
func TestCephOracle(t *testing.T) {
	function := fn.New(schema.Load(), systems.All()...)
	for seed := range uint64(150) {
		s := newSmall(seed)
		s.write("apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: c, namespace: rook}\nspec:\n  mon: {count: 3}\n  storage:\n    nodes:\n%s", s.members())
		domain := []string{"host", "zone", "osd"}[s.random.IntN(3)]
		type layout struct {
			name, spec        string
			want, need, least int
		}
		layouts := []layout{
			{"two", "replicated: {size: 2}", 2, 1, 1}, {"three", "replicated: {size: 3}", 3, 2, 1},
			{"brave", "replicated: {size: 3}, parameters: {min_size: \"1\"}", 3, 1, 1}, {"ec", "erasureCoded: {dataChunks: 2, codingChunks: 1}", 3, 2, 2},
		}
		for _, l := range layouts {
			s.write("apiVersion: ceph.rook.io/v1\nkind: CephBlockPool\nmetadata: {name: %s, namespace: rook}\nspec: {failureDomain: %s, %s}\n", l.name, domain, l.spec)
		}
		s.lose()
		answer := s.ask(t, function)
		in := map[string][]string{} // disks, by failure domain
		var domains []string
		for _, node := range s.nodes {
			for _, disk := range s.osds[node] {
				at := map[string]string{"host": node, "zone": s.zone[node], "osd": disk}[domain]
				if in[at] == nil {
					domains = append(domains, at)
				}
				in[at] = append(in[at], disk)
			}
		}
		var mons []resilience.State
		for _, nodes := range choices(s.nodes, 3) {
			up := 0
			for _, node := range nodes {
				if !s.gone[node] && !s.down[node] {
					up++
				}
			}
			state := resilience.Safe
			if up < 2 {
				state = resilience.Stops
			}
			mons = append(mons, state)
		}
		for _, l := range layouts {
			worst := resilience.Safe
			for _, group := range choices(domains, l.want) {
				worst = resilience.Worse(worst, s.group(group, in, 0, 0, l.want, l.need, l.least))
			}
			var states []resilience.State
			for _, m := range mons {
				states = append(states, resilience.Worse(worst, m))
			}
			check(t, s, answer.Pools, l.name, states)
		}
	}
}

// members are the nodes of a CephCluster, each with one or two disks.
func (s *small) members() string {
	var b strings.Builder
	for _, node := range s.nodes {
		fmt.Fprintf(&b, "    - name: %s\n      devices:\n", node)
		for d := range 1 + s.random.IntN(2) {
			disk := fmt.Sprintf("%s-%d", node, d)
			s.osds[node] = append(s.osds[node], disk)
			fmt.Fprintf(&b, "      - {name: /dev/disk/by-id/ata-%s}\n", disk)
		}
	}
	return b.String()
}

// group is the worst state of a placement group in some failure domains, on any disk of each.
func (s *small) group(domains []string, in map[string][]string, serving, kept, want, need, least int) resilience.State {
	if len(domains) == 0 {
		switch {
		case serving >= want:
			return resilience.Safe
		case serving >= need:
			return resilience.Degraded
		case kept >= least:
			return resilience.Stops
		}
		return resilience.Lost
	}
	worst := resilience.Safe
	for _, disk := range in[domains[0]] {
		node, _, _ := strings.Cut(disk, "-")
		gone := s.gone[node] || s.lost[disk]
		up, data := 0, 0
		if !gone {
			data = 1
		}
		if !gone && !s.down[node] {
			up = 1
		}
		worst = resilience.Worse(worst, s.group(domains[1:], in, serving+up, kept+data, want, need, least))
	}
	return worst
}

// TestMonotony: losing more, or adding, improves no worst state; and equal questions have equal answers.
func TestMonotony(t *testing.T) {
	function := fn.New(schema.Load(), systems.All()...)
	for seed := range uint64(100) {
		s := newSmall(seed)
		s.write("apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: c, namespace: rook}\nspec:\n  mon: {count: 3}\n  storage:\n    nodes:\n%s", s.members())
		s.write("apiVersion: ceph.rook.io/v1\nkind: CephBlockPool\nmetadata: {name: three, namespace: rook}\nspec: {replicated: {size: 3}}\n")
		s.write("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\nprovisioner: io.openebs.csi-mayastor\nparameters: {repl: \"2\"}\n")
		s.write("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {csi: {driver: io.openebs.csi-mayastor, volumeHandle: h}, storageClassName: c}\n")
		s.write("apiVersion: storage.metalk8s.scality.com/v1alpha1\nkind: Volume\nmetadata: {name: raw}\nspec: {nodeName: n1, storageClassName: l, rawBlockDevice: {devicePath: /dev/disk/by-id/ata-n1-0}}\n")
		s.lose()
		before := s.ask(t, function)
		if again := s.ask(t, function); fmt.Sprintf("%+v", again.Summary) != fmt.Sprintf("%+v", before.Summary) {
			t.Error("two answers to one question")
		}
		node := s.nodes[s.random.IntN(len(s.nodes))]
		more := []string{"lose disk/" + node + "-0", "lose disk/" + node + "-1"}
		if !slices.ContainsFunc(s.words, func(w string) bool { return strings.HasSuffix(w, "node/"+node) }) {
			more = append(more, "lose node/"+node, "stop node/"+node, "add 2 nodes --like node/"+node)
		}
		for _, word := range more {
			after := s.ask(t, function, word)
			for _, pair := range [][2][]resilience.Row{{before.Volumes, after.Volumes}, {before.Pools, after.Pools}} {
				for i := range pair[0] {
					if pair[0][i].Worst.WorseThan(pair[1][i].Worst) {
						t.Errorf("%v, then %s: %s was %s at worst, and is %s", s.words, word, pair[0][i].Name, pair[0][i].Worst, pair[1][i].Worst)
					}
				}
			}
		}
	}
}
