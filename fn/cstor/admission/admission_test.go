package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/expected"
)

// world has nodes n1 to n3 and h4, whose name is not its hostname label; on each the
// disks a to h of it (a1, b1, ...), and some that no pool can use.
func world() string {
	var b strings.Builder
	for i, node := range []string{"n1", "n2", "n3", "node-4"} {
		host := node
		if node == "node-4" {
			host = "h4"
		}
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}}\n---\n", node, host)
		for _, disk := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "inactive", "ext", "zfs", "tagged", "untagged", "taken", "small"} {
			spec, labels, state, size := "", "", "Active", 1000
			switch disk {
			case "inactive":
				state = "Inactive"
			case "ext":
				spec = ", filesystem: {fsType: ext4}"
			case "zfs":
				spec = ", filesystem: {fsType: zfs_member}"
			case "tagged":
				labels = ", openebs.io/block-device-tag: fast"
			case "untagged":
				labels = `, openebs.io/block-device-tag: ""`
			case "small":
				size = 999
			case "taken":
				fmt.Fprintf(&b, "%s---\n", claim("taken"+fmt.Sprint(i+1), "other", ""))
			}
			fmt.Fprintf(&b, "{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: %s%d, namespace: openebs, labels: {kubernetes.io/hostname: %s%s}}, spec: {capacity: {storage: %d}%s}, status: {state: %s, claimState: Unclaimed}}\n---\n", disk, i+1, host, labels, size, spec, state)
		}
	}
	b.WriteString("{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: away, namespace: kube-system, labels: {kubernetes.io/hostname: n1}}, status: {state: Active}}\n---\n")
	return b.String()
}

func claim(disk, cluster, predecessor string) string {
	annotations := ""
	if predecessor != "" {
		annotations = ", annotations: {openebs.io/bd-predecessor: " + predecessor + "}"
	}
	return fmt.Sprintf("{apiVersion: openebs.io/v1alpha1, kind: BlockDeviceClaim, metadata: {name: bdc-%s, namespace: openebs, labels: {openebs.io/cstor-pool-cluster: %s}%s}, spec: {blockDeviceName: %s}}\n", disk, cluster, annotations, disk)
}

func instance(name, host string, disks ...string) string {
	list := make([]string, len(disks))
	for i, disk := range disks {
		list[i] = "{blockDeviceName: " + disk + "}"
	}
	return fmt.Sprintf("{apiVersion: cstor.openebs.io/v1, kind: CStorPoolInstance, metadata: {name: %s, namespace: openebs, labels: {kubernetes.io/hostname: %s, openebs.io/cstor-pool-cluster: prod}}, spec: {dataRaidGroups: [{blockDevices: [%s]}]}}\n---\n",
		name, host, strings.Join(list, ", "))
}

func replica(instance string) string {
	return "{apiVersion: cstor.openebs.io/v1, kind: CStorVolumeReplica, metadata: {name: pvc-1-" + instance + ", namespace: openebs, labels: {cstorpoolinstance.openebs.io/name: " + instance + "}}}\n---\n"
}

func none(plural string) string {
	return "{apiVersion: poolwright.io/v1alpha1, kind: Inventory, metadata: {name: " + plural + "}, items: []}\n---\n"
}

func webhook(seconds int) string {
	return fmt.Sprintf("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: openebs-cstor-validation-webhook}, webhooks: [{name: admission-webhook.cstor.openebs.io, timeoutSeconds: %d}]}\n---\n", seconds)
}

func newState(t testing.TB, facts string) State {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(facts)})
	if err != nil {
		t.Fatal(err)
	}
	f := inventory.New(objects)
	return NewState(f, pool.LiveOf(f))
}

// cluster reads pools in short: "n1 mirror a1,b1 c1,d1 | stripe e1; ..." is a pool on n1
// with two RAID groups and a write cache; "" is no object.
func cluster(short string) *pool.Cluster {
	if short == "" {
		return nil
	}
	c := &pool.Cluster{Namespace: "openebs", Name: "prod"}
	groups := func(fields []string) pool.Groups {
		var groups pool.Groups
		for _, group := range fields {
			if group == "-" {
				groups = append(groups, pool.Group{})
				continue
			}
			groups = append(groups, strings.Split(group, ","))
		}
		return groups
	}
	for p := range strings.SplitSeq(short, ";") {
		main, cached, _ := strings.Cut(p, "|")
		f := strings.Fields(main)
		if len(f) == 0 {
			continue
		}
		added := &pool.Pool{Hostname: strings.Trim(f[0], "'"), Data: groups(f[2:]), Config: pool.Config{RAIDType: strings.Trim(f[1], "'")}}
		if c := strings.Fields(cached); len(c) > 0 {
			added.CacheType, added.Cache = strings.Trim(c[0], "'"), groups(c[1:])
		}
		c.Pools = append(c.Pools, added)
	}
	return c
}

