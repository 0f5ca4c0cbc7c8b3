package cstor

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

const assessedPools = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolCluster
metadata: {name: prod, namespace: openebs}
spec:
  pools:
  - nodeSelector: {kubernetes.io/hostname: n1}
    dataRaidGroups:
    - blockDevices: [{blockDeviceName: a1}, {blockDeviceName: a2}]
    - blockDevices: [{blockDeviceName: a3}, {blockDeviceName: a4}]
    writeCacheRaidGroups:
    - blockDevices: [{blockDeviceName: w1}]
    poolConfig: {dataRaidGroupType: mirror, writeCacheGroupType: stripe, compression: lz4, roThresholdLimit: 70, priorityClassName: high}
  - nodeSelector: {kubernetes.io/hostname: n2}
    dataRaidGroups:
    - blockDevices: [{blockDeviceName: b1}, {blockDeviceName: b2}]
    poolConfig: {dataRaidGroupType: stripe}
  resources: {limits: {memory: 1Gi}}
  tolerations: [{key: storage, operator: Exists}]
`

const assessedClaim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: prod-n1-0, namespace: openebs, annotations: {volume.kubernetes.io/selected-node: n1}}
spec: {storageClassName: fast, volumeMode: Block, resources: {requests: {storage: 10Gi}}}
`

const assessedAttachment = `apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: openebs-prod-n1-0}
spec: {attacher: csi.example.com, nodeName: n1}
`

const assessedPlan = `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterPlan
metadata: {name: prod, namespace: openebs}
spec: {nodes: [{name: n1}]}
`

const assessedFacts = `apiVersion: cstor.openebs.io/v1
kind: CStorPoolInstance
metadata: {name: prod-x1, namespace: openebs, labels: {kubernetes.io/hostname: n1, openebs.io/cstor-pool-cluster: prod}}
---
apiVersion: cstor.openebs.io/v1
kind: CStorPoolInstance
metadata: {name: prod-x2, namespace: openebs, labels: {kubernetes.io/hostname: n2, openebs.io/cstor-pool-cluster: prod}}
---
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeReplica
metadata: {name: v-1, namespace: openebs, labels: {cstorpoolinstance.openebs.io/name: prod-x1}}
---
apiVersion: cstor.openebs.io/v1
kind: CStorVolumeReplica
metadata: {name: v-2, namespace: openebs, labels: {cstorpoolinstance.openebs.io/name: prod-x1}}
`

