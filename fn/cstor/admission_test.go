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
	"github.com/poolwright/poolwright/test/expected"
)

// newTestInput has nodes n1 to n3, of which n3 has another hostname label, h3, and
// devices a to d on each, some of which no pool can use.
func newTestInput(t *testing.T, more string) *input {
	t.Helper()
	var b strings.Builder
	for i, host := range []string{"n1", "n2", "h3"} {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: %s}}}\n---\n", i+1, host)
		for _, d := range []string{"a", "b", "c", "d", "inactive", "parted", "zfs"} {
			spec, state := "", "Active"
			switch d {
			case "inactive":
				state = "Inactive"
			case "parted":
				spec = ", partitioned: \"Yes\""
			case "zfs":
				spec = ", filesystem: {fsType: zfs_member}"
			}
			fmt.Fprintf(&b, "{apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: %s%d, namespace: openebs, labels: {kubernetes.io/hostname: %s}}, spec: {capacity: {storage: 1000}%s}, status: {state: %s, claimState: Unclaimed}}\n---\n", d, i+1, host, spec, state)
		}
	}
	facts := inventory.New(parse(t, b.String()+more))
	spec := &system.Spec{
		Object:    parse(t, "{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: prod, namespace: openebs}}")[0],
		Completed: []byte(`{"spec":{"diskConfig":{"minCapacity":"1","local":{}}}}`),
		Consent:   system.NewConsent(nil),
	}
	return newCluster(spec, facts, pool.LiveOf(facts), disk.NewLedger(facts), 0).input
}

// writtenCluster writes a CStorPoolCluster in short: "n1 mirror a1,b1 c1,d1 | stripe e1; ..."
// is a pool on n1 with two groups, and a write cache.
func writtenCluster(short string) string {
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

// Who refuses an edit, and how grave that is. What is refused, the package admission
// holds.
func TestAdmit(t *testing.T) {
	const noReplicas = "{apiVersion: poolwright.io/v1alpha1, kind: Inventory, metadata: {name: cstorvolumereplicas}, items: []}\n---\n"
	instance := func(host string) string {
		return "{apiVersion: cstor.openebs.io/v1, kind: CStorPoolInstance, metadata: {name: prod-" + host + ", namespace: openebs, labels: {kubernetes.io/hostname: " + host + ", openebs.io/cstor-pool-cluster: prod}}}\n---\n"
	}
	two := instance("n1") + instance("n2")
	for _, c := range []struct {
		name, facts, live, wanted string
		want                      expected.Text
	}{
		{"nothing", "", "n1 stripe a1,inactive1", "n1 stripe inactive1,a1", ""},
		{"a create", "", "", "n1 stripe a1", ""},
		{"refused", "", "", "n1 mirror a1", "error raid-group the cStor admission webhook would refuse the CStorPoolCluster: pool on n1: 1 disk does not make a mirror group"},
		{"a change refused", "", "n1 mirror a1,b1", "n1 mirror a1,b1,c1,d1", "error group-size the cStor admission webhook would refuse the change of the CStorPoolCluster: pool on n1: a RAID group changes its size"},
		{"beside a dead disk", "", "n1 stripe inactive1", "n1 stripe inactive1,a1", "error disk-inactive the cStor admission webhook would refuse the change of the CStorPoolCluster: block device inactive1 of the pool on n1 is Inactive, not Active; bring it back or replace it before anything else: until then every other change is refused"},
		{"never carried out", "", "h3 mirror a3,b3", "h3 mirror a3,c3", "error replacement-hostname the cStor webhook lets it pass, and the operator never carries it out: block device c3 of the pool on h3 cannot take the place of b3"},
		{"goes wrong", "", "h3 mirror a3,b3", "h3 stripe a3,b3", "error raid-type the cStor webhook lets it pass, and it goes wrong: pool on h3"},
		{"loses data", "", "", "n1 stripe zfs1", "error disk-zfs the cStor webhook lets it pass, and data is lost: block device zfs1 of the pool on n1"},
		{"not to be used", "", "", "n1 stripe parted1", "error disk-unfit block device parted1 cannot be in the pool on n1: it has partitions; the cStor webhook does not look at that"},
		{"one goes, one comes", two + noReplicas, "n1 stripe a1; n2 stripe a2", "n1 stripe a1; h3 stripe a3", "warning two-changes the cStor webhook lets it pass, and the operator never carries it out: the pool on n2 goes and the pool on h3 comes in one edit"},
		{"a cache comes", "", "n1 stripe a1", "n1 stripe a1 | stripe b1", "warning write-cache the cStor webhook lets it pass, and the operator never carries it out: pool on n1: its write cache stays as it is"},
		{"replicas unknown", two, "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning replicas-unknown pool on n2: it is removed, and the inventory does not show whether it holds volume replicas; refresh it with poolwright inventory"},
		{"replicas unknown, a snapshot of another namespace", two + strings.Replace(noReplicas, "replicas}", "replicas, annotations: {poolwright.io/namespace: elsewhere}}", 1), "n1 stripe a1; n2 stripe a2", "n1 stripe a1", "warning replicas-unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := c.facts
			if c.live != "" {
				facts += writtenCluster(c.live)
			}
			in := newTestInput(t, facts)
			admit(in, in.standing.Clusters()[0], pool.DecodeCluster(parse(t, writtenCluster(c.wanted))[0]))
			var got []string
			for _, f := range in.Findings {
				if f.Rule != "hostname-differs" && f.Rule != "pools-unknown" {
					got = append(got, string(f.Severity)+" "+f.Rule+" "+f.Message)
				}
			}
			if all := strings.Join(got, "\n"); !c.want.In(t, all) || (c.want == "") != (all == "") || len(got) > 1 {
				t.Error(all)
			}
		})
	}
}

// Where the webhook skips its checks of later changes there is a warning.
func TestHostnames(t *testing.T) {
	in := newTestInput(t, "")
	warnOfHostnames(in, []*pool.Pool{{Hostname: "n1"}, {Hostname: "h3"}})
	if fs := in.Findings; len(fs) != 1 || fs[0].Severity != finding.Warning || !strings.Contains(fs[0].Message, "node n3 (h3)") {
		t.Errorf("%v", fs)
	}
}
