package cstor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/tool"
)

var losses = flag.Int("losses", tool.Share(500), "how many random clusters TestLosses lets lose something")

// TestLosses has random clusters lose nodes and disks twice: as what-if judges it from the snapshot of before, and as the operators
// and the hardware show it that are played here.
func TestLosses(t *testing.T) {
	t.Parallel()
	count := *losses
	function := fn.New(schema.Load(), systems.All()...)
	seen := map[resilience.State]int{}
	for seed := range uint64(count) {
		l := newLoss(t, seed)
		l.judge(t, function, seen)
		if t.Failed() {
			t.Fatalf("seed %d: %s\n%s", seed, strings.Join(l.told, "\n"), l.Cluster)
		}
	}
	t.Logf("%v", seen)
	for _, s := range []resilience.State{resilience.Safe, resilience.Degraded, resilience.Stops, resilience.Lost} {
		if seen[s] < count/5 {
			t.Errorf("only %d verdicts are %s", seen[s], s)
		}
	}
}

// loss is a cluster with volumes and faults, and what it loses.
type loss struct {
	*edit
	down map[string]bool // nodes that are down for now
}

// newLoss makes up to six nodes in three zones, with a pool on each, volumes, and faults.
func newLoss(t *testing.T, seed uint64) *loss {
	l := &loss{edit: &edit{Cluster: New(seed), random: rand.New(rand.NewPCG(seed, 2))}, down: map[string]bool{}}
	raid := []string{"mirror", "stripe", "raidz", "mirror"}[l.random.IntN(4)]
	c := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	nodes := 2 + l.random.IntN(5)
	l.SetWebhookTimeout(30)
	for i := range nodes {
		node := fmt.Sprintf("n%d", i+1)
		l.AddNode(node, "", map[string]string{"topology.kubernetes.io/zone": string(rune('a' + i%3))})
		for d := range 7 {
			l.AddDisk(node, fmt.Sprintf("%s-%d", node, d), 100<<30)
		}
		p := Pool{NodeSelector: map[string]string{labelHostname: node}}
		p.Config.DataRAIDGroupType = raid
		p.Data = groupsOf(raid, 1+l.random.IntN(2), node)
		c.Spec.Pools = append(c.Spec.Pools, p)
	}
	l.Advance(1)
	if err := l.apply(t, c); err != nil {
		t.Fatal(err)
	}
	l.Advance(8)
	for i := range 1 + l.random.IntN(6) {
		l.Provision(fmt.Sprintf("pvc-%d", i), "prod", 1+l.random.IntN(min(5, nodes)), "")
	}
	l.Advance(4)
	for range l.random.IntN(4) {
		l.befallen(t)
	}
	return l
}

// befallen is a fault of before, and some minutes.
func (l *loss) befallen(t *testing.T) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	node := l.Machines()[l.random.IntN(len(l.Machines()))]
	disk := fmt.Sprintf("%s-%d", node, l.random.IntN(4))
	switch l.random.IntN(6) {
	case 0:
		l.tell("node %s crashes", node)
		must(l.Crash(node))
		l.down[node] = true
	case 1:
		if l.down[node] {
			l.tell("node %s is back", node)
			must(l.Return(node))
			delete(l.down, node)
		}
	case 2:
		if !l.down[node] && l.disks[disk] != nil {
			l.tell("disk %s breaks", disk)
			must(l.Break(disk, true))
		}
	case 3:
		if !l.down[node] && l.disks[disk] != nil {
			l.tell("disk %s is pulled", disk)
			must(l.Pull(disk))
		}
	case 4:
		name := fmt.Sprintf("pvc-%d", l.random.IntN(4))
		if v := l.VolumeConfigs[name]; v != nil && v.Status.Phase == "Bound" {
			for _, i := range sorted(l.Instances) {
				if l.Replicas[name+"-"+i.Name] == nil {
					l.tell("%s gets a replica on %s", name, i.Name)
					wanted := clone(*v)
					wanted.Spec.Policy.ReplicaPoolInfo = append(wanted.Spec.Policy.ReplicaPoolInfo, poolName{i.Name})
					_ = l.Engine.applyVolume(&wanted) // which may be refused
					break
				}
			}
		}
	case 5:
		l.replace(t, node)
	}
	l.Advance(l.random.IntN(6))
	l.Advance(1)
}

// replace asks that the last disk of a node takes the place of one of a group.
func (l *loss) replace(t *testing.T, node string) {
	wanted := clone(*l.PoolClusters["prod"])
	for i := range wanted.Spec.Pools {
		p := &wanted.Spec.Pools[i]
		if p.host() == node && p.Config.DataRAIDGroupType != "stripe" {
			at := l.random.IntN(len(p.Data[0].BlockDevices))
			l.tell("%s takes the place of %s", node+"-6", p.Data[0].BlockDevices[at].Name)
			p.Data[0].BlockDevices[at].Name = node + "-6"
			if err := l.apply(t, &wanted); err != nil {
				l.tell("refused: %v", err)
			}
			return
		}
	}
}

