package snapshot

import (
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema/document"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ name, mask, in, want string }{
		{"whole, in order", "spec", `{"spec":{"b":1,"a":[{"d":2,"c":3}]},"status":{}}`, `{"spec":{"a":[{"c":3,"d":2}],"b":1}}`},
		{"some fields", "spec{a b{c}}", `{"spec":{"a":1,"b":{"c":2,"x":3},"x":4}}`, `{"spec":{"a":1,"b":{"c":2}}}`},
		{"every item", "l{a}", `{"l":[{"a":1,"b":2},{"a":3}]}`, `{"l":[{"a":1},{"a":3}]}`},
		{"some items", "l[t=x]{a}", `{"l":[{"t":"x","a":1},{"t":"y","a":2}]}`, `{"l":[{"a":1}]}`},
		{"nothing left", "status{phase c[t=x]{a}}", `{"status":{"other":1,"c":[{"t":"y"}]}}`, `{}`},
		{"empty as it is", "spec", `{"spec":{"filesystem":{},"l":[],"n":null}}`, `{"spec":{"filesystem":{},"l":[]}}`},
		{"after the brackets", "a{b} c", `{"a":{"b":1},"c":2}`, `{"a":{"b":1},"c":2}`},
		{"secrets", "spec", `{"spec":{"nodePublishSecretRef":{"name":"s"},"adminPassword":"x","a":[{"tokenRequests":1}],"path":"/dev/sda"}}`, `{"spec":{"a":[{}],"path":"/dev/sda"}}`},
		{"clocks", "status", `{"status":{"conditions":[{"lastHeartbeatTime":"1","lastUpdateTime":"2","lastTransitionTime":"3"}]}}`, `{"status":{"conditions":[{"lastTransitionTime":"3"}]}}`},
		{"not a map", "spec{a}", `{"spec":7}`, `{"spec":7}`},
		{"names", "p@ q{r@}", `{"p":{"b":{"x":1},"a":2},"q":{"r":{"z":[]},"s":1}}`, `{"p":["a","b"],"q":{"r":["z"]}}`},
		{"names of what is no map", "p@", `{"p":"x"}`, `{"p":"x"}`},
		{"any case", "m{LUN}", `{"m":{"lun":"3","devicePath":"/dev/sdc"}}`, `{"m":{"lun":"3"}}`},
		{"any name", "d{*{s}}", `{"d":{"b":{"s":1,"x":2},"a":{"x":3},"c":{"s":4}}}`, `{"d":{"b":{"s":1},"c":{"s":4}}}`},
		{"users of addresses", "spec", `{"spec":{"a":"http://user:p@ss@proxy:3128/x@y","b":["see ftp://u@h, then s3://h/a@b"],"c":"a@b"}}`,
			`{"spec":{"a":"http://proxy:3128/x@y","b":["see ftp://h, then s3://h/a@b"],"c":"a@b"}}`},
		{"requests", "m", `{"m":"StatusCode: 400, RequestID: 5c0d3b6e-1f0a-4e0e-9a39-6e3d1b0c2a11, VolumeInUse"}`, `{"m":"StatusCode: 400, VolumeInUse"}`},
	} {
		got := parseMask(c.mask).apply(mustParse([]byte(c.in)))
		if text := string(document.AppendJSON(nil, &got)); text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

func TestMaskWith(t *testing.T) {
	in := `{"spec":{"a":{"x":1,"y":2},"b":3},"status":{"c":[{"type":"Ready","z":4}],"d":{"e":5,"f":6}}}`
	for path, want := range map[string]string{
		"status.d.e": `{"spec":{"a":{"x":1}},"status":{"d":{"e":5}}}`,
		"spec.a":     `{"spec":{"a":{"x":1,"y":2}}}`,
		"spec.a.y":   `{"spec":{"a":{"x":1,"y":2}}}`,
		"spec":       `{"spec":{"a":{"x":1,"y":2},"b":3}}`,
		"nothing":    `{"spec":{"a":{"x":1}}}`,
	} {
		m := parseMask("spec{a{x}}")
		got := m.with(strings.Split(path, ".")).apply(mustParse([]byte(in)))
		if text := string(document.AppendJSON(nil, &got)); text != want {
			t.Errorf("%s: got %s, want %s", path, text, want)
		}
		before := m.apply(mustParse([]byte(in)))
		if text := string(document.AppendJSON(nil, &before)); text != `{"spec":{"a":{"x":1}}}` {
			t.Errorf("%s changed the mask itself: %s", path, text)
		}
	}
}

func TestItem(t *testing.T) {
	kind, _ := system.NewKinds(systems.All()...).Find(krm.GroupKind{Kind: "Node"})
	o := Options{Annotations: []string{"example.com/rack"}}
	in := `{"kind":"Node","apiVersion":"v1","metadata":{"uid":"u","resourceVersion":"9","managedFields":[{}],"name":"n","generation":3,
		"annotations":{"poolwright.io/owner":"o","example.com/rack":"7","kubectl.kubernetes.io/last-applied-configuration":"x"},
		"labels":{"b":"2","a":"1"},"creationTimestamp":"2026-01-01T00:00:00Z","ownerReferences":[{}]},
		"spec":{"podCIDR":"10.0.0.0/24","unschedulable":true}}`
	want := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"a":"1","b":"2"},` +
		`"annotations":{"example.com/rack":"7","poolwright.io/owner":"o"},"uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"unschedulable":true}}`
	if got := o.slimmer(&kind).item(mustParse([]byte(in))); got.json != want || got.name != "n" || got.namespace != "" {
		t.Errorf("got  %s\nwant %s", got.json, want)
	}
}

