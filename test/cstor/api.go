// Package cstor plays the operators of cStor 3.6 and the cluster under them: the admission
// webhook, the cspc and cvc operators, pool managers, targets, the node disk manager, a
// provisioner of cloud disks. It does what was seen of the real ones, time passes in
// minutes, and it knows nothing of the code that it tests.
package cstor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// API is what the API server holds. Objects are known by name, claims of volumes by
// namespace/name.
type API struct {
	Nodes             map[string]*Node
	BlockDevices      map[string]*BlockDevice
	BlockDeviceClaims map[string]*BlockDeviceClaim
	PoolClusters      map[string]*PoolCluster
	Instances         map[string]*Instance
	VolumeConfigs     map[string]*VolumeConfig
	Volumes           map[string]*Volume
	Replicas          map[string]*Replica
	VolumeClaims      map[string]*VolumeClaim
	PersistentVolumes map[string]*PersistentVolume
	Attachments       map[string]*VolumeAttachment
	Classes           map[string]*StorageClass
	Webhooks          map[string]*WebhookConfiguration

	minute  int
	made    int               // uids that were given
	counted map[string][]byte // the CStorPoolClusters as they were when their changes were counted, by uid
	random  *rand.Rand
}

func newAPI(seed uint64) *API {
	return &API{
		Nodes:             map[string]*Node{},
		BlockDevices:      map[string]*BlockDevice{},
		BlockDeviceClaims: map[string]*BlockDeviceClaim{},
		PoolClusters:      map[string]*PoolCluster{},
		Instances:         map[string]*Instance{},
		VolumeConfigs:     map[string]*VolumeConfig{},
		Volumes:           map[string]*Volume{},
		Replicas:          map[string]*Replica{},
		VolumeClaims:      map[string]*VolumeClaim{},
		PersistentVolumes: map[string]*PersistentVolume{},
		Attachments:       map[string]*VolumeAttachment{},
		Classes:           map[string]*StorageClass{},
		Webhooks:          map[string]*WebhookConfiguration{},
		counted:           map[string][]byte{},
		random:            rand.New(rand.NewPCG(seed, 0)),
	}
}

// epoch is the first minute of every cluster.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func (a *API) now() meta.Time { return meta.NewTime(epoch.Add(time.Duration(a.minute) * time.Minute)) }

// born gives a new object what the API server gives it.
func (a *API) born(h *header) {
	a.made++
	h.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", a.made))
	h.CreationTimestamp = a.now()
}

// count counts what has changed of the CStorPoolClusters in their generations, as the API server
// does: their definition has no subresource for the status, so that this counts, and metadata
// does not.
func (a *API) count() {
	for _, c := range a.PoolClusters {
		content := *c
		content.header = header{}
		now := mustEncode(content)
		if !bytes.Equal(a.counted[string(c.UID)], now) {
			a.counted[string(c.UID)] = now
			c.Generation++
		}
	}
}

// remove asks for an object to go. It goes at once where it has no finalizers.
func remove[T interface{ head() *header }](a *API, all map[string]T, name string) {
	o, found := all[name]
	if !found {
		return
	}
	h := o.head()
	if len(h.Finalizers) == 0 {
		delete(all, name)
		return
	}
	if !h.going() {
		now := a.now()
		h.DeletionTimestamp = &now
	}
}

// release takes the finalizers of an object that goes.
func release[T interface{ head() *header }](all map[string]T, name string) {
	o := all[name].head()
	o.Finalizers = nil
	if o.going() {
		delete(all, name)
	}
}

// suffix is the random end of a name.
func (a *API) suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := make([]byte, 4)
	for i := range name {
		name[i] = letters[a.random.IntN(len(letters))]
	}
	return string(name)
}

// LiveVolumes are the CStorVolumeConfigs as JSON, by name.
func (a *API) LiveVolumes() [][]byte {
	var all [][]byte
	for _, c := range sorted(a.VolumeConfigs) {
		all = append(all, mustEncode(c))
	}
	return all
}

func mustEncode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // every field of these objects can be encoded
	}
	return text
}

// list is a List as the API server answers it, which names its kind even if it is empty.
type list struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      any    `json:"items"`
}

// Dump writes everything, as kubectl get --raw of each kind does, one list a line. It
// says of the kinds around cStor that there is none.
func (a *API) Dump() []byte {
	none := []struct{}{}
	lists := []list{
		{"v1", "NodeList", sorted(a.Nodes)},
		{"openebs.io/v1alpha1", "BlockDeviceList", sorted(a.BlockDevices)},
		{"openebs.io/v1alpha1", "BlockDeviceClaimList", sorted(a.BlockDeviceClaims)},
		{"cstor.openebs.io/v1", "CStorPoolClusterList", sorted(a.PoolClusters)},
		{"cstor.openebs.io/v1", "CStorPoolInstanceList", sorted(a.Instances)},
		{"cstor.openebs.io/v1", "CStorVolumeConfigList", sorted(a.VolumeConfigs)},
		{"cstor.openebs.io/v1", "CStorVolumeList", sorted(a.Volumes)},
		{"cstor.openebs.io/v1", "CStorVolumeReplicaList", sorted(a.Replicas)},
		{"cstor.openebs.io/v1", "CStorVolumePolicyList", none},
		{"v1", "PersistentVolumeClaimList", sorted(a.VolumeClaims)},
		{"v1", "PersistentVolumeList", sorted(a.PersistentVolumes)},
		{"storage.k8s.io/v1", "VolumeAttachmentList", sorted(a.Attachments)},
		{"storage.k8s.io/v1", "StorageClassList", sorted(a.Classes)},
		{"storage.k8s.io/v1", "CSIDriverList", none},
		{"snapshot.storage.k8s.io/v1", "VolumeSnapshotList", none},
		{"snapshot.storage.k8s.io/v1", "VolumeSnapshotContentList", none},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfigurationList", sorted(a.Webhooks)},
	}
	var text []byte
	for _, l := range lists {
		text = append(append(append(text, "---\n"...), mustEncode(l)...), '\n')
	}
	return text
}

// clusterOn names the CStorPoolCluster of an owner that has a pool on a node, or is "".
func (a *API) clusterOn(owner, node string) string {
	n := a.Nodes[node]
	if n == nil {
		return ""
	}
	for _, c := range sorted(a.PoolClusters) {
		if c.Annotations[ownerKey] == owner && c.Spec.on(n.Labels[labelHostname]) != nil {
			return c.Name
		}
	}
	return ""
}
