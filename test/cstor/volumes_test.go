package cstor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// newVolumes is a cluster of four pools with a volume of some replicas, on the first of them.
func newVolumes(t *testing.T, replicas int) (*edit, *VolumeConfig) {
	e := &edit{Cluster: New(1)}
	c := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	for i := range 4 {
		node := fmt.Sprintf("n%d", i+1)
		e.AddNode(node, "", nil)
		e.AddDisk(node, node+"-0", 100<<30)
		p := Pool{NodeSelector: map[string]string{labelHostname: node}}
		p.Config.DataRAIDGroupType, p.Data = "stripe", []RAIDGroup{{[]GroupDevice{{node + "-0"}}}}
		c.Spec.Pools = append(c.Spec.Pools, p)
	}
	e.Advance(1)
	if err := e.apply(t, c); err != nil {
		t.Fatal(err)
	}
	e.Advance(5)
	e.Provision("db", "prod", replicas, "")
	e.Advance(3)
	return e, e.VolumeConfigs["db"]
}

// scale edits the pools of a volume: "+" adds a free one, "-" takes the first away, a name
// adds that.
func scale(e *edit, steps string) error {
	wanted := clone(*e.VolumeConfigs["db"])
	info := &wanted.Spec.Policy.ReplicaPoolInfo
	for step := range strings.FieldsSeq(steps) {
		switch step {
		case "-":
			*info = (*info)[1:]
		case "+":
			i := slices.IndexFunc(sorted(e.Instances), func(i *Instance) bool { return !slices.Contains(wanted.Spec.pools(), i.Name) })
			*info = append(slices.Clone(*info), poolName{sorted(e.Instances)[i].Name})
		default:
			*info = append(slices.Clone(*info), poolName{step})
		}
	}
	return e.Engine.applyVolume(&wanted)
}

