package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/inventory"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/schema/mkfs"
)

// seen is what the API server has for this node, as the watches show it.
type seen struct {
	client dynamic.Interface
	node   string
	marks  mark.Cluster

	volumes   *store[api.Volume]
	groups    *store[api.VolumeGroup]
	persisted *store[persistentVolume]
	classes   *store[storageClass]
	nodes     *store[plain]
	operators *store[plain]
}

// metalK8sOperator acts on the same Volumes, with the same finalizer.
const metalK8sOperator = "storage-operator-controller-manager"

// inspectOnly says why nothing may be written, or "".
func (s *seen) inspectOnly() string {
	if s.operators.Get("kube-system/"+metalK8sOperator) != nil {
		return "the storage operator of MetalK8s runs in this cluster and acts on the same Volumes: remove it first"
	}
	return ""
}

// hostname is what kubernetes.io/hostname says of this node, or "".
func (s *seen) hostname() string {
	n := s.nodes.Get(s.node)
	if n == nil {
		return ""
	}
	return n.Labels["kubernetes.io/hostname"]
}

// request is a Volume with its class and its group.
func (s *seen) request(ctx context.Context, v *api.Volume, made bool) (source.Request, error) {
	r := source.Request{Volume: v}
	for _, g := range s.groups.All() {
		switch {
		case g.Spec.NodeName != s.node:
		case g.Spec.VolumeRef != nil && g.Spec.VolumeRef.Name == v.Name:
			r.Bare = true
		case v.Spec.LVM != nil && g.GroupName() == v.Spec.LVM.VGName:
			r.Group, r.GroupRef = g, s.groupRequest(g).Ref
		}
	}
	for _, o := range s.peers(v) {
		if o.Spec.NodeName == s.node && o.Spec.Partition != nil && o.Name != v.Name {
			r.Peers = append(r.Peers, o.Name)
		}
	}
	if err := s.adoptable(ctx, v, made); err != nil {
		return r, err
	}
	for _, field := range []string{"claimRef", "mountOptions"} {
		// A policy lets no agent write them.
		if _, there := v.Spec.Template.Spec[field]; there {
			return r, refused{api.ReasonCreationError, fmt.Sprintf("spec.template.spec.%s cannot be set: mountOptions belong into the StorageClass, and a claim names the volume that it wants in its own spec.volumeName", field)}
		}
	}
	if s.hostname() == "" {
		return r, refused{api.ReasonNodeUnknown, fmt.Sprintf("the Node %s is not there, or has no label kubernetes.io/hostname", s.node)}
	}
	class := s.classes.Get(v.Spec.StorageClassName)
	switch {
	case r.Bare:
		return r, nil
	case class == nil:
		return r, refused{api.ReasonCreationError, fmt.Sprintf("spec.storageClassName: the StorageClass %q is not in the cluster", v.Spec.StorageClassName)}
	case class.Provisioner != "kubernetes.io/no-provisioner":
		return r, refused{api.ReasonCreationError, fmt.Sprintf("spec.storageClassName: the StorageClass %s has the provisioner %s, and not kubernetes.io/no-provisioner", class.Name, class.Provisioner)}
	}
	if err := s.wipeable(v); err != nil {
		return r, err
	}
	if v.Spec.Mode == api.Block {
		return r, nil
	}
	r.Filesystem.Type = class.Parameters["fsType"]
	if r.Filesystem.Type != "ext4" && r.Filesystem.Type != "xfs" {
		return r, refused{api.ReasonCreationError, fmt.Sprintf("the StorageClass %s has fsType %q, which is not one of ext4, xfs", class.Name, r.Filesystem.Type)}
	}
	var err error
	if r.Filesystem.Options, err = mkfs.Options(r.Filesystem.Type, class.Parameters["mkfsOptions"]); err != nil {
		return r, refused{api.ReasonCreationError, fmt.Sprintf("the StorageClass %s: parameters.mkfsOptions %v", class.Name, err)}
	}
	return r, nil
}

// wipeable refuses a policy that leaves what the reclaim policy promises to erase.
func (s *seen) wipeable(v *api.Volume) error {
	switch v.Spec.Wipe {
	case "", api.WipeFull, api.WipeDiscard:
	case api.WipeNone:
		if s.deletes(v, s.persisted.Get(v.Name)) {
			return refusedWipe()
		}
	default:
		return refused{api.ReasonCreationError, fmt.Sprintf("spec.wipe is %q, which is not one of full, discard, none", v.Spec.Wipe)}
	}
	return nil
}

func refusedWipe() error {
	return refused{api.ReasonCreationError, "spec.wipe is none, and the reclaim policy is Delete, which erases the data: write wipe: full or discard, or set the reclaim policy to Retain"}
}

