package cstor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// newTestCluster has nodes n1 to n3 and devices a to f on each, some of which no
// pool can use.
func newTestCluster(t *testing.T, more string) admission {
	t.Helper()
	var b strings.Builder
	for i := 1; i <= 3; i++ {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d}}}\n---\n", i, i)
		for _, d := range []string{"a", "b", "c", "d", "e", "f", "inactive", "formatted", "tagged", "claimed", "zfs"} {
			spec, labels, status := "", "", "state: Active, claimState: Unclaimed"
			switch d {
			case "inactive":
				status = "state: Inactive, claimState: Unclaimed"
			case "formatted":
				spec = ", filesystem: {fsType: ext4}"
			case "zfs":
				spec = ", filesystem: {fsType: zfs_member}"
			case "tagged":
				labels = `, openebs.io/block-device-tag: ""`
			case "claimed":
				status = "state: Active, claimState: Claimed"
			}
			fmt.Fprintf(&b, "{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: %s%d, namespace: openebs, labels: {kubernetes.io/hostname: n%d%s}}, spec: {capacity: {storage: 1000}%s}, status: {%s}}\n---\n", d, i, i, labels, spec, status)
		}
	}
	facts := inventory.New(parse(t, b.String()+more))
	spec := &system.Spec{
		Object:    parse(t, "{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: prod, namespace: openebs}}")[0],
		Completed: []byte(`{"spec":{"diskConfig":{"minCapacity":"1","local":{}}}}`),
		Consent:   system.NewConsent(""),
	}
	return admission{newCluster(spec, facts, pool.NewLive(facts), disk.NewLedger(facts)).input}
}

// pools writes a CStorPoolCluster in short: "n1 mirror a1,b1 c1,d1 | stripe e1; ..."
// is a pool on n1 with two groups, and a write cache.
func poolCluster(short string) string {
	var b strings.Builder
	b.WriteString("apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: openebs}\nspec:\n  pools:\n")
	groups := func(key string, list []string) {
		fmt.Fprintf(&b, "    %s:\n", key)
		for _, group := range list {
			b.WriteString("    - blockDevices:")
			if group == "-" {
				b.WriteString(" []")
			}
			b.WriteString("\n")
			for name := range strings.SplitSeq(strings.Trim(group, "-"), ",") {
				if name != "" {
					fmt.Fprintf(&b, "      - blockDeviceName: %q\n", strings.Trim(name, "'"))
				}
			}
		}
	}
	for p := range strings.SplitSeq(short, ";") {
		main, cached, hasCache := strings.Cut(p, "|")
		f := strings.Fields(main)
		fmt.Fprintf(&b, "  - nodeSelector: {kubernetes.io/hostname: %q}\n", strings.Trim(f[0], "'"))
		if len(f) > 2 {
			groups("dataRaidGroups", f[2:])
		}
		fmt.Fprintf(&b, "    poolConfig: {dataRaidGroupType: %q", strings.Trim(f[1], "'"))
		c := strings.Fields(cached)
		if hasCache {
			fmt.Fprintf(&b, ", writeCacheGroupType: %q", strings.Trim(c[0], "'"))
		}
		b.WriteString("}\n")
		if len(c) > 1 {
			groups("writeCacheRaidGroups", c[1:])
		}
	}
	return b.String()
}