// said is the problems, each as outcome, rule, words and remedy.
func said(problems []Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = string(p.Outcome) + " " + p.Rule + ": " + p.Advice()
	}
	return strings.Join(lines, "\n")
}

// Each rule about a new CStorPoolCluster.
func TestCreate(t *testing.T) {
	state := newState(t, world())
	for _, c := range []struct {
		pools string
		want  expected.Text
	}{
		{"n1 stripe a1", ""},
		{"n1 stripe a1,b1,c1,d1,e1", ""},
		{"n1 mirror a1,b1 c1,d1; n2 mirror a2,b2", ""},
		{"n1 mirror a1,b1,c1,d1", ""},
		{"n1 raidz a1,b1,c1", ""},
		{"n1 raidz a1,b1,c1,d1,e1", ""},
		{"n1 raidz2 a1,b1,c1,d1,e1,f1", ""},
		{"n1 stripe a1 | stripe b1,c1", ""},
		{"n1 mirror a1,b1 | mirror c1,d1 e1,f1", ""},
		{"h4 mirror a4,b4", ""},
		{";", "refused no-pools: it has no pools"},
		{"n1 stripe a1,a1", "refused disk-twice: block device a1 is in two places"},
		{"n1 stripe a1; n2 stripe a1", "refused disk-twice: block device a1 is in two places"},
		{"n1 stripe a1 | stripe a1", "refused disk-twice: block device a1 is in two places"},
		{"'' stripe a1", "refused no-selector: a pool has no node selector"},
		{"n9 stripe nope", "refused node-count: pool on n9: its node selector finds 0 nodes, and must find one"},
		{"n1 stripe a1; n1 stripe b1", "refused host-twice: host n1 has two pools"},
		{"n1 '' a1", "refused raid-group: pool on n1: a RAID type is missing"},
		{"n1 raid5 a1,b1,c1", `refused raid-group: pool on n1: "raid5" is not a RAID type of cStor`},
		{"n1 stripe", "refused raid-group: pool on n1: it has no RAID group"},
		{"n1 stripe a1 b1", "refused raid-group: pool on n1: a stripe has exactly one RAID group"},
		{"n1 stripe -", "refused raid-group: pool on n1: 0 disks do not make a stripe group"},
		{"n1 mirror a1", "refused raid-group: pool on n1: 1 disk does not make a mirror group"},
		{"n1 mirror a1,b1,c1", "3 disks do not make a mirror group"},
		{"n1 raidz a1,b1", "2 disks do not make a raidz group"},
		{"n1 raidz a1,b1,c1,d1", "4 disks do not make a raidz group"},
		{"n1 raidz a1,b1,c1,d1,e1,f1", "6 disks do not make a raidz group"},
		{"n1 raidz2 a1,b1,c1,d1", "4 disks do not make a raidz2 group"},
		{"n1 raidz2 a1,b1,c1,d1,e1", "5 disks do not make a raidz2 group"},
		{"n1 stripe a1 | '' b1", "refused write-cache-group: pool on n1: write cache: a RAID type is missing"},
		{"n1 stripe a1 | raid5 b1", `refused write-cache-group: pool on n1: write cache: "raid5"`},
		{"n1 stripe a1 | mirror b1", "refused write-cache-group: pool on n1: write cache: 1 disk does not make a mirror group"},
		{"n1 stripe a1 | stripe b1 c1", "refused write-cache-group: pool on n1: write cache: a stripe has exactly one RAID group"},
		{"n1 stripe a1 | stripe", "broken write-cache-type: pool on n1: it has a writeCacheGroupType and no write cache; take writeCacheGroupType out"},
		{"n1 stripe nope", "refused disk-missing: block device nope of the pool on n1 is not among the block devices"},
		{"n1 stripe a2", "refused disk-elsewhere: block device a2 of the pool on n1 is on host n2, not n1"},
		{"n1 stripe inactive1", "refused disk-inactive: block device inactive1 of the pool on n1 is Inactive, not Active"},
		{"n1 stripe ext1", "refused disk-filesystem: block device ext1 of the pool on n1 has a filesystem: ext4"},
		{"n1 stripe untagged1", "refused disk-tagged: block device untagged1 of the pool on n1 has a block device tag without a value"},
		{"n1 stripe taken1", "refused disk-claimed: block device taken1 of the pool on n1 is claimed by other"},
		{"n1 stripe zfs1", "lost disk-zfs: block device zfs1 of the pool on n1 is of another pool, which it may still hold: it has a filesystem: zfs_member"},
		{"n1 stripe tagged1", `ignored disk-tag: block device tagged1 of the pool on n1 is tagged "fast", and its claim is never answered; allow the tag with the annotation openebs.io/allowed-bd-tags`},
		{"n1 stripe away", "ignored disk-namespace: block device away of the pool on n1 is in namespace kube-system, where the operators do not look for it"},
	} {
		got := state.Review(nil, cluster(c.pools))
		if !c.want.In(t, said(got)) || (c.want == "") != (len(got) == 0) {
			t.Errorf("%s: %s", c.pools, said(got))
		}
	}
	tags := cluster("n1 stripe tagged1")
	tags.AllowedTags = "slow,fast"
	if got := state.Review(nil, tags); len(got) > 0 {
		t.Errorf("an allowed tag: %s", said(got))
	}
	tags.AllowedTags = "slow, fast" // the operator does not trim
	if got := state.Review(nil, tags); len(got) == 0 {
		t.Error("a tag with a space")
	}
	squeezed := cluster("n1 stripe a1")
	squeezed.Pools[0].Compression = "zstd"
	const refused expected.Text = `refused compression: pool on n1: "zstd" is not a compression of cStor`
	if got := said(state.Review(nil, squeezed)); refused.In(t, got) && len(got) > len(refused) {
		t.Error(got)
	}
}

