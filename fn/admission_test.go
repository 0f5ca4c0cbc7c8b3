package fn

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/admission"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// checkPools is a second reading of the rules of the cStor admission webhook, version
// 3.6, written against the objects and not against the renderer. It returns the number of pools that it saw.
func checkPools(t *rapid.T, _ *world, facts []*krm.Object, r Result) int {
	devices := map[string]*krm.Object{}
	hosts := map[string]int{}
	claims := map[string]string{}
	for _, o := range facts {
		switch o.Kind {
		case "BlockDevice":
			devices[o.Name] = o
		case "Node":
			hosts[o.Label(inventory.LabelHostname)]++
		case "BlockDeviceClaim":
			claims[o.Name] = o.Label(inventory.LabelPoolCluster)
		}
	}
	pools := 0
	used := map[string]bool{}
	for _, o := range r.Objects {
		for _, d := range o.Object.Node.Seq("spec", "blockDevices") {
			if d.Str("role") == "spare" {
				use(t, used, d.Str("name"))
			}
		}
		if o.Object.Kind != "CStorPoolCluster" {
			continue
		}
		items := o.Object.Node.Seq("spec", "pools")
		if len(items) == 0 {
			t.Fatal("pools in cspc should have at least one item")
		}
		seen := map[string]bool{}
		for i := range items {
			pools++
			p := &items[i]
			host := p.Str("nodeSelector", inventory.LabelHostname)
			if hosts[host] != 1 {
				t.Fatalf("the node selector %q matches %d nodes", host, hosts[host])
			}
			if seen[host] {
				t.Fatalf("two pools on %s", host)
			}
			seen[host] = true
			checkGroups(t, p.Str("poolConfig", "dataRaidGroupType"), p.Seq("dataRaidGroups"))
			cacheType := p.Str("poolConfig", "writeCacheGroupType")
			if (cacheType != "") != (p.Get("writeCacheRaidGroups") != nil) {
				t.Fatal("a write cache type without groups, or the reverse")
			}
			if cacheType != "" {
				checkGroups(t, cacheType, p.Seq("writeCacheRaidGroups"))
			}
			for _, group := range slices.Concat(p.Seq("dataRaidGroups"), p.Seq("writeCacheRaidGroups")) {
				for _, entry := range group.Seq("blockDevices") {
					name := entry.Str("blockDeviceName")
					use(t, used, name)
					checkDevice(t, o.Object.Name, host, name, devices[name], claims)
				}
			}
		}
	}
	return pools
}

// checkAdmitted holds that what is rendered for a new cluster can be applied: the review
// of edits has nothing against it, but that it may take long.
func checkAdmitted(t *rapid.T, facts []*krm.Object, r Result) {
	known := inventory.New(facts)
	state := admission.NewState(known, pool.LiveOf(known))
	for _, o := range r.Objects {
		if o.Object.Kind != "CStorPoolCluster" {
			continue
		}
		for _, p := range state.Review(nil, pool.DecodeCluster(o.Object)) {
			if p.Outcome != admission.Late {
				t.Fatalf("a new %s: %s: %s", o.Object.Ref, p.Outcome, p)
			}
		}
	}
}

func use(t *rapid.T, used map[string]bool, name string) {
	if name == "" || used[name] {
		t.Fatalf("block device %q is used twice", name)
	}
	used[name] = true
}

func checkGroups(t *rapid.T, raid string, groups []document.Node) {
	valid := map[string][]int{
		"stripe": {1, 2, 3, 4, 5, 6}, "mirror": {2, 4, 6, 8}, "raidz": {3, 5, 9, 17}, "raidz2": {6, 10, 18},
	}[raid]
	if len(groups) == 0 || raid == "stripe" && len(groups) != 1 {
		t.Fatalf("%d groups of %s", len(groups), raid)
	}
	for i := range groups {
		if n := len(groups[i].Seq("blockDevices")); !slices.Contains(valid, n) {
			t.Fatalf("a %s group of %d disks", raid, n)
		}
	}
}

func checkDevice(t *rapid.T, cluster, host, name string, d *krm.Object, claims map[string]string) {
	switch {
	case d == nil:
		t.Fatalf("block device %s does not exist", name)
	case d.Node.Str("status", "state") != "Active":
		t.Fatalf("block device %s is not active", name)
	case d.Node.Str("spec", "filesystem", "fsType") != "":
		t.Fatalf("block device %s has a filesystem", name)
	case d.Label(inventory.LabelHostname) != host:
		t.Fatalf("block device %s is not on %s", name, host)
	case d.Label(inventory.LabelBlockDeviceTag) != "":
		t.Fatalf("block device %s is tagged", name)
	case d.Node.Str("status", "claimState") == "Claimed" && claims[d.Node.Str("spec", "claimRef", "name")] != cluster:
		t.Fatalf("block device %s is claimed by somebody else", name)
	case d.Node.Str("spec", "partitioned") == "Yes":
		t.Fatalf("block device %s has partitions", name)
	}
}
