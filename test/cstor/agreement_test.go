package cstor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// edits is how many random edits are judged.
const edits = 1000

// TestAgreement has random edits of a CStorPoolCluster judged twice: by the webhook and the
// operators as they are played here, and by the admission review of the product, which
// shares nothing with them. What the review refuses is refused, what it lets pass is done.
func TestAgreement(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	count := edits
	if testing.Short() {
		count /= 5
	}
	for seed := range uint64(count) {
		e := newEdit(t, seed)
		verdict := e.judge(t)
		seen[verdict]++
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, e)
		}
	}
	t.Logf("%v", seen)
	for _, verdict := range []string{"done", "refused", "late", "never done"} {
		if seen[verdict] < count/100 {
			t.Errorf("only %d edits of %d are %s", seen[verdict], count, verdict)
		}
	}
}

// edit is a cluster at rest, with faults, and an edit of its pools.
type edit struct {
	*Cluster
	old, wanted *PoolCluster
	told        []string
	random      *rand.Rand
}

func (e *edit) tell(format string, args ...any) {
	e.told = append(e.told, fmt.Sprintf(format, args...))
}

func (e *edit) String() string {
	var b strings.Builder
	text := func(c *PoolCluster) {
		for _, p := range c.Spec.Pools {
			fmt.Fprintf(&b, "  %s %s %v | %v\n", p.host(), p.Config.DataRAIDGroupType, p.Data, p.Cache)
		}
	}
	b.WriteString("old\n")
	if e.old != nil {
		text(e.old)
	}
	b.WriteString("wanted\n")
	text(e.wanted)
	return b.String() + strings.Join(e.told, "\n")
}

// newEdit makes nodes n1 to n5, of which the last has another hostname, with eight disks
// each; pools on some of them, which run; faults; and an edit.
func newEdit(t *testing.T, seed uint64) *edit {
	e := &edit{Cluster: New(seed), random: rand.New(rand.NewPCG(seed, 1))}
	hosts := []string{"n1", "n2", "n3", "n4", "host-5"}
	for i, host := range hosts {
		node := fmt.Sprintf("n%d", i+1)
		e.AddNode(node, host, nil)
		for d := range 8 {
			e.AddDisk(node, fmt.Sprintf("%s-%d", node, d), int64(100+d/6)<<30)
		}
	}
	e.SetWebhookTimeout([]int{5, 5, 30}[e.random.IntN(3)])
	raid := []string{"mirror", "mirror", "stripe", "raidz"}[e.random.IntN(4)]
	first := &PoolCluster{header: newHeader("cstor.openebs.io/v1", "CStorPoolCluster", Namespace, "prod")}
	for i := range 1 + e.random.IntN(3) {
		node := i + 1
		if e.random.IntN(4) == 0 {
			node = 5
		}
		p := Pool{NodeSelector: map[string]string{labelHostname: hosts[node-1]}}
		p.Config.DataRAIDGroupType = raid
		p.Data = groupsOf(raid, 1+e.random.IntN(2), fmt.Sprintf("n%d", node))
		if e.random.IntN(6) == 0 {
			p.Config.WriteCacheType = "stripe"
			p.Cache = []RAIDGroup{{[]GroupDevice{{fmt.Sprintf("n%d-7", node)}}}}
		}
		if first.Spec.on(p.host()) == nil {
			first.Spec.Pools = append(first.Spec.Pools, p)
		}
	}
	e.Advance(1)
	if e.random.IntN(5) == 0 {
		e.wanted = first
	} else {
		if refused := e.apply(t, first); refused != nil {
			t.Fatal(refused)
		}
		e.Advance(10)
		if e.random.IntN(4) == 0 {
			e.Provision("pvc-1", "prod", 1, "")
			e.Advance(3)
		}
		e.old = e.PoolClusters["prod"]
		copied := clone(*e.old)
		e.wanted = &copied
	}
	for range e.random.IntN(3) {
		e.fault()
	}
	for range 1 + e.random.IntN(2) {
		e.change(hosts)
	}
	return e
}

