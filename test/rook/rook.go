// Package rook plays the operators of Rook, of CDI and of snapshots: what they say of the
// objects of a HyperCloudStorage when all is well, and in each way in which it is not. The
// statuses are those that the operators write. The scripts of poolwright status and tree
// put them into files, and the engines' tests into a cluster, one after the other.
package rook

import (
	"strings"
)

// Object is a Kubernetes object.
type Object = map[string]any

// Failure is something that goes wrong; "" is nothing.
type Failure string

// The failures, in the order of the levels.
const (
	DefinitionMissing  Failure = "definition-missing"
	OperatorMissing    Failure = "operator-missing"
	OperatorDown       Failure = "operator-down"
	ClusterFailed      Failure = "cluster-failed"
	NoOSDs             Failure = "no-osds"
	OSDMissing         Failure = "osd-missing"
	HealthError        Failure = "health-error"
	HealthWarning      Failure = "health-warning"
	PoolNotReady       Failure = "pool-not-ready"
	PoolFailed         Failure = "pool-failed"
	CDIDeploying       Failure = "cdi-deploying"
	CDIFailed          Failure = "cdi-failed"
	ToolboxUnavailable Failure = "toolbox-unavailable"
)

const (
	release    = "ceph version 20.2.4 tentacle (stable)"
	operator   = "rook-ceph-operator"
	toolbox    = "rook-ceph-tools"
	deployment = "Deployment"
)

// Status is what the operators say in the end of an object that was rendered; nil if
// nobody says anything of its kind.
func Status(o Object, failed Failure) Object {
	kind, _ := o["kind"].(string)
	switch kind {
	case "CephCluster":
		return clusterStatus(o, failed)
	case "CephBlockPool":
		switch failed {
		case PoolNotReady:
			return Object{"phase": "Progressing"}
		case PoolFailed:
			return Object{"phase": "Failure", "conditions": []any{condition("Ready", false, "ReconcileFailed", "failed to create pool: no OSD of class ssd")}}
		}
		return ready()
	case "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStore":
		return ready()
	case "CDI":
		switch failed {
		case CDIDeploying:
			return Object{"phase": "Deploying"}
		case CDIFailed:
			return Object{"phase": "Error", "conditions": []any{condition("Degraded", true, "DeployFailed", "cdi-deployment has no pods")}}
		}
		return Object{"phase": "Deployed", "conditions": []any{condition("Available", true, "DeployCompleted", ""), condition("Degraded", false, "", "")}}
	case deployment:
		return deploymentStatus(name(o), failed)
	}
	return nil
}

// Before is what the operators say of an object while they are at work on it.
func Before(o Object) Object {
	kind, _ := o["kind"].(string)
	switch kind {
	case "CephCluster":
		return Object{"phase": "Progressing", "state": "Creating", "message": "Configuring Ceph Mons"}
	case "CephBlockPool", "CephFilesystem", "CephFilesystemSubVolumeGroup", "CephObjectStore":
		return Object{"phase": "Progressing"}
	case "CDI":
		return Object{"phase": "Deploying"}
	}
	return nil
}

func clusterStatus(o Object, failed Failure) Object {
	count := osds(o)
	health, details := "HEALTH_OK", Object{}
	raise := func(severity, check, message string) {
		health, details[check] = severity, Object{"severity": severity, "message": message}
	}
	switch failed {
	case ClusterFailed:
		return Object{"phase": "Failure", "state": "Error", "message": "failed to create cluster: the mons have no quorum"}
	case NoOSDs:
		count = 0
		raise("HEALTH_WARN", "TOO_FEW_OSDS", "OSD count 0 < osd_pool_default_size 3")
	case OSDMissing:
		count--
		raise("HEALTH_WARN", "OSD_DOWN", "1 osds down")
	case HealthError:
		raise("HEALTH_ERR", "PG_DAMAGED", "Possible data damage: 1 pg inconsistent")
	case HealthWarning:
		raise("HEALTH_WARN", "POOL_NO_REDUNDANCY", "1 pool(s) have no replicas configured")
	}
	said := Object{"health": health}
	if len(details) > 0 {
		said["details"] = details
	}
	versions := Object{"mon": Object{release: int64(3)}}
	said["versions"] = versions
	if count > 0 {
		versions["osd"] = Object{release: count}
	}
	return Object{
		"phase": "Ready", "state": "Created", "message": "Cluster created successfully",
		"conditions": []any{condition("Ready", true, "ClusterCreated", "Cluster created successfully")},
		"ceph":       said,
	}
}

