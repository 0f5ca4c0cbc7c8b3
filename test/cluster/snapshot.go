package cluster

import (
	"encoding/json"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Plurals of the kinds that a snapshot has.
const (
	Nodes       = "nodes"
	Devices     = "blockdevices"
	Claims      = "blockdeviceclaims"
	Clusters    = "cstorpoolclusters"
	Instances   = "cstorpoolinstances"
	Replicas    = "cstorvolumereplicas"
	Volumes     = "persistentvolumes"
	CloudClaims = "persistentvolumeclaims"
	Attachments = "volumeattachments"
	DiskPools   = "diskpools"
	Ceph        = "cephclusters"
	RAIDVolumes = "volumes"
)

// Kinds lists them.
func Kinds() []string {
	return []string{Nodes, Devices, Claims, Clusters, Instances, Replicas, Volumes, CloudClaims, Attachments, DiskPools, Ceph, RAIDVolumes}
}

// Snapshot is what was read of a cluster: all of it, but for the kinds that were not.
type Snapshot struct {
	Cluster
	Unread []string // plurals
}

// Without is the snapshot as if a kind had not been read.
func (s Snapshot) Without(kind string) Snapshot {
	if s.Knows(kind) {
		s.Unread = append(slices.Clone(s.Unread), kind)
	}
	return s
}

// Knows reports whether a kind was read.
func (s *Snapshot) Knows(kind string) bool { return !slices.Contains(s.Unread, kind) }

// Reader turns snapshots into objects. It keeps those that it has made.
type Reader struct{ made map[string]*krm.Object }

// NewReader makes a reader.
func NewReader() *Reader { return &Reader{map[string]*krm.Object{}} }

// Object makes an object, or takes the one that it made of the same content.
func (r *Reader) Object(t rapid.TB, content map[string]any) *krm.Object {
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if made := r.made[string(text)]; made != nil {
		return made
	}
	src := &document.Source{Name: "inventory.json", Data: text}
	docs, err := document.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	o := krm.NewObject(src, &docs[0].Node)
	r.made[string(text)] = o
	return o
}

// Facts are the objects of a snapshot, by the plural of their kind.
type Facts map[string][]*krm.Object

// Read makes the facts of a snapshot, as poolwright inventory writes them: an empty list
// of a kind that was read says that there is none.
func (r *Reader) Read(t rapid.TB, s *Snapshot) Facts {
	facts := Facts{}
	for _, kind := range Kinds() {
		if !s.Knows(kind) {
			continue
		}
		for _, content := range s.objects(kind) {
			facts[kind] = append(facts[kind], r.Object(t, content))
		}
		if len(facts[kind]) == 0 {
			facts[kind] = []*krm.Object{r.Object(t, map[string]any{
				"apiVersion": "poolwright.io/v1alpha1", "kind": "Inventory", "metadata": map[string]any{"name": kind}, "items": []any{},
			})}
		}
	}
	return facts
}

// Objects lists the facts, by kind.
func (f Facts) Objects() []*krm.Object { return f.Without("") }

// Without lists the facts as if a kind had not been read.
func (f Facts) Without(kind string) []*krm.Object {
	var objects []*krm.Object
	for _, other := range Kinds() {
		if other != kind {
			objects = append(objects, f[other]...)
		}
	}
	return objects
}

func (s *Snapshot) objects(kind string) []map[string]any {
	switch kind {
	case Nodes:
		return list(s.Nodes, nodeObject)
	case Devices:
		return list(s.Devices, s.deviceObject)
	case Claims:
		return list(s.Claims, claimObject)
	case Clusters:
		return list(s.Pools, clusterObject)
	case Instances:
		return list(s.Instances, instanceObject)
	case Replicas:
		return s.replicas()
	case Volumes:
		return append(list(s.Volumes, volumeObject), list(s.Cloud, cloudVolume)...)
	case CloudClaims:
		return list(s.Cloud, cloudClaim)
	case Attachments:
		attached := slices.DeleteFunc(slices.Clone(s.Cloud), func(d CloudDisk) bool { return !d.Attached })
		return list(attached, attachment)
	}
	objects := []map[string]any{}
	for _, h := range s.Holders {
		if o, plural := holderObject(h); plural == kind {
			objects = append(objects, o)
		}
	}
	return objects
}

func list[T any](all []T, object func(T) map[string]any) []map[string]any {
	objects := make([]map[string]any, len(all))
	for i, one := range all {
		objects[i] = object(one)
	}
	return objects
}

type fields = map[string]any

func make1(apiVersion, kind, name string, more fields) fields {
	return make2(apiVersion, kind, fields{"name": name}, more)
}

func namespaced(apiVersion, kind, name string, meta, more fields) fields {
	m := fields{"name": name, "namespace": Namespace}
	maps.Copy(m, meta)
	return make2(apiVersion, kind, m, more)
}

func make2(apiVersion, kind string, meta, more fields) fields {
	o := fields{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	maps.Copy(o, more)
	return o
}

// live distinguishes what a cluster has from what people write.
var live = fields{"poolwright.io/inventory": "true"}

func nodeObject(n Node) fields {
	return make2("v1", "Node", fields{
		"name": n.Name, "uid": n.UID, "creationTimestamp": "2025-01-0" + string(rune('0'+n.Day)) + "T00:00:00Z",
		"labels": fields{"kubernetes.io/hostname": n.Hostname, "pool": n.Label},
	}, nil)
}

func (s *Snapshot) deviceObject(d Device) fields {
	node := d.Host
	if n := s.Host(d.Host); n != nil {
		node = n.Name
	}
	labels, status := fields{"kubernetes.io/hostname": d.Host}, fields{"state": "Active", "claimState": "Unclaimed"}
	if d.Tagged {
		labels["openebs.io/block-device-tag"] = "backup"
	}
	if d.Inactive {
		status["state"] = "Inactive"
	}
	spec := fields{
		"capacity":       fields{"storage": d.Size << 30, "logicalSectorSize": 512},
		"details":        fields{"deviceType": "disk", "driveType": "HDD", "serial": d.Serial},
		"nodeAttributes": fields{"nodeName": node},
		"path":           "/dev/" + d.Name, "partitioned": "No",
	}
	link := "/dev/disk/by-id/ata-" + d.Serial
	if d.Handle != "" {
		link = "/dev/disk/by-id/scsi-" + d.Handle
	}
	spec["devlinks"] = []any{fields{"kind": "by-id", "links": []any{link}}}
	if d.Partitioned {
		spec["partitioned"] = "Yes"
	}
	if d.Filesystem != "" {
		spec["filesystem"] = fields{"fsType": d.Filesystem}
	}
	if claim := s.Claim(d.Name); claim != nil && claim.Bound {
		status["claimState"] = "Claimed"
		spec["claimRef"] = fields{"name": claimName(d.Name)}
	}
	return namespaced("openebs.io/v1alpha1", "BlockDevice", d.Name, fields{"labels": labels}, fields{"spec": spec, "status": status})
}

func claimName(device string) string { return "bdc-cstor-" + device }

func claimObject(c Claim) fields {
	meta := fields{"labels": fields{"openebs.io/cstor-pool-cluster": c.Cluster}}
	if c.Predecessor != "" {
		meta["annotations"] = fields{"openebs.io/bd-predecessor": c.Predecessor}
	}
	phase := "Pending"
	if c.Bound {
		phase = "Bound"
	}
	return namespaced("openebs.io/v1alpha1", "BlockDeviceClaim", claimName(c.Device), meta,
		fields{"spec": fields{"blockDeviceName": c.Device}, "status": fields{"phase": phase}})
}

func poolFields(p *pool.Pool) fields {
	groups := func(all pool.Groups) []any {
		var list []any
		for _, group := range all {
			var disks []any
			for _, disk := range group {
				disks = append(disks, fields{"blockDeviceName": disk})
			}
			list = append(list, fields{"blockDevices": disks})
		}
		return list
	}
	f := fields{"dataRaidGroups": groups(p.Data), "poolConfig": fields{"dataRaidGroupType": p.RAIDType, "compression": p.Compression}}
	if len(p.Cache) > 0 {
		f["writeCacheRaidGroups"] = groups(p.Cache)
	}
	return f
}

func clusterObject(c PoolCluster) fields {
	var pools []any
	for _, p := range c.Pools {
		f := poolFields(p)
		f["nodeSelector"] = fields{"kubernetes.io/hostname": p.Hostname}
		pools = append(pools, f)
	}
	annotations := fields{"poolwright.io/owner": c.Owner}
	maps.Copy(annotations, live)
	return namespaced("cstor.openebs.io/v1", "CStorPoolCluster", c.Name, fields{"annotations": annotations}, fields{"spec": fields{"pools": pools}})
}

func instanceObject(i Instance) fields {
	spec := poolFields(i.Pool)
	spec["hostName"] = i.Host
	labels := fields{"kubernetes.io/hostname": i.Host, "openebs.io/cstor-pool-cluster": i.Cluster}
	return namespaced("cstor.openebs.io/v1", "CStorPoolInstance", i.Name, fields{"labels": labels}, fields{"spec": spec, "status": fields{"phase": "ONLINE"}})
}

func (s *Snapshot) replicas() []fields {
	var all []fields
	for _, i := range s.Instances {
		for n := range i.Replicas {
			name := "pvc-" + string(rune('a'+n)) + "-" + i.Name
			labels := fields{"cstorpoolinstance.openebs.io/name": i.Name}
			all = append(all, namespaced("cstor.openebs.io/v1", "CStorVolumeReplica", name, fields{"labels": labels}, fields{"status": fields{"phase": "Healthy"}}))
		}
	}
	return all
}

func volumeObject(v Volume) fields {
	in := fields{"key": "kubernetes.io/hostname", "operator": "In", "values": []any{v.Host}}
	return make1("v1", "PersistentVolume", v.Name, fields{"spec": fields{
		"local":        fields{"path": "/dev/disk/by-id/ata-" + v.Serial},
		"nodeAffinity": fields{"required": fields{"nodeSelectorTerms": []any{fields{"matchExpressions": []any{in}}}}},
	}})
}

func cloudVolume(d CloudDisk) fields {
	return make1("v1", "PersistentVolume", "pv-"+d.Name, fields{"spec": fields{"csi": fields{"driver": "csi.example.com", "volumeHandle": "handle-" + d.Name}}})
}

func cloudClaim(d CloudDisk) fields {
	annotations := fields{"poolwright.io/owner": d.Owner, "volume.kubernetes.io/selected-node": d.Selected}
	maps.Copy(annotations, live)
	return namespaced("v1", "PersistentVolumeClaim", d.Name, fields{"annotations": annotations, "labels": fields{"app.kubernetes.io/managed-by": "poolwright"}},
		fields{
			"spec":   fields{"storageClassName": "fast", "resources": fields{"requests": fields{"storage": "100Gi"}}, "volumeName": "pv-" + d.Name},
			"status": fields{"phase": "Bound"},
		})
}

func attachment(d CloudDisk) fields {
	return make2("storage.k8s.io/v1", "VolumeAttachment", fields{"name": "live-" + d.Name, "annotations": live}, fields{
		"spec":   fields{"attacher": "csi.example.com", "nodeName": d.Node, "source": fields{"persistentVolumeName": "pv-" + d.Name}},
		"status": fields{"attached": true},
	})
}

func holderObject(h Holder) (object fields, plural string) {
	link := "/dev/disk/by-id/ata-" + h.Serial
	meta := fields{"annotations": live}
	switch h.Kind {
	case "DiskPool":
		return namespaced("openebs.io/v1beta3", h.Kind, h.Name, meta, fields{"spec": fields{"node": h.Node, "disks": []any{"aio://" + link}}}), DiskPools
	case "CephCluster":
		node := fields{"name": h.Node, "devices": []any{fields{"name": link}}}
		return namespaced("ceph.rook.io/v1", h.Kind, h.Name, meta, fields{"spec": fields{"storage": fields{"useAllNodes": false, "nodes": []any{node}}}}), Ceph
	default:
		meta := fields{"name": h.Name, "annotations": live}
		return make2("storage.metalk8s.scality.com/v1alpha1", h.Kind, meta, fields{"spec": fields{"nodeName": h.Node, "rawBlockDevice": fields{"devicePath": link}}}), RAIDVolumes
	}
}
