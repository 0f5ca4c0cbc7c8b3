package disk_test

import (
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/test/expected"
)

// TestVerdict: reasons that stand behind others of the same disk in most snapshots.
func TestVerdict(t *testing.T) {
	tests := []struct {
		name, more string
		rule       disk.Rule
		want       expected.Text
	}{
		{"claimed by the asker to replace a disk", `
apiVersion: openebs.io/v1alpha1
kind: BlockDeviceClaim
metadata:
  name: claim
  namespace: openebs
  labels: {openebs.io/cstor-pool-cluster: prod}
  annotations: {openebs.io/bd-predecessor: a-0}
spec: {blockDeviceName: a-1}
`, disk.Replacing, "it is claimed to replace block device a-0"},
		{"with partitions that the agent sees", `
apiVersion: poolwright.io/v1alpha1
kind: NodeInventory
metadata: {name: a}
status:
  disks:
  - {path: /dev/sdb, serial: S1, wwn: "0x5000c500a1", size: 1000000000000, partitions: [/dev/sdb1], usable: true}
`, disk.Partitioned, "node a reports partitions on it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := ledger(t, cluster, test.more)
			d := l.Device("openebs", "a-1")
			test.want.In(t, l.Verdict(d, disk.Want{PoolCluster: "prod", Mine: func(disk.Holder) bool { return true }, Volumes: func(*inventory.Volume) bool { return true }}).Of(test.rule))
		})
	}
}
