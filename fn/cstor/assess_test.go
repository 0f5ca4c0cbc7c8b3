package cstor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
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

// pooled are the facts of a pool of n1 and the disks of it that are named, as
// name=state, and of two that can take their places.
func pooled(phase string, disks ...string) string {
	var b strings.Builder
	b.WriteString(unclaimed("x1", "x3"))
	for _, disk := range disks {
		name, state, _ := strings.Cut(disk, "=")
		b.WriteString("apiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: " + name + ", namespace: openebs}\nstatus: {state: " + state + "}\n---\n")
	}
	if phase != "" {
		b.WriteString(strings.Replace(assessedFacts[:strings.Index(assessedFacts, "---")], "}}\n", "}}\nstatus: {phase: "+phase+"}\n", 1))
	}
	return b.String()
}

// unclaimed are disks that nothing claims.
func unclaimed(disks ...string) string {
	var b strings.Builder
	for _, disk := range disks {
		b.WriteString("apiVersion: openebs.io/v1alpha1\nkind: BlockDevice\nmetadata: {name: " + disk + ", namespace: openebs}\nstatus: {state: Active, claimState: Unclaimed}\n---\n")
	}
	return b.String()
}

// on relabels disks that nothing claims to a host.
func on(host string, disks ...string) string {
	return strings.ReplaceAll(unclaimed(disks...), "namespace: openebs", "namespace: openebs, labels: {kubernetes.io/hostname: "+host+"}")
}

func node(name, hostname string) string {
	return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {kubernetes.io/hostname: " + hostname + "}}\n---\n"
}

// replacing is the claim on a disk that takes the place of another.
func replacing(disk, predecessor string) string {
	return "---\napiVersion: openebs.io/v1alpha1\nkind: BlockDeviceClaim\nmetadata: {name: bdc-" + disk + ", namespace: openebs, labels: {openebs.io/cstor-pool-cluster: prod}, annotations: {openebs.io/bd-predecessor: " + predecessor + "}}\nspec: {blockDeviceName: " + disk + "}\n"
}

// poolsOf is a cluster with pools of two disks on hosts of these numbers, in this order.
func poolsOf(hosts ...int) string {
	var b strings.Builder
	b.WriteString("apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: openebs}\nspec:\n  pools:\n")
	for _, i := range hosts {
		fmt.Fprintf(&b, "  - {nodeSelector: {kubernetes.io/hostname: m%d}, dataRaidGroups: [{blockDevices: [{blockDeviceName: m%d-d0}, {blockDeviceName: m%d-d1}]}], poolConfig: {dataRaidGroupType: mirror, compression: lz4}}\n", i, i, i)
	}
	return b.String()
}

// claimed is a disk and the claim of a pool cluster on it.
func claimed(disk, cluster string) string {
	return strings.Replace(unclaimed(disk), "Unclaimed", "Claimed", 1) +
		"apiVersion: openebs.io/v1alpha1\nkind: BlockDeviceClaim\nmetadata: {name: bdc-" + disk + ", namespace: openebs, labels: {openebs.io/cstor-pool-cluster: " + cluster + "}}\nspec: {blockDeviceName: " + disk + "}\n"
}

// bound is disk a1 as a PersistentVolume.
func bound(namespace, claim string) string {
	return "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {kubernetes.io/hostname: n1}}\n---\n" +
		strings.NewReplacer("namespace: openebs", "namespace: openebs, labels: {kubernetes.io/hostname: n1}", "status:", "spec: {devlinks: [{kind: by-id, links: [/dev/disk/by-id/virtio-v1]}]}\nstatus:").Replace(unclaimed("a1")) +
		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-1}\nspec: {csi: {driver: csi.example.com, volumeHandle: v1}, claimRef: {namespace: " + namespace + ", name: " + claim + "}}\n---\n"
}

const expandable = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nallowVolumeExpansion: true\n"