// osds is how many OSDs a CephCluster has in the end: one a device, or as many as it says.
func osds(o Object) int64 {
	spec, _ := o["spec"].(Object)
	storage, _ := spec["storage"].(Object)
	nodes, _ := storage["nodes"].([]any)
	count := int64(0)
	for _, n := range nodes {
		node, _ := n.(Object)
		devices, _ := node["devices"].([]any)
		for _, d := range devices {
			device, _ := d.(Object)
			config, _ := device["config"].(Object)
			if each, _ := config["osdsPerDevice"].(string); each != "" {
				count += int64(each[0] - '0')
				continue
			}
			count++
		}
	}
	return count
}

func deploymentStatus(name string, failed Failure) Object {
	if failed == OperatorDown && name == operator || failed == ToolboxUnavailable && name == toolbox {
		return Object{"conditions": []any{condition("Available", false, "MinimumReplicasUnavailable", "")}}
	}
	return Object{
		"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
		"conditions": []any{condition("Available", true, "MinimumReplicasAvailable", ""), condition("Progressing", true, "NewReplicaSetAvailable", "")},
	}
}

func ready() Object {
	return Object{"phase": "Ready", "conditions": []any{condition("Ready", true, "ReconcileSucceeded", "")}}
}

func condition(kind string, holds bool, reason, message string) Object {
	status := "False"
	if holds {
		status = "True"
	}
	c := Object{"type": kind, "status": status}
	if reason != "" {
		c["reason"] = reason
	}
	if message != "" {
		c["message"] = message
	}
	return c
}

// Definitions names the definitions that Rook 1.20, CDI and the snapshot controller need.
func Definitions() []string {
	var names []string
	for group, plurals := range map[string]string{
		"ceph.rook.io": "cephblockpoolradosnamespaces cephblockpools cephbucketnotifications cephbuckettopics cephclients cephclusters cephcosidrivers " +
			"cephfilesystemmirrors cephfilesystems cephfilesystemsubvolumegroups cephnfses cephobjectrealms cephobjectstores cephobjectstoreusers " +
			"cephobjectzonegroups cephobjectzones cephrbdmirrors",
		"objectbucket.io":         "objectbucketclaims objectbuckets",
		"csi.ceph.io":             "cephconnections clientprofiles drivers operatorconfigs",
		"snapshot.storage.k8s.io": "volumesnapshotclasses volumesnapshotcontents volumesnapshots",
		"cdi.kubevirt.io":         "cdis",
	} {
		for plural := range strings.FieldsSeq(plurals) {
			names = append(names, plural+"."+group)
		}
	}
	return names
}

// Deployments are the operators, as their manifests have them.
func Deployments(namespace string) []Object {
	var all []Object
	for _, at := range [][2]string{
		{operator, namespace}, {"ceph-csi-controller-manager", namespace}, {"snapshot-controller", "kube-system"}, {"cdi-operator", "cdi"},
	} {
		all = append(all, Object{"apiVersion": "apps/v1", "kind": deployment, "metadata": Object{"name": at[0], "namespace": at[1]}})
	}
	return all
}

// Facts are what a cluster has in which the objects were applied and the operators have
// done what they could: the objects, with their statuses, and what they need.
func Facts(objects []Object, namespace string, failed Failure) []Object {
	var facts []Object
	say := func(o Object) {
		if status := Status(o, failed); status != nil {
			o["status"] = status
		}
		facts = append(facts, o)
	}
	for _, definition := range Definitions() {
		if failed == DefinitionMissing && definition == "cephclusters.ceph.rook.io" {
			continue
		}
		facts = append(facts, Object{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": Object{"name": definition},
			"status": Object{"conditions": []any{condition("Established", true, "InitialNamesAccepted", "")}},
		})
	}
	for _, d := range Deployments(namespace) {
		if failed != OperatorMissing || name(d) != operator {
			say(d)
		}
	}
	for _, o := range objects {
		if kind, _ := o["kind"].(string); failed == DefinitionMissing && kind == "CephCluster" || o["apiVersion"] == nil {
			continue
		}
		say(o)
	}
	return facts
}

func name(o Object) string {
	metadata, _ := o["metadata"].(Object)
	text, _ := metadata["name"].(string)
	return text
}