// TestAdmission holds each rule of the webhook about a CStorPoolCluster as it
// stands (reference: cstor.md, section 3).
func TestAdmission(t *testing.T) {
	tests := []struct{ pools, want string }{
		{"n1 stripe a1", ""},
		{"n1 stripe a1,b1,c1,d1,e1", ""},
		{"n1 mirror a1,b1 c1,d1; n2 mirror a2,b2", ""},
		{"n1 mirror a1,b1,c1,d1", ""},
		{"n1 raidz a1,b1,c1", ""},
		{"n1 raidz a1,b1,c1,d1,e1", ""},
		{"n1 raidz2 a1,b1,c1,d1,e1,f1", ""},
		{"n1 stripe a1 | stripe b1,c1", ""},
		{"n1 mirror a1,b1 | mirror c1,d1 e1,f1", ""},
		{"n1 stripe a1,a1", "block device a1 is in two places"},
		{"n1 stripe a1; n2 stripe a1", "block device a1 is in two places"},
		{"n1 stripe a1 | stripe a1", "block device a1 is in two places"},
		{"'' stripe a1", "no node selector"},
		{"n9 stripe a1", "finds 0 nodes"},
		{"n1 stripe a1; n1 stripe b1", "host n1 has two pools"},
		{"n1 '' a1", "missing"},
		{"n1 raid5 a1,b1,c1", `"raid5"`},
		{"n1 stripe", "no RAID group"},
		{"n1 stripe a1 b1", "a stripe has exactly one RAID group"},
		{"n1 stripe a1 | stripe b1 c1", "a stripe has exactly one RAID group"},
		{"n1 stripe -", "0 disks do not make a stripe group"},
		{"n1 mirror a1", "1 disks do not make a mirror group"},
		{"n1 mirror a1,b1,c1", "3 disks do not make a mirror group"},
		{"n1 raidz a1,b1", "2 disks do not make a raidz group"},
		{"n1 raidz a1,b1,c1,d1", "4 disks do not make a raidz group"},
		{"n1 raidz a1,b1,c1,d1,e1,f1", "6 disks do not make a raidz group"},
		{"n1 raidz2 a1,b1,c1,d1", "4 disks do not make a raidz2 group"},
		{"n1 raidz2 a1,b1,c1,d1,e1", "5 disks do not make a raidz2 group"},
		{"n1 mirror a1,b1 c1", "1 disks do not make a mirror group"},
		{"n1 stripe a1 | ''  b1", "missing"},
		{"n1 stripe a1 | raid5 b1", `"raid5"`},
		{"n1 stripe a1 | mirror b1", "1 disks do not make a mirror group"},
		{"n1 stripe a1 | stripe", "a writeCacheGroupType and no write cache"},
		{"n1 stripe ''", "does not exist"},
		{"n1 stripe nope", "does not exist"},
		{"n1 stripe a2", "not on n1"},
		{"n1 stripe inactive1", "Inactive"},
		{"n1 stripe formatted1", "ext4"},
		{"n1 stripe zfs1", "zfs_member"},
		{"n1 stripe tagged1", "tagged"},
		{"n1 stripe claimed1", "claimed"},
	}
	for _, test := range tests {
		t.Run(test.pools, func(t *testing.T) {
			c := newTestCluster(t, "")
			got := strings.Join(c.refusedPools(pool.DecodeCluster(parse(t, poolCluster(test.pools))[0]).Pools), "; ")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("refused: %q, want %q", got, test.want)
			}
		})
	}
	if got := newTestCluster(t, "").refusedPools(nil); len(got) != 1 || !strings.Contains(got[0], "no pools") {
		t.Errorf("no pools: %q", got)
	}
}

// TestAdmissionOfChanges holds each rule about a change.
func TestAdmissionOfChanges(t *testing.T) {
	tests := []struct{ old, now, want string }{
		{"n1 mirror a1,b1", "n1 mirror a1,b1", ""},
		{"n1 mirror a1,b1", "n1 mirror b1,a1", ""},
		{"n1 mirror a1,b1 c1,d1", "n1 mirror c1,d1 a1,b1", ""},
		{"n1 mirror a1,b1", "n1 mirror a1,b1; n2 mirror a2,b2", ""},
		{"n1 mirror a1,b1", "n1 mirror a1,b1 c1,d1", ""},
		{"n1 stripe a1", "n1 stripe a1,b1", ""},
		{"n1 mirror a1,b1", "n1 mirror a1,c1", ""},
		{"n1 mirror a1,b1 c1,d1", "n1 mirror a1,e1 c1,f1", ""},
		{"n1 mirror a1,b1; n2 mirror a2,b2", "n1 mirror a1,b1", ""},
		{"n1 mirror a1,b1", "n1 stripe a1,b1", "RAID type changes from mirror to stripe"},
		{"n1 mirror a1,b1 c1,d1", "n1 mirror a1,b1", "the RAID group of c1 is gone"},
		{"n1 mirror a1,b1", "n1 mirror c1,d1", "the RAID group of a1 is gone"},
		{"n1 stripe a1,b1", "n1 stripe a1", "cannot be taken out or replaced"},
		{"n1 stripe a1,b1", "n1 stripe a1,c1", "cannot be taken out or replaced"},
		{"n1 raidz a1,b1,c1", "n1 raidz a1,b1", "changes its size"},
		{"n1 mirror a1,b1", "n1 mirror a1,b1,c1,d1", "changes its size"},
		{"n1 raidz a1,b1,c1", "n1 raidz a1,d1,e1", "more than one disk of a RAID group is replaced at once"},
	}
	for _, test := range tests {
		t.Run(test.old+" to "+test.now, func(t *testing.T) {
			read := func(short string) []*pool.Pool { return pool.DecodeCluster(parse(t, poolCluster(short))[0]).Pools }
			got := strings.Join(refusedChanges(read(test.old), read(test.now)), "; ")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("refused: %q, want %q", got, test.want)
			}
		})
	}
}