func TestAssess(t *testing.T) {
	const gone = "gone"
	replace := func(pairs ...string) string { return strings.Join(pairs, "\x00") }
	onN3 := replace("  resources:", "  - nodeSelector: {kubernetes.io/hostname: n3}\n    dataRaidGroups: [{blockDevices: [{blockDeviceName: c1}]}]\n    poolConfig: {dataRaidGroupType: stripe}\n  resources:")
	for _, c := range []struct {
		name, object, edit string // edit: old text, new text, ...; "" for a new object
		facts              string
		risk               change.Risk
		want               string // in the reasons
	}{
		{"new pools", assessedPools, "", "", change.Safe, "makes 2 new pools of 7 block devices"},
		{"new pools of free disks", assessedPools, "", unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), change.Safe, "makes 2 new pools of 7 free block devices"},
		{"new pools of disks that are being cleaned", assessedPools, "", strings.Replace(unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), "Unclaimed", "Released", 1), change.Safe, "makes 2 new pools of 7 block devices"},
		{"new pools of disks of their own", assessedPools, "", claimed("a1", "prod") + "---\n" + unclaimed("a2", "a3", "a4", "w1", "b1", "b2"), change.Safe, "makes 2 new pools of 7 block devices"},
		{"new pools beside disks of their own", assessedPools, "", claimed("x1", "prod") + "---\n" + unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), change.Destructive, "x1 is claimed by it and is in none of these pools"},
		{"new pools of a disk that is mounted", assessedPools, "", strings.Replace(unclaimed("a1"), "status:", "spec: {filesystem: {fsType: ext4, mountPoint: /data}}\nstatus:", 1), change.Destructive, "a1 has a filesystem: ext4: the webhook refuses it, or else what is on it is lost"},
		{"new pools of a disk with partitions", assessedPools, "", strings.Replace(unclaimed("a1"), "status:", "spec: {partitioned: \"Yes\"}\nstatus:", 1), change.Destructive, "a1 has partitions"},
		{"new pools of a part of a disk", assessedPools, "", strings.Replace(unclaimed("a1"), "status:", "spec: {parentDevice: /dev/sda}\nstatus:", 1), change.Destructive, "a1 is a part of /dev/sda"},
		{"new pools of a disk that is a volume", assessedPools, "", bound("shop", "cart"), change.Destructive, "a1 is PersistentVolume pv-1 of claim shop/cart"},
		{"new pools of a disk that is a volume of theirs", assessedPools, "", bound("openebs", "prod-n1-0") + node("n2", "n2") + unclaimed("a2", "a3", "a4", "w1", "b1", "b2"), change.Safe, "makes 2 new pools"},
		{"new pools of a disk that is a volume of a person's claim", assessedPools, "", bound("openebs", "prod-registry"), change.Destructive, "a1 is PersistentVolume pv-1 of claim openebs/prod-registry"},
		{"new pools of a disk of a pool that nobody claims", assessedPools, "", strings.Replace(unclaimed("a1"), "status:", "spec: {filesystem: {fsType: zfs_member}}\nstatus:", 1), change.Destructive, "a1 has a filesystem: zfs_member"},
		{"new pools beside instances of others", assessedPools, "", assessedFacts + "---\n" + claimed("x1", "prod"), change.Destructive, "x1 is claimed by it and is in none of these pools"},
		{"new pools of a disk that is not there", assessedPools, "", unclaimed("a2", "a3", "a4", "w1", "b1", "b2"), change.Disruptive, "a1 is not among the block devices: the webhook refuses it"},
		{"new pools with a host twice", strings.Replace(assessedPools, "hostname: n2", "hostname: n1", 1), "", "", change.Disruptive, "the webhook refuses it, and the sync stops here: host n1 has two pools (\"invalid cspc: duplicate node n1 entry\")"},
		{"new pools with a disk twice", strings.Replace(assessedPools, "{blockDeviceName: a3}", "{blockDeviceName: a1}", 1), "", "", change.Disruptive, "block device a1 is in two places (\"invalid cspc: cspc {prod} has duplicate blockdevices entries [a1]\")"},
		{"new pools of a dead disk", assessedPools, "", strings.Replace(unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), "Active", "Inactive", 1), change.Disruptive, "a1 is Inactive, not Active: the webhook refuses it"},
		{"new pools of a disk of another host", assessedPools, "", strings.Replace(unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), "namespace: openebs", "namespace: openebs, labels: {kubernetes.io/hostname: n9}", 1), change.Disruptive, "a1 is on host n9, not n1: the webhook refuses it"},
		{"new pools of disks of another", assessedPools, "", claimed("a1", "other"), change.Destructive, "a1 is claimed by other: the webhook refuses it, or else what is on it is lost"},
		{"new pools of disks that another names", assessedPools, "", unclaimed("a1") + strings.Replace(assessedPools, "name: prod", "name: other", 1), change.Destructive, "is taken by the live CStorPoolCluster openebs/other: the webhook refuses it"},
		{"new pools of disks that another of another namespace names", assessedPools, "", strings.Replace(assessedPools, "namespace: openebs", "namespace: elsewhere", 1), change.Safe, "makes 2 new pools"},
		{"a pool more, of a disk that another names", assessedPools, onN3, strings.NewReplacer("name: prod", "name: other", "a1", "c1").Replace(assessedPools), change.Destructive, "c1 is taken by the live CStorPoolCluster openebs/other"},
		{"a pool more, of a disk that a pool of another has", assessedPools, onN3, "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolInstance\nmetadata: {name: other-x, namespace: openebs, labels: {openebs.io/cstor-pool-cluster: other}}\nspec: {dataRaidGroups: [{blockDevices: [{blockDeviceName: c1}]}]}\n", change.Destructive, "c1 is taken by the live CStorPoolInstance openebs/other-x"},
		{"new pools of disks of another, where some are left", assessedPools, "", assessedFacts + "---\n" + claimed("a1", "other"), change.Destructive, "a1 is claimed by other"},
		{"new pools of a disk that somebody claims", assessedPools, "", strings.Replace(claimed("a1", "x"), "openebs.io/cstor-pool-cluster: x", "a: b", 1), change.Destructive, "a1 is claimed by bdc-a1"},
		{"new pools of a disk that who knows who claims", assessedPools, "", strings.Replace(unclaimed("a1"), "Unclaimed", "Claimed", 1), change.Destructive, "a1 is claimed, and the claim is not in the inventory"},
		{"a pool more", assessedPools, onN3, "", change.Safe, "a new pool on n3, of 1 block device; the others go on"},
		{"a pool more, of a free disk", assessedPools, onN3, unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2", "c1"), change.Safe, "a new pool on n3, of 1 free block device; the others go on"},
		{"a pool more, of a disk of another", assessedPools, onN3, claimed("c1", "other"), change.Destructive, "c1 is claimed by other"},
		{"a stripe grows by a disk of another", assessedPools, replace("{blockDeviceName: b2}", "{blockDeviceName: b2}, {blockDeviceName: b3}"), claimed("b3", "other"), change.Destructive, "b3 is claimed by other"},
		{"a disk replaced with one of another", assessedPools, replace("a1", "x1"), pooled("ONLINE", "a1=Active", "a2=Active") + "---\n" + claimed("x1", "other"), change.Destructive, "x1 is claimed by other"},
		{"new pools where some are left", assessedPools, "", assessedFacts, change.Disruptive, "2 pools of it exist without it"},
		{"all pools go", assessedPools, gone, assessedFacts, change.Destructive, "every pool goes, with what is on it; 2 volume replicas on it"},
		{"all pools go, unknown", assessedPools, gone, "", change.Destructive, "the inventory does not show"},
		{"a pool goes", assessedPools, replace(assessedPools[strings.Index(assessedPools, "  - nodeSelector: {kubernetes.io/hostname: n2}"):strings.Index(assessedPools, "  resources")], ""), assessedFacts,
			change.Destructive, "the pool on n2 goes, with what is on it; the inventory knows of no volume replica on it"},
		{"all pools go, replicas unknown", assessedPools, gone, assessedFacts[:strings.Index(assessedFacts, "---\napiVersion: cstor.openebs.io/v1\nkind: CStorVolumeReplica")], change.Destructive, "the inventory does not show whether volume replicas are on it"},
		{"all pools go, there are no replicas", assessedPools, gone, assessedFacts[:strings.Index(assessedFacts, "---\napiVersion: cstor.openebs.io/v1\nkind: CStorVolumeReplica")] + "---\napiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: cstorvolumereplicas}\nitems: []\n", change.Destructive, "the inventory knows of no volume replica on it"},
		{"all pools go, there are none in another namespace", assessedPools, gone, assessedFacts[:strings.Index(assessedFacts, "---\napiVersion: cstor.openebs.io/v1\nkind: CStorVolumeReplica")] + "---\napiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: cstorvolumereplicas, annotations: {poolwright.io/namespace: elsewhere}}\nitems: []\n", change.Destructive, "the inventory does not show whether volume replicas are on it"},
		{"all pools go, with replicas, and none in another namespace", assessedPools, gone, assessedFacts + "---\napiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata: {name: cstorvolumereplicas, annotations: {poolwright.io/namespace: elsewhere}}\nitems: []\n", change.Destructive, "2 volume replicas on it"},
		{"a pool moves", assessedPools, replace("hostname: n2", "hostname: n3"), "", change.Disruptive, "the pool on n2 moves to n3 with all its disks"},
		{"a pool moves and changes its RAID type", assessedPools, replace("hostname: n2", "hostname: n3", "dataRaidGroupType: stripe", "dataRaidGroupType: mirror"), "", change.Destructive, "the pool on n2 goes"},
		{"a pool moves and changes its groups", assessedPools, replace("hostname: n1", "hostname: n3", "a1}", "a3}", "a3}", "a1}"), "", change.Destructive, "the pool on n1 goes"},
		{"a pool moves and changes its order", assessedPools, replace("hostname: n1", "hostname: n3", "{blockDeviceName: a3}, {blockDeviceName: a4}", "{blockDeviceName: a4}, {blockDeviceName: a3}"), "", change.Disruptive, "the pool on n1 moves to n3 with all its disks"},
		{"a pool for another", assessedPools, replace("hostname: n2", "hostname: n3", "b1", "c1"), "", change.Destructive, "the operator ignores an edit that removes a pool and adds another"},
		{"the order of pools and disks", assessedPools, replace("[{blockDeviceName: a1}, {blockDeviceName: a2}]", "[{blockDeviceName: a2}, {blockDeviceName: a1}]"), "", change.Safe, "the operator ignores the order"},

		{"the order of groups", assessedPools, replace("a1}", "a3}", "a2}", "a4}", "a3}", "a1}", "a4}", "a2}"), "", change.Safe, "the operator ignores the order"},
		{"the order of pools", poolsOf(0, 1, 2), replace(poolsOf(0, 1, 2), poolsOf(2, 0, 1)), "", change.Safe, "the operator ignores the order"},
		{"the order of all", poolsOf(0, 1, 2), replace(poolsOf(0, 1, 2), strings.NewReplacer("d0}", "d1}", "d1}", "d0}").Replace(poolsOf(2, 1, 0))), "", change.Safe, "the operator ignores the order"},
		{"a pool moves, its disks not relabelled", assessedPools, replace("hostname: n2", "hostname: n3"), on("n2", "b1", "b2"), change.Disruptive, "the webhook refuses it, and the sync stops here: block device b1 of the pool on n3 is on host n2, not n3 (and 1 more)"},

		{"a disk replaced with a smaller one", assessedPools, replace("a1", "x1"), strings.Replace(pooled("ONLINE", "a1=Active", "a2=Active"), "a1, namespace: openebs}", "a1, namespace: openebs}\nspec: {capacity: {storage: 2Gi}}", 1), change.Disruptive, "x1 cannot take the place of a1: it is smaller, 0 and not 2Gi: the webhook refuses it, and the sync stops here"},
		{"a disk replaced with a tagged one", assessedPools, replace("a1", "x1"), strings.Replace(pooled("ONLINE", "a1=Active", "a2=Active"), "x1, namespace: openebs", "x1, namespace: openebs, labels: {openebs.io/block-device-tag: fast}", 1), change.Disruptive, "x1 is tagged \"fast\", and its claim is never answered: the webhook lets it pass, and the operator never carries it out"},
		{"a second disk of a group replaced", assessedPools, replace("a1", "x1"), pooled("ONLINE", "a1=Active", "a2=Active") + replacing("a2", "a9"), change.Disruptive, "x1 cannot take the place of a1: a replacement in its RAID group is under way"},
		{"a disk replaced where the hostname differs", assessedPools, replace("a1", "x1"), node("node-1", "n1") + node("n2", "n2") + pooled("ONLINE", "a1=Active", "a2=Active"), change.Disruptive, "the hostname label of the node is not its name"},
		{"a group goes where the hostname differs", assessedPools, replace("    - blockDevices: [{blockDeviceName: a3}, {blockDeviceName: a4}]\n", ""), node("node-1", "n1") + node("n2", "n2"), change.Destructive, "the webhook lets it pass, and it goes wrong: pool on n1: the RAID group of a3 is gone"},
		{"a setting beside a dead disk", assessedPools, replace("lz4", "gzip"), strings.Replace(unclaimed("a1", "a2", "a3", "a4", "w1", "b1", "b2"), "Active", "Inactive", 1), change.Disruptive, "the webhook refuses it, and the sync stops here: block device a1 of the pool on n1 is Inactive, not Active"},
		{"a setting beside a lost node", assessedPools, replace("lz4", "gzip"), node("n2", "n2"), change.Disruptive, "the webhook refuses it, and the sync stops here: pool on n1: its node selector finds 0 nodes"},
		{"a setting of many disks", poolsOf(0, 1, 2, 3, 4, 5, 6, 7, 8), replace("compression: lz4", "compression: gzip"), "", change.Disruptive, "it may be refused: the cStor webhook needs about 14.2 seconds for it (37 requests for disks, 63 node lists)"},
		{"a pool goes before it is there", assessedPools, replace(assessedPools[strings.Index(assessedPools, "  - nodeSelector: {kubernetes.io/hostname: n2}"):strings.Index(assessedPools, "  resources")], ""), assessedFacts[:strings.Index(assessedFacts, "---")], change.Destructive, "the webhook refuses it, and the sync stops here: pool on n2: it cannot go yet"},
		{"a pool more before one is gone", assessedPools, onN3, "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolInstance\nmetadata: {name: prod-x9, namespace: openebs, labels: {kubernetes.io/hostname: n9, openebs.io/cstor-pool-cluster: prod}}\n", change.Destructive, "the webhook lets it pass, and it goes wrong: pool on n9: it was removed, and its CStorPoolInstance prod-x9 is still there"},

		{"a disk replaced", assessedPools, replace("a1", "x1"), pooled("ONLINE", "a1=Active", "a2=Active"), change.Disruptive, "block device a1 is replaced with x1: the pool rebuilds it (resilver), and has less redundancy until that is done"},
		{"a disk replaced, the pool unknown", assessedPools, replace("a1", "x1"), pooled("", "a1=Active", "a2=Active"), change.Disruptive, "the inventory does not show whether the pool is ONLINE"},
		{"a disk replaced, all unknown", assessedPools, replace("a1", "x1"), "", change.Destructive, "a2 is not in the inventory"},
		{"a disk replaced, the group unknown", assessedPools, replace("a1", "x1"), pooled("ONLINE", "a1=Active"), change.Destructive, "a2 is not in the inventory"},
		{"the good disk replaced", assessedPools, replace("a1", "x1"), pooled("DEGRADED", "a1=Active", "a2=Inactive"), change.Destructive, "what is on it cannot be rebuilt from the rest of its RAID group: block device a2 is Inactive"},
		{"the good disk replaced, the pool says ONLINE", assessedPools, replace("a1", "x1"), pooled("ONLINE", "a1=Active", "a2=Inactive"), change.Destructive, "a2 is Inactive"},
		{"the dead disk replaced", assessedPools, replace("a1", "x1"), pooled("DEGRADED", "a1=Inactive", "a2=Active"), change.Disruptive, "the pool rebuilds it"},
		{"the lost disk replaced", assessedPools, replace("a1", "x1"), pooled("DEGRADED", "a2=Active"), change.Disruptive, "x1 cannot take the place of a1: that is gone, and the webhook cannot compare their sizes: the webhook refuses it"},
		{"one dead elsewhere", assessedPools, replace("a1", "x1"), pooled("DEGRADED", "a1=Active", "a2=Active", "a3=Active", "a4=Inactive"), change.Disruptive, "the pool rebuilds it"},
		{"a disk replaced, degraded by none", assessedPools, replace("a1", "x1"), pooled("Degraded", "a1=Active", "a2=Active", "a3=Active", "a4=Active", "w1=Active"), change.Destructive, "the pool is Degraded, and the inventory does not show which disk it lacks"},
		{"a disk replaced during a rebuild", assessedPools, replace("a1", "x1"), strings.Replace(pooled("DEGRADED", "a1=Inactive", "a2=Active"), "phase: DEGRADED", "phase: DEGRADED, conditions: [{type: DiskReplacement, status: \"True\"}]", 1), change.Destructive, "the pool is DEGRADED and rebuilds another disk, for which it may need this one; wait until the replacement is done"},
		{"a disk replaced during a rebuild, which leaves a pool ONLINE", assessedPools, replace("a1", "x1"), strings.Replace(pooled("ONLINE", "a1=Active", "a2=Active"), "phase: ONLINE", "phase: ONLINE, conditions: [{type: DiskReplacement, status: \"True\"}]", 1), change.Destructive, "the pool is ONLINE and rebuilds another disk"},
		{"a disk replaced after a rebuild", assessedPools, replace("a1", "x1"), strings.Replace(pooled("ONLINE", "a1=Active", "a2=Active"), "phase: ONLINE", "phase: ONLINE, conditions: [{type: DiskReplacement, status: \"False\"}]", 1), change.Disruptive, "the pool rebuilds it"},
		{"a disk replaced, the pool offline", assessedPools, replace("a1", "x1"), pooled("OFFLINE", "a1=Inactive", "a2=Active"), change.Destructive, "the pool is OFFLINE"},
		{"a disk replaced in each group", assessedPools, replace("a1", "x1", "a3", "x3"), pooled("ONLINE", "a1=Active", "a2=Active", "a3=Active", "a4=Active"), change.Disruptive, "block device a3 is replaced with x3"},
		{"disks that change places", assessedPools, replace("a1}", "a3}", "a3}", "a1}"), pooled("ONLINE", "a1=Active", "a2=Active", "a3=Active", "a4=Active"), change.Destructive, "a3 is in use in the pool cluster already"},
		{"a disk of another pool", assessedPools, replace("a1}", "b1}"), pooled("ONLINE", "a1=Active", "a2=Active"), change.Destructive, "b1 is in use in the pool cluster already"},
		{"a stripe grows by a disk of another pool", assessedPools, replace("{blockDeviceName: b2}", "{blockDeviceName: b2}, {blockDeviceName: a1}"), "", change.Destructive, "a1 is in use in the pool cluster already"},
		{"a group of disks of another", assessedPools, replace("    writeCacheRaidGroups", "    - blockDevices: [{blockDeviceName: b1}, {blockDeviceName: a6}]\n    writeCacheRaidGroups"), "", change.Destructive, "b1 is in use in the pool cluster already"},
		{"a pool of disks of another", assessedPools, replace("  resources:", "  - nodeSelector: {kubernetes.io/hostname: n3}\n    dataRaidGroups: [{blockDevices: [{blockDeviceName: a1}]}]\n    poolConfig: {dataRaidGroupType: stripe}\n  resources:"), "", change.Destructive, "a1 is in use in the pool cluster already"},
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
		{"no settings any more", assessedPools, replace("    poolConfig: {dataRaidGroupType: stripe}\n", ""), "", change.Destructive, "in a way that no rule knows"},
		{"no spec any more", assessedPools, replace(assessedPools[strings.Index(assessedPools, "spec:"):], ""), "", change.Destructive, "in a way that no rule knows"},
		{"no pools any more", assessedPools, replace(assessedPools[strings.Index(assessedPools, "  pools"):strings.Index(assessedPools, "  resources")], ""), "", change.Destructive, "in a way that no rule knows"},
		{"another RAID type", assessedPools, replace("dataRaidGroupType: mirror", "dataRaidGroupType: raidz"), "", change.Destructive, "cannot change its RAID type"},

		{"a cache more", assessedPools, replace("[{blockDeviceName: w1}]", "[{blockDeviceName: w1}, {blockDeviceName: w2}]"), "", change.Safe, "does not carry this out"},
		{"no cache", assessedPools, replace("    writeCacheRaidGroups:\n    - blockDevices: [{blockDeviceName: w1}]\n", ""), "", change.Disruptive, "the webhook refuses it, and the sync stops here: write cache: the RAID group of w1 is gone (\"raid group validation failed: removing raid group from pool spec is invalid operation\")"},
		{"another cache type", assessedPools, replace("writeCacheGroupType: stripe", "writeCacheGroupType: mirror"), "", change.Disruptive, "the webhook refuses it, and the sync stops here: pool on n1: write cache: 1 disk does not make a mirror group"},
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
		{"a claim that has a volume goes", assessedClaim, gone, strings.Replace(assessedClaim, "spec: {", "spec: {volumeName: pv-1, ", 1), change.Destructive, "goes with its claim"},
		{"a claim grows", assessedClaim, replace("10Gi", "20Gi"), expandable, change.Safe, "the volume grows while it is used"},
		{"a claim grows, the class unknown", assessedClaim, replace("10Gi", "20Gi"), "", change.Disruptive, "unknown whether the volume can grow: StorageClass fast is not in the inventory; refresh it with poolwright inventory"},
		{"a claim grows, of no class", strings.Replace(assessedClaim, "storageClassName: fast, ", "", 1), replace("10Gi", "20Gi"), expandable, change.Disruptive, "unknown whether the volume can grow: the claim names no StorageClass"},
		{"a claim grows that is not bound", assessedClaim, replace("10Gi", "20Gi"), expandable + "---\n" + assessedClaim + "status: {phase: Pending}\n", change.Disruptive, "only the claim of a bound volume can grow"},
		{"a claim grows that cannot", assessedClaim, replace("10Gi", "20Gi"), "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n", change.Disruptive, "StorageClass fast does not allow volumes to grow"},
		{"a claim shrinks", assessedClaim, replace("10Gi", "10G"), "", change.Disruptive, "a volume cannot shrink"},
		{"a claim of another class", assessedClaim, replace("fast", "slow"), "", change.Disruptive, "the API server refuses it: a claim cannot change spec.storageClassName"},
		{"a claim of other attributes", assessedClaim, replace("fast", "fast, volumeAttributesClassName: gold"), "", change.Disruptive, "the driver changes the volume to class gold while it is used"},
		{"a claim of no attributes", strings.Replace(assessedClaim, "fast", "fast, volumeAttributesClassName: gold", 1), replace(", volumeAttributesClassName: gold", ""), "", change.Disruptive, "the API server refuses it once the volume has attributes of a class"},
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
				new = parse(t, c.object)
			case gone:
				old = parse(t, c.object)
			default:
				text := strings.NewReplacer(strings.Split(c.edit, "\x00")...).Replace(c.object)
				if text == c.object {
					t.Fatal("nothing was edited")
				}
				old, new = parse(t, c.object), parse(t, text)
			}
			changes := change.Between(old, new)
			if len(changes) != 1 {
				t.Fatalf("%d changes", len(changes))
			}
			got := changes[0]
			assess(inventory.New(parse(t, c.facts)), got)
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