// groupsOf takes the first disks of a node for RAID groups.
func groupsOf(raid string, count int, node string) []RAIDGroup {
	size := map[string]int{"mirror": 2, "stripe": 2, "raidz": 3}[raid]
	if raid == "stripe" {
		size, count = size*count, 1
	}
	var groups []RAIDGroup
	for g := range count {
		var group RAIDGroup
		for d := range size {
			group.BlockDevices = append(group.BlockDevices, GroupDevice{fmt.Sprintf("%s-%d", node, g*size+d)})
		}
		groups = append(groups, group)
	}
	return groups
}

func (e *edit) apply(t *testing.T, c *PoolCluster) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := e.Engine.Apply([][]byte{text})
	if err != nil {
		t.Fatal(err)
	}
	if len(refused) > 0 {
		return refused[0].Err
	}
	return nil
}

// fault makes something of the cluster unwell, which is seen at once.
func (e *edit) fault() {
	name := e.pickDisk()
	d := e.BlockDevices[name]
	switch e.random.IntN(8) {
	case 0:
		e.tell("%s is Inactive", name)
		d.Status.State = "Inactive"
	case 1:
		e.tell("%s is gone", name)
		delete(e.BlockDevices, name)
	case 2:
		e.tell("%s has a filesystem", name)
		d.Spec.FileSystem = &fileSystem{"ext4"}
	case 3:
		e.tell("%s has no tag", name)
		d.Labels[labelTag] = ""
	case 4:
		e.tell("%s has a tag", name)
		d.Labels[labelTag] = "fast"
	case 5:
		if e.claimOf(name) == nil {
			e.tell("%s is another's", name)
			e.claim(&PoolCluster{header: newHeader("", "", Namespace, "other")}, name, "")
			claim := e.claimOf(name)
			claim.Status.Phase = "Bound"
			d.Spec.ClaimRef, d.Status.ClaimState = &objectReferenceName{claim.Name}, "Claimed"
		}
	case 6:
		e.tell("a node is lost")
		delete(e.Nodes, fmt.Sprintf("n%d", 1+e.random.IntN(5)))
	case 7:
		if claim := e.claimOf(name); claim != nil {
			e.tell("%s replaces another", name)
			claim.Annotations[predecessor] = "another"
		}
	}
}

// pickDisk picks a disk among those that are reported, most often one of the first of a node.
func (e *edit) pickDisk() string {
	name := fmt.Sprintf("n%d-%d", 1+e.random.IntN(5), min(e.random.IntN(8), e.random.IntN(8)))
	if e.BlockDevices[name] == nil {
		return e.pickDisk()
	}
	return name
}

// change edits the pools, mostly in a way that could pass.
func (e *edit) change(hosts []string) {
	spec := &e.wanted.Spec
	p := &spec.Pools[e.random.IntN(len(spec.Pools))]
	node := fmt.Sprintf("n%d", 1+slices.Index(hosts, p.host()))
	free := minus(e.Disks(node), spec.disks())
	raid := p.Config.DataRAIDGroupType
	group := &p.Data[e.random.IntN(len(p.Data))]
	size := len(group.BlockDevices)
	switch e.random.IntN(12) {
	case 0, 1:
		host := hosts[e.random.IntN(len(hosts))]
		added := Pool{NodeSelector: map[string]string{labelHostname: host}}
		added.Config, added.Data = PoolConfig{DataRAIDGroupType: raid}, groupsOf(raid, 1, fmt.Sprintf("n%d", 1+slices.Index(hosts, host)))
		spec.Pools = append(spec.Pools, added)
	case 2:
		at := e.random.IntN(len(spec.Pools))
		spec.Pools = slices.Delete(slices.Clone(spec.Pools), at, at+1)
		if len(spec.Pools) == 0 {
			spec.Pools = []Pool{clone(*p)}
		}
	case 3, 4:
		if len(free) >= 3 {
			if raid == "stripe" {
				group.BlockDevices = append(group.BlockDevices, GroupDevice{free[0]})
			} else {
				var added RAIDGroup
				for _, name := range free[:size] {
					added.BlockDevices = append(added.BlockDevices, GroupDevice{name})
				}
				p.Data = append(p.Data, added)
			}
		}
	case 5, 6, 7:
		if len(free) > 0 {
			group.BlockDevices[e.random.IntN(size)].Name = free[e.random.IntN(len(free))]
		}
	case 8:
		group.BlockDevices[e.random.IntN(size)].Name = e.pickDisk()
	case 9:
		p.Config.Compression = []string{"lz4", "gzip", "best"}[e.random.IntN(3)]
	case 10:
		group.BlockDevices = group.BlockDevices[:size-1]
	case 11:
		p.Config.DataRAIDGroupType = []string{"mirror", "stripe", "raidz", "raid5"}[e.random.IntN(4)]
	}
}