// TestRemovedPools looks at what is on a pool that goes.
func TestRemovedPools(t *testing.T) {
	instance := func(node string) string {
		return fmt.Sprintf("{apiVersion: cstor.openebs.io/v1, kind: CStorPoolInstance, metadata: {name: prod-%s, namespace: openebs, labels: {kubernetes.io/hostname: %s, openebs.io/cstor-pool-cluster: prod}}}\n---\n", node, node)
	}
	replica := "{apiVersion: cstor.openebs.io/v1, kind: CStorVolumeReplica, metadata: {name: pvc-1-prod-n2, namespace: openebs, labels: {cstorpoolinstance.openebs.io/name: prod-n2}}}\n---\n"
	none := func(plural string) string {
		return fmt.Sprintf("{apiVersion: poolwright.io/v1alpha1, kind: Inventory, metadata: {name: %s}, items: []}\n---\n", plural)
	}
	empty := instance("n1") + instance("n2") + none("cstorvolumereplicas")
	elsewhere := strings.Replace(none("cstorvolumereplicas"), "replicas}", "replicas, annotations: {poolwright.io/namespace: elsewhere}}", 1)
	tests := []struct{ name, facts, old, now, severity, want string }{
		{"empty", empty, "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "", ""},
		{"nothing is live", none("cstorpoolinstances") + none("cstorvolumereplicas"), "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "", ""},
		{"replicas unknown", instance("n1") + instance("n2"), "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning", "the pool on n2 goes, and the inventory does not tell whether it holds volume replicas; take it anew with poolwright inventory"},
		{"instances unknown", replica, "n1 stripe a1; n2 stripe a2; n3 stripe a3", "n1 stripe a1", "warning", "the pool on n2, n3 goes, and the inventory does not tell"},
		{"all unknown", none("volumegroups"), "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning", "the inventory does not tell"},
		{"with replicas", instance("n1") + instance("n2") + replica, "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "error", "CStorPoolInstance prod-n2) cannot go: it holds 1 volume replica, to be moved first"},
		{"with replicas, and a snapshot of another namespace", instance("n1") + instance("n2") + replica + elsewhere, "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "error", "CStorPoolInstance prod-n2) cannot go: it holds 1 volume replica, to be moved first"},
		{"a snapshot of another namespace", instance("n1") + instance("n2") + elsewhere, "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning", "the inventory does not tell"},
		{"replicas elsewhere", instance("n1") + instance("n2") + replica, "n1 stripe a1; n2 stripe a2", "n2 stripe a2", "", ""},
		{"without instance", instance("n1"), "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning", "has no CStorPoolInstance yet"},
		{"one goes, one comes", empty, "n1 stripe a1; n2 stripe a2", "n1 stripe a1; n3 stripe a3", "warning", "the pool on n2 goes and the pool on n3 comes in one edit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newTestCluster(t, test.facts)
			read := func(short string) []*pool.Pool { return pool.DecodeCluster(parse(t, poolCluster(short))[0]).Pools }
			c.checkRemoved(read(test.old), read(test.now))
			expect(t, c.findings, test.severity, test.want)
		})
	}
}

func expect(t *testing.T, fs []finding.Finding, severity, want string) {
	t.Helper()
	if want == "" {
		if len(fs) > 0 {
			t.Errorf("findings: %v", fs)
		}
		return
	}
	if len(fs) != 1 || string(fs[0].Severity) != severity || !strings.Contains(fs[0].Message, want) {
		t.Errorf("findings: %v, want one %s: %s", fs, severity, want)
	}
}

// TestWebhookTimeout holds the numbers that were observed: about 17 disks in the
// 5 seconds that the webhook has, about 80 in 30.
func TestWebhookTimeout(t *testing.T) {
	tests := []struct {
		disks int
		want  string
	}{
		{1, ""},
		{4, ""},
		{17, ""},
		{18, "has 18 disks, for which the cStor webhook needs about 6 seconds, and it is given 5; set timeoutSeconds: 6 on its ValidatingWebhookConfiguration"},
		{36, "set timeoutSeconds: 13"},
		{80, "set timeoutSeconds: 30"},
		{81, "has 81 disks; the cStor webhook cannot check a change of more than 80 even with timeoutSeconds: 30; make several smaller clusters"},
		{1000, "several smaller clusters"},
	}
	for _, test := range tests {
		names := make([]string, test.disks)
		for i := range names {
			names[i] = fmt.Sprint("d", i)
		}
		c := newTestCluster(t, "")
		c.warnOfTimeout([]*pool.Pool{{Hostname: "n1", Data: pool.Groups{names}}})
		expect(t, c.findings, "warning", test.want)
	}
}

// TestHostnames warns where the webhook skips its checks of later changes.
func TestHostnames(t *testing.T) {
	c := newTestCluster(t, "{apiVersion: v1, kind: Node, metadata: {name: ip-10-0-0-1.ec2.internal, labels: {kubernetes.io/hostname: ip-10-0-0-1}}}")
	c.warnOfHostnames([]*pool.Pool{{Hostname: "n1"}, {Hostname: "ip-10-0-0-1"}})
	expect(t, c.findings, "warning", "node ip-10-0-0-1.ec2.internal (ip-10-0-0-1)")
}