func TestKeep(t *testing.T) {
	spec := krm.NewObject(nil, mustParse([]byte(`{"spec":{
		"allowedNodes":{"nodeSelectorTerms":[{"matchAnnotations":{"example.com/rack":"7"},"matchFields":[{"key":"metadata.name"}]}]},
		"disks":{"terms":[{"matchFields":[{"key":"status.temperature"},{"key":"metadata.annotations.shelf"},{"key":"spec.path"}]},{"matchFields":{"status.temperature":"4"}}]}}}`)))
	var o Options
	o.Keep([]*krm.Object{spec})
	if len(o.Annotations) != 2 || o.Annotations[0] != "example.com/rack" || o.Annotations[1] != "shelf" ||
		len(o.Fields) != 2 || o.Fields[0] != "spec.path" || o.Fields[1] != "status.temperature" {
		t.Errorf("%q %q", o.Annotations, o.Fields)
	}
}

// What holds a secret never gets into Git, whatever its field is called, and what
// changes while the cluster does not makes no difference.
func TestKinds(t *testing.T) {
	kinds := system.NewKinds(systems.All()...).Read()
	for _, c := range []struct{ kind, in, want string }{
		{"Node", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"KubeletNotReady","message":"PLEG is not healthy: pleg was last seen active 3m2s ago",
			"lastHeartbeatTime":"1","lastTransitionTime":"2"}]}}`,
			`{"status":{"conditions":[{"lastTransitionTime":"2","reason":"KubeletNotReady","status":"False","type":"Ready"}]}}`},
		{"VolumeAttachment", `{"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"pv","inlineVolumeSpec":{"csi":{"volumeAttributes":{"key":"hunter2"}}}}},
			"status":{"attached":false,"attachmentMetadata":{"LUN":"3","chapUser":"hunter2"},"attachError":{"time":"1","message":"in use","errorCode":4},"detachError":{"time":"2","message":"gone"}}}`,
			`{"spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"pv"}},` +
				`"status":{"attachError":{"message":"in use"},"attached":false,"attachmentMetadata":{"LUN":"3"},"detachError":{"message":"gone"}}}`},
		{"StorageClass", `{"provisioner":"p","parameters":{"restuserkey":"hunter2","resturl":"http://admin:hunter2@heketi:8080","cas-type":"cstor","cstorPoolCluster":"prod",
			"replicaCount":"3","type":"gp3","csi.storage.k8s.io/fstype":"xfs","fsType":"ext4"}}`,
			`{"parameters":{"cas-type":"cstor","csi.storage.k8s.io/fstype":"xfs","cstorPoolCluster":"prod","fsType":"ext4","replicaCount":"3","type":"gp3"},"provisioner":"p"}`},
		{"PersistentVolume", `{"spec":{"csi":{"driver":"d","volumeHandle":"h","volumeAttributes":{"key":"hunter2"}},"claimRef":{"namespace":"n","name":"c","uid":"u"}},"status":{"phase":"Bound"}}`,
			`{"spec":{"claimRef":{"name":"c","namespace":"n"},"csi":{"driver":"d","volumeHandle":"h"}},"status":{"phase":"Bound"}}`},
		{"PersistentVolume", `{"spec":{"fc":{"targetWWNs":["50060e801049cfd1"],"lun":2,"wwids":["3600508b400105e210000900000490000"],"fsType":"ext4","readOnly":true}}}`,
			`{"spec":{"fc":{"lun":2,"targetWWNs":["50060e801049cfd1"],"wwids":["3600508b400105e210000900000490000"]}}}`},
		{"PersistentVolume", `{"spec":{"iscsi":{"targetPortal":"10.0.0.1:3260","portals":["10.0.0.2"],"iqn":"iqn.2001-04.com.example:disk1","lun":0,"iscsiInterface":"default",
			"chapAuthSession":true,"initiatorName":"i","secretRef":{"name":"chap"}}}}`,
			`{"spec":{"iscsi":{"iqn":"iqn.2001-04.com.example:disk1","lun":0,"portals":["10.0.0.2"],"targetPortal":"10.0.0.1:3260"}}}`},
		{"PersistentVolume", `{"spec":{"awsElasticBlockStore":{"volumeID":"aws://eu-west-1a/vol-1","partition":1,"fsType":"ext4"}}}`,
			`{"spec":{"awsElasticBlockStore":{"partition":1,"volumeID":"aws://eu-west-1a/vol-1"}}}`},
		{"PersistentVolume", `{"spec":{"gcePersistentDisk":{"pdName":"old","partition":2,"fsType":"ext4"}}}`, `{"spec":{"gcePersistentDisk":{"partition":2,"pdName":"old"}}}`},
		{"PersistentVolume", `{"spec":{"azureDisk":{"diskName":"d","diskURI":"/subscriptions/s/disks/d","kind":"Managed"}}}`, `{"spec":{"azureDisk":{"diskURI":"/subscriptions/s/disks/d"}}}`},
		{"PersistentVolume", `{"spec":{"cinder":{"volumeID":"c","secretRef":{"name":"cloud"}}}}`, `{"spec":{"cinder":{"volumeID":"c"}}}`},
		{"PersistentVolume", `{"spec":{"vsphereVolume":{"volumePath":"[ds1] volumes/d.vmdk","storagePolicyName":"gold"}}}`, `{"spec":{"vsphereVolume":{"volumePath":"[ds1] volumes/d.vmdk"}}}`},
		{"PersistentVolume", `{"spec":{"local":{"path":"/dev/disk/by-path/p","fsType":"ext4"}}}`, `{"spec":{"local":{"path":"/dev/disk/by-path/p"}}}`},
		{"PersistentVolumeClaim", `{"status":{"phase":"Bound","capacity":{"storage":"1Gi"},"conditions":[{"type":"Resizing","message":"for 3m2s"}]}}`,
			`{"status":{"capacity":{"storage":"1Gi"},"phase":"Bound"}}`},
		{"CStorPoolInstance", `{"spec":{"hostName":"n"},"status":{"phase":"ONLINE","healthyReplicas":3,"provisionedReplicas":3,"readOnly":false,"capacity":{"free":"9630M","used":"143k","total":"9630143k"},
			"conditions":[{"type":"DiskUnavailable","status":"True","message":"sdb","lastUpdateTime":"2","lastTransitionTime":"1"}]}}`,
			`{"spec":{"hostName":"n"},"status":{"capacity":{"total":"9630143k"},"conditions":[{"lastTransitionTime":"1","message":"sdb","status":"True","type":"DiskUnavailable"}],"phase":"ONLINE","readOnly":false}}`},
		{"CStorPoolCluster", `{"spec":{"pools":[]},"status":{"desiredInstances":3,"healthyInstances":2,"provisionedInstances":3,"conditions":[{"type":"Paused","message":"3m2s"}]}}`,
			`{"spec":{"pools":[]},"status":{"desiredInstances":3,"healthyInstances":2,"provisionedInstances":3}}`},
		{"CStorVolume", `{"spec":{"capacity":"5G","iqn":"i"},"status":{"phase":"Healthy","capacity":"5G","lastUpdateTime":"1","replicaStatuses":[{"replicaId":"1","mode":"HEALTHY","quorum":"1","checkpointedIOSeq":"7","upTime":7}]}}`,
			`{"spec":{"capacity":"5G"},"status":{"capacity":"5G","phase":"Healthy","replicaStatuses":[{"mode":"HEALTHY","quorum":"1","replicaId":"1"}]}}`},
		{"CStorVolumeReplica", `{"spec":{"capacity":"5G","targetIP":"10.0.0.1"},"status":{"phase":"Healthy","capacity":{"used":"3M"},"snapshots":{}}}`, `{"status":{"phase":"Healthy"}}`},
		{"CStorVolumeReplica", `{"spec":{"capacity":"5G","replicaid":"A1"},"status":{"phase":"Healthy","snapshots":{"nightly":{"logicalReferenced":7}}}}`,
			`{"spec":{"replicaid":"A1"},"status":{"phase":"Healthy","snapshots":["nightly"]}}`},
		{"CStorVolumeConfig", `{"spec":{"capacity":{"storage":"5G"}},"publish":{"nodeId":"n"},"status":{"phase":"Bound","condition":[{"lastProbeTime":"1"}],"poolInfo":["p"]}}`,
			`{"publish":{"nodeId":"n"},"spec":{"capacity":{"storage":"5G"}},"status":{"phase":"Bound","poolInfo":["p"]}}`},
		{"DiskPool", `{"spec":{"node":"n","disks":["aio:///dev/sdb"],"encryptionConfig":{"source":{"key":"hunter2"}}},"status":{"cr_state":"Created","pool_status":"Online","used":7}}`,
			`{"spec":{"disks":["aio:///dev/sdb"],"node":"n"},"status":{"cr_state":"Created","pool_status":"Online"}}`},
		{"Volume", `{"spec":{"nodeName":"n"},"status":{"job":"GetDeviceInfo/20260101","deviceName":"sdb","conditions":[{"type":"Ready","status":"True","message":"x","lastUpdateTime":"2","lastTransitionTime":"1"}]}}`,
			`{"spec":{"nodeName":"n"},"status":{"conditions":[{"lastTransitionTime":"1","message":"x","status":"True","type":"Ready"}],"deviceName":"sdb"}}`},
		{"CephCluster", `{"spec":{"dataDirHostPath":"/var/lib/rook","security":{"kms":{"connectionDetails":{"VAULT_CLIENT_KEY":"hunter2","VAULT_CACERT":"hunter2"}}},
			"storage":{"useAllNodes":false,"config":{"key":"hunter2"},"nodes":[{"name":"n","config":{"key":"hunter2"},"devices":[{"name":"sdb","config":{"deviceClass":"ssd"}}]}]}},
			"status":{"phase":"Ready","state":"Created","message":"made","ceph":{"health":"HEALTH_WARN","lastChecked":"1","lastChanged":"2","fsid":"f","capacity":{"bytesUsed":7},
			"details":{"PG_DEGRADED":{"severity":"HEALTH_WARN","message":"7 of 9 objects"}},"versions":{"mon":{"v20":3},"osd":{"v20":2}}},
			"conditions":[{"type":"Progressing","message":"3m2s"},{"type":"Ready","status":"True","message":"made","lastHeartbeatTime":"2","lastTransitionTime":"1"}]}}`,
			`{"spec":{"dataDirHostPath":"/var/lib/rook","storage":{"nodes":[{"devices":[{"config":{"deviceClass":"ssd"},"name":"sdb"}],"name":"n"}],"useAllNodes":false}},` +
				`"status":{"ceph":{"details":{"PG_DEGRADED":{"severity":"HEALTH_WARN"}},"health":"HEALTH_WARN","versions":{"osd":{"v20":2}}},` +
				`"conditions":[{"lastTransitionTime":"1","message":"made","status":"True","type":"Ready"}],"message":"made","phase":"Ready","state":"Created"}}`},
		{"CephBlockPool", `{"spec":{"replicated":{"size":3},"mirroring":{"peers":{"secretNames":["s"]}}},"status":{"phase":"Ready","poolID":3,"info":{"type":"Replicated"},"mirroringInfo":{"lastChecked":"1"}}}`,
			`{"spec":{"replicated":{"size":3}},"status":{"phase":"Ready"}}`},
		{"Deployment", `{"spec":{"template":{"spec":{"containers":[{"image":"rook/ceph:v1.21.0","env":[{"name":"KEY","value":"hunter2"}]}]}}},"status":{"replicas":1,"conditions":[{"type":"Progressing","message":"x"},
			{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"x","lastUpdateTime":"2","lastTransitionTime":"1"}]}}`,
			`{"spec":{"template":{"spec":{"containers":[{"image":"rook/ceph:v1.21.0"}]}}},"status":{"conditions":[{"lastTransitionTime":"1","reason":"MinimumReplicasAvailable","status":"True","type":"Available"}]}}`},
		{"CustomResourceDefinition", `{"spec":{"group":"ceph.rook.io","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"properties":{"status":{"properties":{"x":{}}},"spec":{"required":["node"],"properties":{"node":{"type":"string"},"disks":{"type":"array"}}}}}}}]},"status":{"storedVersions":["v1"],"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True","lastTransitionTime":"1"}]}}`,
			`{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":["disks","node"]}}}},"served":true,"storage":true}]},"status":{"conditions":[{"status":"True","type":"Established"}]}}`},
		{"Event", `{"involvedObject":{"apiVersion":"openebs.io/v1beta3","kind":"DiskPool","namespace":"o","name":"p","uid":"u","resourceVersion":"7"},"type":"Warning","reason":"Missing","message":"m","count":7,"firstTimestamp":"1","lastTimestamp":"2","eventTime":"3","series":{"count":2},"source":{"component":"c"}}`,
			`{"involvedObject":{"apiVersion":"openebs.io/v1beta3","kind":"DiskPool","name":"p","namespace":"o","uid":"u"},"message":"m","reason":"Missing","type":"Warning"}`},
		{"VolumeSnapshotClass", `{"driver":"d","deletionPolicy":"Delete","parameters":{"clusterID":"rook-ceph","csi.storage.k8s.io/snapshotter-secret-name":"s","key":"hunter2"}}`,
			`{"deletionPolicy":"Delete","driver":"d","parameters":{"clusterID":"rook-ceph"}}`},
		{"CephCluster", `{"spec":{"storage":{"deviceFilter":"^sd","config":{"metadataDevice":"sdz","key":"hunter2"},"devices":[{"name":"sdb","config":{"metadataDevice":"sdy"}}]}}}`,
			`{"spec":{"storage":{"config":{"metadataDevice":"sdz"},"deviceFilter":"^sd","devices":[{"config":{"metadataDevice":"sdy"},"name":"sdb"}]}}}`},
		{"PersistentVolume", `{"spec":{"hostPath":{"path":"/dev/sdb","type":"BlockDevice"},"flexVolume":{"options":{"key":"hunter2"}}}}`,
			`{"spec":{"hostPath":{"path":"/dev/sdb","type":"BlockDevice"}}}`},
		{"ValidatingWebhookConfiguration", `{"webhooks":[{"name":"w","timeoutSeconds":5,"failurePolicy":"Fail","clientConfig":{"caBundle":"LS0t","url":"https://user:hunter2@host"}}]}`,
			`{"webhooks":[{"failurePolicy":"Fail","name":"w","timeoutSeconds":5}]}`},
		{"CDI", `{"spec":{"config":{"importProxy":{"HTTPSProxy":"http://user:hunter2@proxy:3128"}}},"status":{"phase":"Deployed","operatorVersion":"v1.66.0","conditions":[{"type":"Available","status":"True","lastHeartbeatTime":"1"},{"type":"Degraded","status":"False","lastHeartbeatTime":"1"}]}}`,
			`{"status":{"conditions":[{"status":"False","type":"Degraded"}],"phase":"Deployed"}}`},
	} {
		at := slices.IndexFunc(kinds, func(k system.Kind) bool { return k.Kind == c.kind })
		got := parseMask(kinds[at].Keep).apply(mustParse([]byte(c.in)))
		if text := string(document.AppendJSON(nil, &got)); text != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.kind, text, c.want)
		}
	}
}