// changes chooses what is lost or stopped, as words of what-if, and how it is done to the hardware.
func (l *loss) changes() (words []string, act func() error) {
	var acts []func() error
	struck := map[string]bool{}
	for range 1 + l.random.IntN(3) {
		node := l.Machines()[l.random.IntN(len(l.Machines()))]
		disk := fmt.Sprintf("%s-%d", node, l.random.IntN(4))
		switch l.random.IntN(5) {
		case 0, 1:
			if !struck[node] {
				words = append(words, "lose node/"+node)
				acts = append(acts, func() error { delete(l.down, node); return l.Lose(node) })
			}
			struck[node] = true
		case 2:
			if !struck[node] {
				words = append(words, "stop node/"+node)
				acts = append(acts, func() error { l.down[node] = true; return l.Crash(node) })
			}
			struck[node] = true
		default:
			if l.BlockDevices[disk] != nil && l.disks[disk] != nil {
				words = append(words, "lose disk/"+disk)
				acts = append(acts, func() error { return l.Break(disk, true) })
			}
		}
	}
	return words, func() error {
		for _, act := range acts {
			if err := act(); err != nil {
				return err
			}
		}
		return nil
	}
}

// judge compares the verdicts of what-if with what the operators and the hardware show.
func (l *loss) judge(t *testing.T, function *fn.Function, seen map[resilience.State]int) {
	words, act := l.changes()
	l.tell("%v", words)
	changes, err := resilience.ParseChanges(words)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := krm.Parse(&document.Source{Name: "dump.yaml", Data: l.Dump()})
	if err != nil {
		t.Fatal(err)
	}
	taken, findings := snapshot.Dump(objects, "", snapshot.Options{Kinds: function.Kinds().Read()})
	if taken == nil {
		t.Fatal(findings)
	}
	answer, err := function.WhatIf(fn.Question{Facts: taken.Objects(), Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	was := l.shown()
	if err := act(); err != nil {
		t.Fatal(err)
	}
	now := l.shown()
	for _, rows := range [][]resilience.Row{answer.Volumes, answer.Pools} {
		for _, r := range rows {
			if r.Before != was[r.Name] || r.After != now[r.Name] || r.Worst != r.After {
				t.Errorf("%s: what-if says %s, then %s (worst %s); it was %s, and is %s", r.Name, r.Before, r.After, r.Worst, was[r.Name], now[r.Name])
			}
			seen[r.After]++
		}
	}
	if got := len(answer.Volumes) + len(answer.Pools); got != len(now) {
		t.Errorf("what-if judges %d volumes and pools of %d", got, len(now))
	}
}

// shown is the state of each volume and pool, as the operators and the hardware show it. What is lost shows once every node that is
// only down is back.
func (l *loss) shown() map[string]resilience.State {
	states := map[string]resilience.State{}
	survives := map[string]bool{} // pools
	for node := range l.down {
		l.machines[node].up = true
	}
	for _, i := range l.Instances {
		survives[i.Name] = l.pools.phase(i) != offline
	}
	for node := range l.down {
		l.machines[node].up = false
	}
	for _, i := range l.Instances {
		switch phase := l.pools.phase(i); {
		case !survives[i.Name]:
			states[i.Name] = resilience.Lost
		case phase == offline, !l.runs(i.selects()):
			states[i.Name] = resilience.Stops
		case phase == degraded:
			states[i.Name] = resilience.Degraded
		default:
			states[i.Name] = resilience.Safe
		}
	}
	for _, v := range l.Volumes {
		healthy, connected, kept := 0, 0, 0
		for _, r := range l.replicasOf(v.Name) {
			if r.Status.Phase == "Recreate" || !survives[r.instance()] {
				continue // it has no data, or no more
			}
			kept++
			if l.pools.healthy(r) {
				healthy++
			}
			if i := l.Instances[r.instance()]; r.Status.Phase != "Offline" && l.runs(i.selects()) && l.pools.phase(i) != offline {
				connected++
			}
		}
		switch {
		case kept == 0:
			states[v.Name] = resilience.Lost
		case connected < v.Spec.ConsistencyFactor:
			states[v.Name] = resilience.Stops
		case healthy < v.Spec.ReplicationFactor:
			states[v.Name] = resilience.Degraded
		default:
			states[v.Name] = resilience.Safe
		}
	}
	return states
}