// TestScale: a CStorVolumeConfig that is edited does what was seen of the real operators.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		replicas       int
		edit, refusal  string
		replicasAt10   int
		wrong, explain string
	}{
		{1, "+", "", 2, "", "up by one"},
		{1, "+ +", "", 3, "", "up by many"},
		{3, "-", "", 2, "had 3", "down by one, of which the watch knows no consent"},
		{3, "- -", "Can't perform more than one replica scale down requested scale down count 2", 3, "", "down by many"},
		{2, "+ -", "volume replica migration directly by modifying pool names", 2, "", "a swap"},
		{1, "prod-none", "", 1, "none of its cluster", "a pool that there is not is accepted, and nothing comes"},
		{1, "-", "", 0, "without pools", "an empty list is accepted, and deletes the replica"},
	} {
		t.Run(c.explain, func(t *testing.T) {
			e, _ := newVolumes(t, c.replicas)
			err := scale(e, c.edit)
			if (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("refused: %v", err)
			}
			e.Advance(10)
			if got := len(e.replicasOf("db")); got != c.replicasAt10 {
				t.Errorf("%d replicas, want %d", got, c.replicasAt10)
			}
			if err := e.Watch.Err(); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// TestRebuild: a replica that is added is Recreate, then Rebuilding, and counts when it is
// Healthy; no other edit passes meanwhile.
func TestRebuild(t *testing.T) {
	e, _ := newVolumes(t, 2)
	if err := scale(e, "+"); err != nil {
		t.Fatal(err)
	}
	var phases []string
	for range 8 {
		e.Advance(1)
		for _, r := range e.replicasOf("db") {
			if r.Spec.ReplicaID != "" {
				phases = append(phases, r.Status.Phase)
			}
		}
		if err := scale(e, "-"); len(phases) == 2 && (err == nil || !strings.Contains(err.Error(), "not yet supported")) {
			t.Errorf("while it is %s: %v", phases[1], err)
		}
		if v := e.Volumes["db"]; len(phases) == 2 && (v.Spec.DesiredReplicationFactor != 3 || v.Spec.ReplicationFactor != 2) {
			t.Errorf("factors %+v", v.Spec)
		}
	}
	if got := strings.Join(slices.Compact(phases), " "); !strings.HasPrefix(got, "Recreate Rebuilding Healthy") {
		t.Error(got)
	}
}

// TestLostNode: what is on a lost node looks well, keeps its finalizers, and nothing else is
// done for the cluster while its instance goes.
func TestLostNode(t *testing.T) {
	e, _ := newVolumes(t, 3)
	lost := sorted(e.Instances)[0]
	if len(e.replicasOn(lost.Name)) == 0 {
		lost = sorted(e.Instances)[1]
	}
	if err := e.Lose(lost.selects()); err != nil {
		t.Fatal(err)
	}
	e.Advance(5)
	if r := e.replicasOn(lost.Name)[0]; r.Status.Phase != "Healthy" || lost.Status.Phase != online || e.Watch.Healthy("db") != 2 {
		t.Errorf("%s, %s, %d healthy", r.Status.Phase, lost.Status.Phase, e.Watch.Healthy("db"))
	}
	remove(e.API, e.Replicas, e.replicasOn(lost.Name)[0].Name)
	remove(e.API, e.Instances, lost.Name)
	e.Advance(5)
	stuck := e.Stuck()
	if len(stuck) != 2 {
		t.Errorf("stuck: %v", stuck)
	}
	for _, name := range stuck {
		if err := e.Unfinalize(name); err != nil {
			t.Fatal(err)
		}
	}
	if e.Instances[lost.Name] != nil || len(e.replicasOf("db")) != 2 || e.Watch.Err() != nil {
		t.Errorf("%s%v", e, e.Watch.Err())
	}
}

// TestLetGo: while a replica goes no edit brings it back, and what fails meanwhile is fate; of one
// that goes although another is not healthy is reported by the watch.
func TestLetGo(t *testing.T) {
	for _, c := range []struct {
		explain      string
		breaksBefore bool
		wrong        string
	}{
		{"a disk fails after the edit", false, ""},
		{"disks fail before it, so that too few are healthy", true, "below quorum"},
	} {
		t.Run(c.explain, func(t *testing.T) {
			e, _ := newVolumes(t, 3)
			breaks := func(at int) {
				i := e.Instances[e.VolumeConfigs["db"].Status.PoolInfo[at]]
				if err := e.Befall(func() error { return e.Break(i.Spec.disks()[0], true) }); err != nil {
					t.Fatal(err)
				}
			}
			if err := scale(e, "+"); err != nil {
				t.Fatal(err)
			}
			e.Advance(8)
			if c.breaksBefore {
				breaks(2)
				e.Advance(1)
				breaks(1)
				e.Advance(1)
			}
			if err := scale(e, "-"); err != nil {
				t.Fatal(err)
			}
			if err := e.Pause(VolumeOperator, 3); err != nil {
				t.Fatal(err)
			}
			if !c.breaksBefore {
				breaks(2)
			}
			e.Advance(10)
			if err := e.Watch.Err(); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// TestReplacedDiskStays: the disk that another takes the place of is in the pool until the
// resilver is over, so that one more may fail.
func TestReplacedDiskStays(t *testing.T) {
	e := &edit{Cluster: New(1)}
	e.AddNode("n1", "", nil)
	for _, name := range []string{"a", "b", "c"} {
		e.AddDisk("n1", name, 100<<30)
	}
	c := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	p := Pool{NodeSelector: map[string]string{labelHostname: "n1"}}
	p.Config.DataRAIDGroupType, p.Data = "mirror", []RAIDGroup{{[]GroupDevice{{"a"}, {"b"}}}}
	c.Spec.Pools = []Pool{p}
	e.Advance(1)
	if err := e.apply(t, c); err != nil {
		t.Fatal(err)
	}
	e.Advance(5)
	replaced := clone(*c)
	replaced.Spec.Pools[0].Data[0].BlockDevices[1].Name = "c"
	if err := e.apply(t, &replaced); err != nil {
		t.Fatal(err)
	}
	e.Advance(3)
	i := sorted(e.Instances)[0]
	if got := i.Status.Phase; got != degraded || i.Spec.disks()[1] != "c" {
		t.Errorf("%s while %v is resilvered", got, i.Spec.disks())
	}
	for _, step := range []struct {
		name  string
		phase string
	}{{"a", degraded}, {"b", offline}} {
		if err := e.Break(step.name, true); err != nil {
			t.Fatal(err)
		}
		if got := e.pools.phase(i); got != step.phase {
			t.Errorf("without %s the pool is %s", step.name, got)
		}
	}
}

// TestBelowQuorum: a request to remove a replica of a volume below quorum waits, and the webhook does
// not let it be reverted; once the node is back, it deletes a healthy replica. The renderer never asks
// for that.
func TestBelowQuorum(t *testing.T) {
	e, c := newVolumes(t, 3)
	lost := func(at int) *Instance { return e.Instances[c.Status.PoolInfo[at]] }
	first, second := lost(0), lost(1)
	for _, i := range []*Instance{first, second} {
		if err := e.Lose(i.selects()); err != nil {
			t.Fatal(err)
		}
	}
	e.Advance(1)
	if err := scale(e, "-"); err != nil {
		t.Fatal(err)
	}
	if err := e.Watch.Err(); err == nil || !strings.Contains(err.Error(), "below quorum") {
		t.Errorf("watch: %v", err)
	}
	e.Advance(10)
	if got := len(e.replicasOf("db")); got != 3 || e.Volumes["db"].Status.Phase != "Offline" {
		t.Errorf("%d replicas, the volume is %s", got, e.Volumes["db"].Status.Phase)
	}
	if err := scale(e, first.Name); err == nil || !strings.Contains(err.Error(), "already in progress") {
		t.Errorf("a revert: %v", err)
	}
	if err := e.Return(first.selects()); err != nil {
		t.Fatal(err)
	}
	e.Advance(10)
	if got := len(e.replicasOf("db")); got != 2 || e.Watch.Healthy("db") != 1 {
		t.Errorf("%d replicas, %d healthy", got, e.Watch.Healthy("db"))
	}
}

// TestStray: a list under way with a pool that is not there can be corrected by its names alone.
func TestStray(t *testing.T) {
	e, _ := newVolumes(t, 2)
	if err := scale(e, "prod-none"); err != nil {
		t.Fatal(err)
	}
	e.Advance(5)
	wanted := clone(*e.VolumeConfigs["db"])
	free := slices.IndexFunc(sorted(e.Instances), func(i *Instance) bool { return !slices.Contains(wanted.Spec.pools(), i.Name) })
	wanted.Spec.Policy.ReplicaPoolInfo = wanted.Spec.Policy.ReplicaPoolInfo[:2]
	if err := e.Engine.applyVolume(&wanted); err == nil {
		t.Error("a revert is accepted")
	}
	wanted.Spec.Policy.ReplicaPoolInfo = append(wanted.Spec.Policy.ReplicaPoolInfo, poolName{sorted(e.Instances)[free].Name})
	if err := e.Engine.applyVolume(&wanted); err != nil {
		t.Error(err)
	}
	if e.Advance(10); len(e.replicasOf("db")) != 3 || e.Watch.Healthy("db") != 3 {
		t.Error(e)
	}
}