// A pool is found by its disks where its selector is no plain host name: a stripe
// stays one.
func TestAssessSelector(t *testing.T) {
	pools := strings.Replace(assessedPools, "hostname: n2}", "hostname: n2, zone: z}", 1)
	for _, edit := range [][2]string{{"{blockDeviceName: b2}", "{blockDeviceName: x2}"}, {"dataRaidGroupType: stripe", "dataRaidGroupType: raidz"}} {
		changes := change.Between(parse(t, pools), parse(t, strings.Replace(pools, edit[0], edit[1], 1)))
		assess(inventory.New(parse(t, pooled("", "b1=Active", "b2=Active"))), changes[0])
		if changes[0].Risk != change.Destructive {
			t.Errorf("%s: %+v", edit[1], changes[0].Reasons)
		}
	}
	grown := strings.Replace(pools, "{blockDeviceName: b2}]\n", "{blockDeviceName: b2}]\n    - blockDevices: [{blockDeviceName: b3}]\n", 1)
	changes := change.Between(parse(t, pools), parse(t, grown))
	assess(inventory.New(nil), changes[0])
	if changes[0].Risk != change.Disruptive {
		t.Errorf("%+v", changes[0].Reasons)
	}
}

// What no rule knows is left to the caller, who takes it for disruptive.
func TestAssessUnknown(t *testing.T) {
	for _, edit := range [][2]string{{"compression: lz4", "brandNew: x"}, {"spec:\n", "spec:\n  brandNew: x\n"}, {"dataRaidGroupType: stripe", "dataRaidGroupType: stripe, resourcesNew: x"}} {
		changes := change.Between(parse(t, assessedPools), parse(t, strings.Replace(assessedPools, edit[0], edit[1], 1)))
		assess(inventory.New(nil), changes[0])
		for _, r := range changes[0].Reasons {
			if strings.Contains(r.Field, "New") {
				t.Errorf("%+v", r)
			}
		}
	}
}

// assess is System.Assess with nothing held but by what lives.
func assess(facts *inventory.Facts, c *change.Change) {
	ledger := disk.NewLedger(facts)
	for _, kind := range []string{poolClusterKind, poolInstanceKind} {
		for _, o := range facts.Objects(cstorGroup, kind) {
			ledger.Add(disk.Holder{Object: o.Ref, Owner: o.Owner(), Source: disk.Live}, System{}.Holds(o))
		}
	}
	System{}.Assess(facts, ledger, c)
}

func parse(t *testing.T, text string) []*krm.Object {
	t.Helper()
	objects, err := krm.Parse(&document.Source{Name: "test", Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
