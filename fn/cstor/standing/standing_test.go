package standing_test

import (
	"reflect"
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/cstor/standing"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const output = `
apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterPlan
metadata: {name: prod, namespace: openebs}
spec:
  nodes: [{name: n-1}, {name: n-2}]
  steps: [{kind: addition, what: a pool comes on node n-2}]
  removing: [{name: n-3, hostname: h-3}]
---
apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterStorageSet
metadata: {name: prod-n-1, namespace: openebs}
spec:
  node: {name: n-1, hostname: h-1}
  disk: {capacity: 100Gi, count: 2}
  blockDevices: [{name: bd-1, role: data}, {name: bd-2, role: data}]
  expansions: {count: 1, disks: 4, level: 80}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: prod-n-1-0, namespace: openebs, annotations: {volume.kubernetes.io/selected-node: n-1}}
spec: {}
---
apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata: {name: prod, namespace: openebs}
spec:
  pools:
  - nodeSelector: {kubernetes.io/hostname: h-1}
    dataRaidGroups: [{blockDevices: [{blockDeviceName: bd-1}, {blockDeviceName: bd-2}]}]
    poolConfig: {dataRaidGroupType: mirror}
  - nodeSelector: {kubernetes.io/hostname: h-2}
    dataRaidGroups: [{blockDevices: [{blockDeviceName: bd-3}, {blockDeviceName: bd-4}]}]
    poolConfig: {dataRaidGroupType: mirror}
`

// Whatever becomes of the pools in a render, the record of what was rendered stays as it was, and so
// does the running CStorPoolCluster.
func TestRecordStays(t *testing.T) {
	read := func() (*record.Record, *pool.Cluster) {
		objects, err := krm.Parse(&document.Source{Name: "output.yaml", Data: []byte(output)})
		if err != nil {
			t.Fatal(err)
		}
		return record.Read(objects), pool.DecodeCluster(objects[len(objects)-1])
	}
	was, running := read()
	clusters := []*standing.Cluster{standing.NewCluster("prod", 1, running)}
	s := standing.New(was, clusters, inventory.New(nil))
	p, other := s.Pool("n-1"), s.OnHost("h-2")
	s.Rename(p, "bd-1", "bd-9")
	s.Regroup(p, pool.Groups{{"bd-9", "bd-5"}})
	s.RestoreType(p, pool.Stripe)
	s.ForgetGrowth(p)
	s.Unreserve("n-1", []string{"bd-1"})
	s.RemovePool(other)
	s.RestorePool(&standing.Pool{Node: "n-2", Of: clusters[0], Pool: running.Host("h-2")})
	s.RestoreGroups(s.Pool("n-2"), pool.Groups{{"bd-3", "bd-4"}, {"bd-6", "bd-7"}}, nil, "")
	s.RestoreSettings(clusters[0])
	s.RestoreVolume(s.Object(krm.ID{Kind: record.ClaimKind, Namespace: "openebs", Name: "prod-n-1-0"}))
	s.Move("openebs", p, &inventory.Node{Name: "n-4", Hostname: "h-4"})
	s.AdoptNode("n-5")
	clusters[0].Forget(func(string) bool { return false })

	fresh, freshRunning := read()
	for _, c := range []struct {
		what     string
		now, was any
	}{
		{"nodes", was.Nodes(), fresh.Nodes()},
		{"storage sets", was.Sets(), fresh.Sets()},
		{"steps", was.Steps(), fresh.Steps()},
		{"rendered pools", was.Cluster("prod").Pools, fresh.Cluster("prod").Pools},
		{"running pools", running.Pools, freshRunning.Pools},
		{"volumes", len(was.Volumes()["n-1"]), len(fresh.Volumes()["n-1"])},
		{"removals", was.Removing(), fresh.Removing()},
	} {
		if !reflect.DeepEqual(c.now, c.was) {
			t.Errorf("%s were changed: %+v, were %+v", c.what, c.now, c.was)
		}
	}
	if got := s.Pool("n-4"); got != p || p.Hostname != "h-4" || s.Pooled("bd-1") || s.Pooled("bd-2") || !s.Pooled("bd-9") || s.CameFrom("n-4") != "n-1" {
		t.Errorf("pool %+v", got)
	}
	if got := s.PoolsOf(clusters[0]); len(got) != 2 || got[1].Node != "n-2" || len(got[1].Data) != 2 {
		t.Errorf("%d pools", len(got))
	}
}