// facts is the cluster as a snapshot has it.
func facts(t *testing.T, c *Cluster) *inventory.Facts {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "dump.yaml", Data: c.Dump()})
	if err != nil {
		t.Fatal(err)
	}
	taken, findings := snapshot.Dump(objects, "", snapshot.Options{Kinds: system.NewKinds(systems.All()...).Read()})
	if taken == nil {
		t.Fatal(findings)
	}
	return inventory.New(taken.Objects())
}

func decode(t *testing.T, c *PoolCluster) *pool.Cluster {
	t.Helper()
	if c == nil {
		return nil
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := krm.Parse(&document.Source{Name: "edit.yaml", Data: text})
	if err != nil {
		t.Fatal(err)
	}
	return pool.DecodeCluster(objects[0])
}

// judge compares the two verdicts, and says which it was.
func (e *edit) judge(t *testing.T) string {
	f := facts(t, e.Cluster)
	problems := admission.NewState(f, pool.LiveOf(f)).Review(decode(t, e.old), decode(t, e.wanted))
	has := func(outcome admission.Outcome) bool {
		return slices.ContainsFunc(problems, func(p admission.Problem) bool { return p.Outcome == outcome })
	}
	for _, p := range problems {
		e.tell("review: %s %s: %s", p.Outcome, p.Rule, p)
	}
	before := clone(e.wanted.Spec)
	err := e.apply(t, e.wanted)
	e.tell("webhook: %v", err)
	switch {
	case errors.Is(err, errLate):
		if !has(admission.Late) && !has(admission.Refused) {
			t.Error("the webhook is late, and the review does not fear it")
		}
		return "late"
	case err != nil:
		if !has(admission.Refused) {
			t.Error("the webhook refuses, and the review does not say so")
		}
		return "refused"
	case has(admission.Refused):
		t.Error("the review refuses, and the webhook lets it pass")
	}
	e.Advance(15)
	done := e.done(before)
	if !done && len(e.Stuck()) > 0 {
		return "stuck" // by finalizers that only the pods of a lost node take: the edit is right
	}
	if doubted := has(admission.Ignored) || has(admission.Broken) || has(admission.Lost) || has(admission.Unknown); !done && !doubted {
		t.Error("the operators do not carry it out, and the review has nothing against it")
	} else if done && doubted {
		return "doubted, and done"
	} else if !done {
		return "never done"
	}
	return "done"
}

// done reports whether the instances are what was applied.
func (e *edit) done(spec PoolClusterSpec) bool {
	instances := e.instancesOf("prod")
	if len(instances) != len(spec.Pools) {
		return false
	}
	for i := range spec.Pools {
		p := &spec.Pools[i]
		at := of(p, instances)
		if at == nil || !same(at.Spec.disks(), p.disks()) || at.Spec.Config != p.Config {
			return false
		}
	}
	return true
}