// Annotations are kept by name only: those that a person or the kind names.
func TestAnnotations(t *testing.T) {
	kind := system.Kind{Keep: "spec", Selected: true, Annotations: []string{"openebs.io/allowed-bd-tags"}}
	s := Options{Annotations: []string{"example.com/proxy"}}.slimmer(&kind)
	got := s.item(mustParse([]byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","annotations":{"cstorpoolinstance.openebs.io/hostname":"h","volume.kubernetes.io/selected-node":"n",
		"example.com/proxy":"http://user:hunter2@proxy","example.com/key":"hunter2","openebs.io/allowed-bd-tags":"fast"}}}`))).json
	want := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","annotations":{"example.com/proxy":"http://proxy","openebs.io/allowed-bd-tags":"fast"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// How full an object is says what a fact may say, also where its total has become smaller than
// what was used of it.
func TestShare(t *testing.T) {
	kind := system.Kind{Used: []string{"status", "used"}, Total: []string{"status", "total"}}
	s := Options{}.slimmer(&kind)
	for in, want := range map[string]string{
		`{"used":"143k","total":"9630143k"}`: "0",
		`{"used":"79Gi","total":"100Gi"}`:    "75",
		`{"used":"115G","total":"100G"}`:     "100",
		`{"used":"1G","total":"0"}`:          "",
		`{"total":"100G"}`:                   "",
	} {
		if got := s.share(mustParse([]byte(`{"status":` + in + `}`))); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
