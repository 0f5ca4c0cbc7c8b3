package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/schema/mkfs"
)

// seen is what the API server has for this node, as the watches tell it.
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
func (s *seen) request(v *api.Volume) (source.Request, error) {
	r := source.Request{Volume: v}
	for _, g := range s.groups.All() {
		switch {
		case g.Spec.NodeName != s.node:
		case g.Spec.VolumeRef != nil && g.Spec.VolumeRef.Name == v.Name:
			r.Bare = true
		case v.Spec.LVM != nil && g.GroupName() == v.Spec.LVM.VGName:
			r.Group = g
		}
	}
	for _, o := range s.volumes.All() {
		if o.Spec.NodeName == s.node && o.Spec.Partition != nil && o.Name != v.Name {
			r.Peers = append(r.Peers, o.Name)
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

// groupRequest is a VolumeGroup with the Volume whose device it takes.
func (s *seen) groupRequest(g *api.VolumeGroup) source.GroupRequest {
	r := source.GroupRequest{Group: g}
	if g.Spec.VolumeRef != nil {
		if v := s.volumes.Get(g.Spec.VolumeRef.Name); v != nil && v.Spec.NodeName == s.node && v.DeletionTimestamp == nil {
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

// owner is the object whose mark it is, a UUID or the name of a virtual drive, or "". That of nobody is
// of the Volume that is to take it over.
func (s *seen) owner(text string) string {
	if text == "" {
		return ""
	}
	adopts := ""
	for _, v := range s.volumes.All() {
		ours, name := s.marks.Of(api.KindVolume, v.Name, s.node), api.KindVolume+"/"+v.Name
		switch {
		case v.Spec.NodeName != s.node:
		case mark.Is(ours, text) || string(v.UID) == text:
			return name
		case v.Annotations[api.AdoptAnnotation] == text && (adopts == "" || name < adopts):
			adopts = name
		}
	}
	for _, g := range s.groups.All() {
		if g.Spec.NodeName == s.node && s.marks.Of(api.KindVolumeGroup, g.Name, s.node) == text {
			return api.KindVolumeGroup + "/" + g.Name
		}
	}
	return adopts
}