func TestAssess(t *testing.T) {
	const gone = "gone"
	replace := func(pairs ...string) string { return strings.Join(pairs, "\x00") }
	for _, c := range []struct {
		name, object, edit string // edit: old text, new text, ...; "" for a new object
		facts              string
		risk               change.Risk
		want               string // in the reasons
	}{
		{"new pools", assessedPools, "", "", change.Safe, "makes 2 new pools of 7 block devices that are free"},
		{"all pools go", assessedPools, gone, assessedFacts, change.Destructive, "every pool goes, with what is on it; 2 volume replicas on it"},
		{"all pools go, unknown", assessedPools, gone, "", change.Destructive, "the inventory does not tell"},
		{"a pool goes", assessedPools, replace(assessedPools[strings.Index(assessedPools, "  - nodeSelector: {kubernetes.io/hostname: n2}"):strings.Index(assessedPools, "  resources")], ""), assessedFacts,
			change.Destructive, "the pool on n2 goes, with what is on it; the inventory knows of no volume replica on it"},
		{"a pool moves", assessedPools, replace("hostname: n2", "hostname: n3"), "", change.Disruptive, "the pool moves to another node"},
		{"a pool for another", assessedPools, replace("hostname: n2", "hostname: n3", "b1", "c1"), "", change.Destructive, "the operator ignores an edit that removes a pool and adds another"},
		{"the order of pools and disks", assessedPools, replace("[{blockDeviceName: a1}, {blockDeviceName: a2}]", "[{blockDeviceName: a2}, {blockDeviceName: a1}]"), "", change.Safe, "the operator ignores the order"},

		{"a disk replaced", assessedPools, replace("a1", "x1"), "", change.Disruptive, "block device a1 is replaced with x1: the pool rebuilds it (resilver)"},
		{"a disk replaced in each group", assessedPools, replace("a1", "x1", "a3", "x3"), "", change.Disruptive, "block device a3 is replaced with x3"},
		{"both disks replaced", assessedPools, replace("a1", "x1", "a2", "x2"), "", change.Destructive, "a RAID group holds data of the pool and cannot be taken out"},
		{"a disk goes", assessedPools, replace("{blockDeviceName: a1}, ", ""), "", change.Destructive, "block device a1 cannot be taken out of its RAID group"},
		{"a disk comes", assessedPools, replace("{blockDeviceName: a1}, ", "{blockDeviceName: a1}, {blockDeviceName: x1}, "), "", change.Disruptive, "disks cannot be added to a RAID group"},
		{"disks swap groups", assessedPools, replace("a1}, {blockDeviceName: a2", "a1}, {blockDeviceName: a2}, {blockDeviceName: a4", "a3}, {blockDeviceName: a4", "a3"), "", change.Destructive, "a4 cannot be taken out"},
		{"a group goes", assessedPools, replace("    - blockDevices: [{blockDeviceName: a3}, {blockDeviceName: a4}]\n", ""), "", change.Destructive, "a RAID group holds data of the pool"},
		{"a group comes", assessedPools, replace("    writeCacheRaidGroups", "    - blockDevices: [{blockDeviceName: a5}, {blockDeviceName: a6}]\n    writeCacheRaidGroups"), "", change.Safe, "the pool grows by a RAID group"},
		{"a group comes to a stripe", assessedPools, replace("{blockDeviceName: b2}]\n", "{blockDeviceName: b2}]\n    - blockDevices: [{blockDeviceName: b3}]\n"), "", change.Disruptive, "a striped pool has exactly one RAID group"},
		{"a stripe grows", assessedPools, replace("{blockDeviceName: b2}", "{blockDeviceName: b2}, {blockDeviceName: b3}"), "", change.Safe, "the pool grows by b3"},
		{"a disk of a stripe goes", assessedPools, replace("{blockDeviceName: b2}", "{blockDeviceName: x2}"), "", change.Destructive, "a striped pool has no redundancy"},
		{"no disks any more", assessedPools, replace(assessedPools[strings.Index(assessedPools, "    dataRaidGroups"):strings.Index(assessedPools, "    writeCache")], ""), "", change.Destructive, "in a way that no rule knows"},
		{"no pools any more", assessedPools, replace(assessedPools[strings.Index(assessedPools, "  pools"):strings.Index(assessedPools, "  resources")], ""), "", change.Destructive, "in a way that no rule knows"},
		{"another RAID type", assessedPools, replace("dataRaidGroupType: mirror", "dataRaidGroupType: raidz"), "", change.Destructive, "cannot change its RAID type"},

		{"a cache more", assessedPools, replace("[{blockDeviceName: w1}]", "[{blockDeviceName: w1}, {blockDeviceName: w2}]"), "", change.Safe, "does not carry this out"},
		{"no cache", assessedPools, replace("    writeCacheRaidGroups:\n    - blockDevices: [{blockDeviceName: w1}]\n", ""), "", change.Disruptive, "the disks stay in the pool"},
		{"another cache type", assessedPools, replace("writeCacheGroupType: stripe", "writeCacheGroupType: mirror"), "", change.Safe, "does not carry this out"},
		{"compression", assessedPools, replace("lz4", "gzip"), "", change.Safe, "compression is for what is written from now on"},
		{"thick", assessedPools, replace("compression: lz4", "compression: lz4, thickProvision: true"), "", change.Safe, "thickProvision is for volumes"},
		{"threshold up", assessedPools, replace("roThresholdLimit: 70", "roThresholdLimit: 80"), "", change.Safe, "stay writable for longer"},
		{"threshold to the default", assessedPools, replace(", roThresholdLimit: 70", ""), "", change.Safe, "stay writable for longer"},
		{"threshold down", assessedPools, replace("roThresholdLimit: 70", "roThresholdLimit: 60"), "", change.Disruptive, "fuller than 60 % becomes read-only"},
		{"resources", assessedPools, replace("memory: 1Gi", "memory: 2Gi"), "", change.Disruptive, "the pod of each pool that takes it over restarts"},
		{"resources of one pool", assessedPools, replace("priorityClassName: high", "priorityClassName: low"), "", change.Disruptive, "restarts"},
		{"a toleration goes", assessedPools, replace("[{key: storage, operator: Exists}]", "[]"), "", change.Disruptive, "leaves a value that is removed in the Deployments"},
		{"tags", assessedPools, replace("namespace: openebs}", "namespace: openebs, annotations: {openebs.io/allowed-bd-tags: x}}"), "", change.Safe, "when a block device is claimed"},

		{"a claim", assessedClaim, "", "", change.Safe, "claims a new volume"},
		{"a claim goes", assessedClaim, gone, "", change.Destructive, "goes with its claim"},
		{"a bound claim goes", assessedClaim, gone, assessedClaim + "status: {phase: Bound}\n", change.Destructive, "goes with its claim"},
		{"a claim that is not bound goes", assessedClaim, gone, assessedClaim + "status: {phase: Pending}\n", change.Safe, "no volume to lose"},
		{"a claim grows", assessedClaim, replace("10Gi", "20Gi"), "", change.Safe, "the volume grows while it is used"},
		{"a claim grows that cannot", assessedClaim, replace("10Gi", "20Gi"), "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n", change.Disruptive, "StorageClass fast does not allow volumes to grow"},
		{"a claim shrinks", assessedClaim, replace("10Gi", "10G"), "", change.Disruptive, "a volume cannot shrink"},
		{"a claim of another class", assessedClaim, replace("fast", "slow"), "", change.Disruptive, "the API server refuses it: a claim cannot change spec.storageClassName"},
		{"a claim for another node", assessedClaim, replace("selected-node: n1", "selected-node: n2"), "", change.Disruptive, "for another node"},
		{"a bound claim for another node", assessedClaim, replace("selected-node: n1", "selected-node: n2"), assessedClaim + "status: {phase: Bound}\n", change.Safe, "its volume stays where it is"},
		{"an attachment", assessedAttachment, "", "", change.Safe, "attaches a volume"},
		{"an attachment goes", assessedAttachment, gone, "", change.Disruptive, "detaches a live disk from node n1"},
		{"an attachment changes", assessedAttachment, replace("n1}", "n2}"), "", change.Disruptive, "the API server refuses it"},
		{"the plan", assessedPlan, replace("n1", "n2"), "", change.Safe, "only Poolwright reads it"},
		{"the plan goes", assessedPlan, gone, "", change.Safe, "only Poolwright reads it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old, new []*krm.Object
			switch c.edit {
			case "":
				new = parsed(t, c.object)
			case gone:
				old = parsed(t, c.object)
			default:
				text := strings.NewReplacer(strings.Split(c.edit, "\x00")...).Replace(c.object)
				if text == c.object {
					t.Fatal("nothing was edited")
				}
				old, new = parsed(t, c.object), parsed(t, text)
			}
			changes := change.Between(old, new)
			if len(changes) != 1 {
				t.Fatalf("%d changes", len(changes))
			}
			got := changes[0]
			System{}.Assess(inventory.New(parsed(t, c.facts)), got)
			if got.Risk != c.risk {
				t.Errorf("is %s, not %s", got.Risk, c.risk)
			}
			judged, said := map[string]bool{}, false
			for _, r := range got.Reasons {
				judged[r.Field] = true
				said = said || strings.Contains(r.Text, c.want)
			}
			if !said {
				t.Errorf("no reason has %q: %+v", c.want, got.Reasons)
			}
			for _, f := range got.Fields {
				if !judged[""] && !judged[f.Path] {
					t.Errorf("%s is not judged", f.Path)
				}
			}
		})
	}
}

// What no rule knows is left to the caller, who takes it for disruptive.
func TestAssessUnknown(t *testing.T) {
	for _, edit := range [][2]string{{"compression: lz4", "brandNew: x"}, {"spec:\n", "spec:\n  brandNew: x\n"}, {"dataRaidGroupType: stripe", "dataRaidGroupType: stripe, resourcesNew: x"}} {
		changes := change.Between(parsed(t, assessedPools), parsed(t, strings.Replace(assessedPools, edit[0], edit[1], 1)))
		System{}.Assess(inventory.New(nil), changes[0])
		for _, r := range changes[0].Reasons {
			if strings.Contains(r.Field, "New") {
				t.Errorf("%+v", r)
			}
		}
	}
}

func parsed(t *testing.T, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