// deletes reports whether the data is to go: as the PersistentVolume of its name says, whoever made it, else
// as its template or its class says, else not.
func (s *seen) deletes(v *api.Volume, pv *persistentVolume) bool {
	if pv != nil {
		return pv.Spec.ReclaimPolicy == "Delete"
	}
	if policy, written := v.Spec.Template.Spec["persistentVolumeReclaimPolicy"].(string); written {
		return policy == "Delete"
	}
	class := s.classes.Get(v.Spec.StorageClassName)
	return class != nil && class.ReclaimPolicy == "Delete"
}

// peers are the Volumes that may be on the disk of one: none where it has no partition.
func (s *seen) peers(v *api.Volume) []*api.Volume {
	if v.Spec.Partition == nil {
		return nil
	}
	return s.volumes.All()
}

// adoptable refuses the mark of data that a Volume or VolumeGroup that exists has: what an annotation names is
// somebody's as long as he is there. The Volumes of other nodes are asked for until the Volume was made, and
// again when it is deleted.
func (s *seen) adoptable(ctx context.Context, v *api.Volume, made bool) error {
	text := v.Annotations[api.AdoptAnnotation]
	if text == "" || text == s.marks.Of(api.KindVolume, v.Name, v.Spec.NodeName) {
		return nil
	}
	others := s.volumes.All()
	if !made || v.DeletionTimestamp != nil {
		list, err := s.client.Resource(volumes).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			o, err := decode[api.Volume](&list.Items[i])
			other, understood := o.(*api.Volume)
			if err != nil || !understood {
				return guard.Refuse(guard.RuleAdopt, "Volume/%s is not understood: whether the mark %s is its own is not known", list.Items[i].GetName(), text)
			}
			others = append(others, other)
		}
	}
	for _, o := range others {
		if o.Name != v.Name && s.has(o, text, v) {
			return guard.Refuse(guard.RuleAdopt, "the annotation %s names the mark of Volume/%s, which exists: delete that first", api.AdoptAnnotation, o.Name)
		}
	}
	for _, g := range s.groups.All() {
		if s.marks.Of(api.KindVolumeGroup, g.Name, g.Spec.NodeName) == text {
			return guard.Refuse(guard.RuleAdopt, "the annotation %s names the mark of VolumeGroup/%s, which exists", api.AdoptAnnotation, g.Name)
		}
	}
	return nil
}

// has reports whether a mark is a Volume's: its own, or one that it has adopted sooner than another one that
// asks for it.
func (s *seen) has(o *api.Volume, text string, asks *api.Volume) bool {
	if mark.Is(s.marks.Of(api.KindVolume, o.Name, o.Spec.NodeName), text) || string(o.UID) == text {
		return true
	}
	if o.Annotations[api.AdoptAnnotation] != text {
		return false
	}
	made, asked := o.CreationTimestamp.Time, asks.CreationTimestamp.Time
	return made.Before(asked) || made.Equal(asked) && o.Name < asks.Name
}

// groupRequest is a VolumeGroup with the Volume whose device it takes.
func (s *seen) groupRequest(g *api.VolumeGroup) source.GroupRequest {
	r := source.GroupRequest{Group: g}
	if g.Spec.VolumeRef != nil {
		if v := s.volumes.Get(g.Spec.VolumeRef.Name); v != nil && v.Spec.NodeName == s.node && (v.DeletionTimestamp == nil || g.DeletionTimestamp != nil) {
			r.Ref = v
		}
	}
	return r
}

// getPV is the PersistentVolume of a name, or nil. One without our label, as MetalK8s makes,
// is not among those watched.
func (s *seen) getPV(ctx context.Context, name string) (*persistentVolume, error) {
	if pv := s.persisted.Get(name); pv != nil {
		return pv, nil
	}
	return s.freshPV(ctx, name)
}

// freshPV is the same, asked of the API server and not of the watch: what counts is what is now.
func (s *seen) freshPV(ctx context.Context, name string) (*persistentVolume, error) {
	u, err := s.client.Resource(persistent).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return typedPV(u)
}

// owners says whose a mark is, a UUID or the name of a virtual drive. That of nobody is of the Volume that is to take
// it over.
func (s *seen) owners() inventory.Owners {
	owner, adopts := map[string]string{}, map[string]string{}
	for _, v := range s.volumes.All() {
		if v.Spec.NodeName != s.node {
			continue
		}
		ours, name := s.marks.Of(api.KindVolume, v.Name, s.node), api.KindVolume+"/"+v.Name
		for _, text := range []string{ours, mark.Short(ours), string(v.UID)} {
			owner[text] = name
		}
		if text := v.Annotations[api.AdoptAnnotation]; adopts[text] == "" || name < adopts[text] {
			adopts[text] = name
		}
	}
	for _, g := range s.groups.All() {
		if g.Spec.NodeName == s.node {
			owner[s.marks.Of(api.KindVolumeGroup, g.Name, s.node)] = api.KindVolumeGroup + "/" + g.Name
		}
	}
	return func(text string) string {
		switch {
		case text == "":
			return ""
		case owner[text] != "":
			return owner[text]
		}
		return adopts[text]
	}
}