// Each rule about a change of one (sections 3 and 7).
func TestUpdate(t *testing.T) {
	live := instance("prod-1", "n1", "a1", "b1") + instance("prod-2", "n2", "a2", "b2") + none("cstorvolumereplicas")
	for _, c := range []struct {
		name, facts, old, wanted string
		want                     expected.Text
	}{
		{"nothing", "", "n1 mirror a1,b1", "n1 mirror a1,b1", ""},
		{"nothing, with a dead disk", "", "n1 mirror a1,inactive1", "n1 mirror inactive1,a1", ""},
		{"nothing, with a dead node", "", "n9 mirror a9,b9", "n9 mirror a9,b9", ""},
		{"disks in another order", "", "n1 mirror a1,b1", "n1 mirror b1,a1", ""},
		{"groups in another order", "", "n1 mirror a1,b1 c1,d1", "n1 mirror c1,d1 a1,b1", ""},
		{"pools in another order", "", "n1 mirror a1,b1; n2 mirror a2,b2", "n2 mirror a2,b2; n1 mirror a1,b1", ""},
		{"a pool more", live, "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1; n2 mirror a2,b2; n3 mirror a3,b3", ""},
		{"a group more", "", "n1 mirror a1,b1", "n1 mirror a1,b1 c1,d1", ""},
		{"a stripe grows", "", "n1 stripe a1", "n1 stripe a1,b1", ""},
		{"a disk replaced", "", "n1 mirror a1,b1", "n1 mirror a1,c1", ""},
		{"a disk of each group replaced", "", "n1 mirror a1,b1 c1,d1", "n1 mirror a1,e1 c1,f1", ""},
		{"a dead disk replaced", "", "n1 mirror a1,inactive1", "n1 mirror a1,c1", ""},

		{"another RAID type", "", "n1 mirror a1,b1", "n1 stripe a1,b1", "refused raid-type: pool on n1: its RAID type changes from mirror to stripe"},
		{"a group less", "", "n1 mirror a1,b1 c1,d1", "n1 mirror a1,b1", "refused group-gone: pool on n1: the RAID group of c1 is gone"},
		{"both disks of a mirror", "", "n1 mirror a1,b1", "n1 mirror c1,d1", "refused group-gone: pool on n1: the RAID group of a1 is gone"},
		{"a stripe shrinks", "", "n1 stripe a1,b1", "n1 stripe a1", "refused stripe-disk: pool on n1: a disk of a stripe cannot be taken out or replaced"},
		{"a disk of a stripe replaced", "", "n1 stripe a1,b1", "n1 stripe a1,c1", "refused stripe-disk: pool on n1"},
		{"a group shrinks", "", "n1 raidz a1,b1,c1,d1,e1", "n1 raidz a1,b1,c1", "refused group-size: pool on n1: a RAID group changes its size"},
		{"a group widens", "", "n1 mirror a1,b1", "n1 mirror a1,b1,c1,d1", "refused group-size: pool on n1"},
		{"a pool twice", "", "n1 mirror a1,b1", "n1 mirror a1,b1; n1 mirror a1,b1", "refused disk-twice: block device a1"},
		{"a disk in a second group", "", "n1 mirror a1,b1", "n1 mirror a1,b1 b1,c1", "refused disk-twice: block device b1"},
		{"a disk twice in a group", "", "n1 mirror a1,b1", "n1 mirror a1,a1", "refused group-size: pool on n1"},
		{"two disks of a group", "", "n1 raidz a1,b1,c1", "n1 raidz a1,d1,e1", "refused replaced-twice: pool on n1: more than one disk of a RAID group is replaced at once"},

		{"with a smaller one", "", "n1 mirror a1,b1", "n1 mirror a1,small1", "refused replacement-smaller: block device small1 of the pool on n1 cannot take the place of b1: it is smaller, 999 and not 1000; take one that is as large"},
		{"with a tagged one", "", "n1 mirror a1,b1", "n1 mirror a1,tagged1", `ignored disk-tag: block device tagged1 of the pool on n1 is tagged "fast"`},
		{"with one of an empty tag", "", "n1 mirror a1,b1", "n1 mirror a1,untagged1", "refused disk-tagged: block device untagged1"},
		{"a second in a group", claim("b1", "prod", "d1"), "n1 mirror a1,b1", "n1 mirror c1,b1", "refused replacement-under-way: block device c1 of the pool on n1 cannot take the place of a1: a replacement in its RAID group is under way, which the claim of b1 shows"},
		{"the old one put back", claim("b1", "prod", "c1"), "n1 mirror a1,b1", "n1 mirror a1,c1", "refused replacement-under-way: block device c1 of the pool on n1 cannot take the place of b1"},
		{"the same again, after it timed out", claim("c1", "prod", "b1"), "n1 mirror a1,b1", "n1 mirror a1,c1", ""},
		{"one in another group while one is under way", claim("b1", "prod", "e1"), "n1 mirror a1,b1 c1,d1", "n1 mirror a1,b1 c1,f1", ""},
		{"one whose BlockDevice is gone", "", "n1 mirror a1,gone", "n1 mirror a1,c1", "refused replacement-unknown: block device c1 of the pool on n1 cannot take the place of gone: that is gone, and the webhook cannot compare their sizes; bring the BlockDevice back"},
		{"disks that swap groups", "", "n1 mirror a1,b1 c1,d1", "n1 mirror a1,c1 b1,d1", "refused replacement-in-use: block device c1 of the pool on n1 cannot take the place of b1: it is in the cluster already"},
		{"where the hostname differs", "", "h4 mirror a4,b4", "h4 mirror a4,c4", "ignored replacement-hostname: block device c4 of the pool on h4 cannot take the place of b4: the hostname label of the node is not its name, so that the new disk is never claimed, and the operator waits for that for ever; give the node its own name as hostname label"},
		{"two where the hostname differs", "", "h4 raidz a4,b4,c4", "h4 raidz a4,d4,e4", "broken replaced-twice: pool on h4"},
		{"another RAID type where the hostname differs", "", "h4 mirror a4,b4", "h4 stripe a4,b4", "broken raid-type: pool on h4: its RAID type changes from mirror to stripe, and the operator would list every disk twice"},
		{"a group less where the hostname differs", "", "h4 mirror a4,b4 c4,d4", "h4 mirror a4,b4", "broken group-gone: pool on h4"},

		{"a cache more", "", "n1 mirror a1,b1", "n1 mirror a1,b1 | stripe c1", "ignored write-cache: pool on n1: its write cache stays as it is"},
		{"a group of a cache more", "", "n1 mirror a1,b1 | mirror c1,d1", "n1 mirror a1,b1 | mirror c1,d1 e1,f1", "ignored write-cache: pool on n1: its write cache stays as it is"},
		{"a disk of a cache more", "", "n1 mirror a1,b1 | stripe c1", "n1 mirror a1,b1 | stripe c1,d1", "ignored write-cache: pool on n1"},
		{"a disk of a cache replaced", "", "n1 mirror a1,b1 | mirror c1,d1", "n1 mirror a1,b1 | mirror c1,e1", "ignored write-cache: pool on n1"},
		{"a cache less", "", "n1 mirror a1,b1 | stripe c1", "n1 mirror a1,b1", "refused raid-type: pool on n1: the RAID type of its write cache changes from stripe to none"},
		{"a group of a cache less", "", "n1 mirror a1,b1 | mirror c1,d1 e1,f1", "n1 mirror a1,b1 | mirror c1,d1", "refused group-gone: pool on n1: write cache: the RAID group of e1 is gone"},
		{"both disks of a mirrored cache", "", "n1 mirror a1,b1 | mirror c1,d1", "n1 mirror a1,b1 | mirror e1,f1", "refused group-gone: pool on n1: write cache: the RAID group of c1 is gone"},
		{"a disk of a striped cache replaced", "", "n1 mirror a1,b1 | stripe c1", "n1 mirror a1,b1 | stripe d1", "refused group-gone: pool on n1: write cache: the RAID group of c1 is gone"},
		{"a disk of a striped cache less", "", "n1 mirror a1,b1 | stripe c1,d1", "n1 mirror a1,b1 | stripe c1", "refused stripe-disk: pool on n1: write cache: a disk of a stripe cannot be taken out or replaced"},
		{"another type of cache", "", "n1 mirror a1,b1 | stripe c1,d1", "n1 mirror a1,b1 | mirror c1,d1", "refused raid-type: pool on n1: the RAID type of its write cache changes from stripe to mirror"},
		{"a cache less where the hostname differs", "", "h4 mirror a4,b4 | stripe c4", "h4 mirror a4,b4", "ignored raid-type: pool on h4: the RAID type of its write cache changes from stripe to none"},
		{"a stripe for a cache of none", "", "n1 mirror a1,b1 | stripe", "n1 mirror a1,b1 c1,d1 | stripe", "refused write-cache-type: pool on n1: it has a writeCacheGroupType and no write cache, on which the webhook fails with every change; take writeCacheGroupType out"},

		{"growth beside a dead disk", "", "n1 mirror a1,inactive1; n2 mirror a2,b2", "n1 mirror a1,inactive1; n2 mirror a2,b2 c2,d2", "refused disk-inactive: block device inactive1 of the pool on n1 is Inactive, not Active"},
		{"growth beside a lost disk", "", "n1 mirror a1,gone; n2 mirror a2,b2", "n1 mirror a1,gone; n2 mirror a2,b2 c2,d2", "refused disk-missing: block device gone of the pool on n1 is gone; until it is back, or its pool is released, every other change is refused"},
		{"growth beside a disk that was moved", "", "n1 mirror a1,b2", "n1 mirror a1,b2 c1,d1", "refused disk-elsewhere: block device b2 of the pool on n1 is on host n2, not n1; put the disk back, or move the pool with all its disks"},
		{"a pool more beside a lost node", "", "n9 mirror a1,b1", "n9 mirror a1,b1; n2 mirror a2,b2", "refused node-gone: pool on n9: its node selector finds 0 nodes, and must find one; until the node is back, or the pool is released, every other change is refused"},
		{"the pool of a lost node goes", instance("prod-1", "n1") + instance("prod-9", "n9") + none("cstorvolumereplicas"), "n1 mirror a1,b1; n9 mirror a9,b9", "n1 mirror a1,b1", ""},

		{"a pool less", live, "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", ""},
		{"the last pool", live, "n1 mirror a1,b1", ";", "refused no-pools: it has no pools"},
		{"a pool less, with replicas", live + replica("prod-2"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", "refused pool-in-use: pool on n2: it cannot go: CStorPoolInstance prod-2 holds 1 volume replica; move what it holds to other pools first"},
		{"a pool less, with no instance yet", instance("prod-1", "n1"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", "refused no-instance: pool on n2: it cannot go yet: it has no CStorPoolInstance, and the webhook fails on that; wait for the instance, refresh the inventory, render again"},
		{"a pool less, with an instance of another label", instance("prod-1", "n1", "a1") + instance("prod-2", "n3", "a2"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", "refused instance-elsewhere: pool on n2: it cannot go: the webhook fails, since CStorPoolInstance prod-2 has the hostname label n3; set it to the host of the pool first: kubectl label cspi -n openebs prod-2 kubernetes.io/hostname=n2 --overwrite"},
		{"a pool less, instances unknown", "", "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", "unknown replicas-unknown: pool on n2"},
		{"a pool less, replicas unknown", instance("prod-1", "n1") + instance("prod-2", "n2"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", "unknown replicas-unknown: pool on n2: it is removed, and the inventory does not show whether it holds volume replicas; refresh it with poolwright inventory, and render again before this is applied"},
		{"a pool less, nothing lives", none("cstorpoolinstances"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", ""},
		{"one goes, one comes", live, "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1; n3 mirror a3,b3", "ignored two-changes: the pool on n2 goes and the pool on n3 comes in one edit; apply the removal, wait until its CStorPoolInstance is gone, then add"},
		{"one comes while the instance of one that went is there", live, "n1 mirror a1,b1", "n1 mirror a1,b1; n3 mirror a3,b3", "broken removal-unfinished: pool on n2: it was removed, and its CStorPoolInstance prod-2 is still there: if a pool comes before that is gone, neither is ever carried out; wait until the instance is gone, refresh the inventory, render again"},
		{"one goes while the instance of one that went is there", live + instance("prod-3", "n3"), "n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", ""},
		{"one comes back whose instance is there", live, "n1 mirror a1,b1", "n1 mirror a1,b1; n2 mirror a2,b2", ""},
		{"one comes beside one that was moved", instance("prod-1", "n9", "a1"), "n1 mirror a1,b1", "n1 mirror a1,b1; n3 mirror a3,b3", ""},
		{"a pool moves, its disks relabelled", live, "n9 mirror a1,b1 c1,d1", "n1 mirror d1,c1 a1,b1", ""},
		{"a pool moves, its disks not", live, "n1 mirror a1,b1", "n2 mirror a1,b1", "refused disk-elsewhere: block device a1 of the pool on n2 is on host n1, not n2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := newState(t, world()+c.facts).Review(cluster(c.old), cluster(c.wanted))
			if c.want.In(t, said(got)); (c.want == "") != (len(got) == 0) {
				t.Error(said(got))
			}
		})
	}
}

// A pool may select its node by any label that only this node has.
func TestSelectors(t *testing.T) {
	facts := strings.ReplaceAll(world(), "kubernetes.io/hostname: n1}", "kubernetes.io/hostname: n1, rack: a}")
	facts = strings.ReplaceAll(facts, "kubernetes.io/hostname: n2}", "kubernetes.io/hostname: n2, rack: b, row: c}")
	facts = strings.ReplaceAll(facts, "kubernetes.io/hostname: n3}", "kubernetes.io/hostname: n3, row: c}")
	state := newState(t, facts)
	labelled := func(short string, labels pool.Labels) *pool.Cluster {
		c := cluster(short)
		c.Pools[0].Hostname, c.Pools[0].Labels = "", labels
		return c
	}
	byName, byRack := cluster("n1 mirror a1,b1"), labelled("n1 mirror a1,b1", pool.Labels{"rack": "a"})
	for _, c := range []struct {
		old, wanted *pool.Cluster
		want        expected.Text
	}{
		{nil, byRack, ""},
		{byRack, byName, ""},
		{byName, byRack, ""},
		{byRack, labelled("n1 mirror a1,b1 c1,d1", pool.Labels{"rack": "a"}), ""},
		{nil, labelled("n1 mirror a1,b1", nil), "refused no-selector: a pool has no node selector"},
		{nil, labelled("n1 mirror a1,b1", pool.Labels{"row": "c"}), "refused node-count: pool on row=c: its node selector finds 2 nodes, and must find one"},
		{nil, labelled("n1 mirror a1,b1", pool.Labels{"rack": "b"}), "refused disk-elsewhere: block device a1 of the pool on n2 is on host n1, not n2"},
	} {
		got := said(state.Review(c.old, c.wanted))
		if !c.want.In(t, got) || (c.want == "") != (got == "") {
			t.Errorf("%q: %s", c.wanted.Pools[0].Labels, got)
		}
	}
}

// What the facts do not tell is not refused.
func TestUnknownFacts(t *testing.T) {
	state := newState(t, none("volumegroups"))
	if got := state.Review(nil, cluster("n9 mirror x,y")); len(got) > 0 {
		t.Error(said(got))
	}
	if got := state.Review(cluster("n9 mirror x,y"), cluster("n9 mirror x,z")); len(got) > 0 {
		t.Error(said(got))
	}
}

// Settings are an edit, too.
func TestSettings(t *testing.T) {
	state := newState(t, world())
	for name, edit := range map[string]func(*pool.Cluster){
		"compression":   func(c *pool.Cluster) { c.Pools[0].Compression = "lz4" },
		"threshold":     func(c *pool.Cluster) { limit := int64(80); c.Pools[0].ROThresholdLimit = &limit },
		"thick":         func(c *pool.Cluster) { thick := true; c.Pools[0].ThickProvision = &thick },
		"priorityClass": func(c *pool.Cluster) { c.PriorityClassName = "high" },
		"tags":          func(c *pool.Cluster) { c.AllowedTags = "fast" },
		"resources":     func(c *pool.Cluster) { n := document.Object(document.F("cpu", document.Text("1"))); c.Resources = &n },
	} {
		old, wanted := cluster("n1 mirror a1,inactive1"), cluster("n1 mirror a1,inactive1")
		edit(wanted)
		if got := said(state.Review(old, wanted)); !strings.Contains(got, "disk-inactive") {
			t.Errorf("%s: %q", name, got)
		}
	}
	none := document.Object()
	empty := cluster("n1 mirror a1,inactive1")
	empty.Resources = &none
	if got := state.Review(cluster("n1 mirror a1,inactive1"), empty); len(got) > 0 {
		t.Errorf("empty resources: %s", said(got))
	}
}

// The order of pools, groups and disks changes nothing that is said, but for how long the
// webhook takes, which compares every old pool with new ones up to its own.
func TestOrder(t *testing.T) {
	state := newState(t, world()+instance("prod-1", "n1", "a1")+instance("prod-2", "n2")+claim("b1", "prod", "x"))
	disks := []string{"a", "b", "c", "d", "e", "f", "inactive", "ext", "zfs", "tagged", "small", "gone"}
	random := rapid.Custom(func(t *rapid.T) *pool.Cluster {
		c := &pool.Cluster{Namespace: "openebs", Name: "prod"}
		for i, host := range []string{"n1", "n2", "n3", "h4", "n9"} {
			if !rapid.Bool().Draw(t, "pool") {
				continue
			}
			left := rapid.Permutation(disks).Draw(t, "disks")
			p := &pool.Pool{Hostname: host, Config: pool.Config{RAIDType: rapid.SampledFrom([]string{"stripe", "mirror", "raidz"}).Draw(t, "type")}}
			for size := range slices.Values(rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(t, "groups")) {
				var group pool.Group
				for _, disk := range left[:size] {
					group = append(group, fmt.Sprint(disk, i+1))
				}
				p.Data, left = append(p.Data, group), left[size:]
			}
			c.Pools = append(c.Pools, p)
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		old, wanted := random.Draw(t, "old"), random.Draw(t, "wanted")
		shuffled := func(c *pool.Cluster) *pool.Cluster {
			other := *c
			other.Pools = nil
			for _, p := range rapid.Permutation(c.Pools).Draw(t, "pools") {
				q := *p
				q.Data = nil
				for _, group := range rapid.Permutation(p.Data).Draw(t, "groups") {
					q.Data = append(q.Data, rapid.Permutation(group).Draw(t, "disks"))
				}
				other.Pools = append(other.Pools, &q)
			}
			return &other
		}
		if got := state.Review(old, shuffled(old)); len(got) > 0 {
			t.Fatalf("another order is an edit: %s", said(got))
		}
		ruled := func(problems []Problem) string {
			return said(slices.DeleteFunc(problems, func(p Problem) bool { return p.Outcome == Late }))
		}
		want := ruled(state.Review(old, wanted))
		if got := ruled(state.Review(shuffled(old), shuffled(wanted))); got != want {
			t.Fatalf("in another order:\n%s\nwas:\n%s", got, want)
		}
	})
}
