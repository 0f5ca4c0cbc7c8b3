package cstor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The driver of cloud disks, and its class.
const (
	cloudDriver = "csi.example.com"
	cloudClass  = "fast"
)

// cloud makes a disk for each PersistentVolumeClaim of its class, and attaches it where a
// VolumeAttachment says.
type cloud struct {
	api      *API
	hardware *Hardware
	growing  map[string]int // since when a claim asks for more, by name
}

// growMinutes is how long it takes until a volume is larger.
const growMinutes = 3

func (c cloud) act() {
	for _, claim := range sorted(c.api.VolumeClaims) {
		if claim.Spec.StorageClassName == cloudClass {
			c.provision(claim)
		}
	}
	for _, v := range sorted(c.api.PersistentVolumes) {
		ref := v.Spec.ClaimRef
		if v.Spec.CSI.Driver == cloudDriver && c.api.VolumeClaims[ref.Namespace+"/"+ref.Name] == nil {
			delete(c.hardware.disks, device(v))
			delete(c.api.BlockDevices, device(v))
			delete(c.api.PersistentVolumes, v.Name)
		}
	}
	for _, a := range sorted(c.api.Attachments) {
		c.attach(a)
	}
}

// provision binds a claim, and grows its disk with it.
func (c cloud) provision(claim *VolumeClaim) {
	wanted := claim.Spec.Resources.Requests
	v := c.api.PersistentVolumes[claim.Spec.VolumeName]
	if v == nil {
		v = &PersistentVolume{header: newHeader("v1", "PersistentVolume", "", "pv-"+claim.Name)}
		v.Spec = persistentVolumeSpec{
			StorageClassName: cloudClass, CSI: csiSource{cloudDriver, "handle-" + claim.Name}, ClaimRef: &claimReference{claim.Namespace, claim.Name},
		}
		v.Status.Phase = "Bound"
		c.api.born(&v.header)
		c.api.PersistentVolumes[v.Name] = v
		claim.Spec.VolumeName, claim.Status.Phase = v.Name, "Bound"
	}
	if has := v.Spec.Capacity; has.Storage != "" && bytesOf(has.Storage) < bytesOf(wanted.Storage) {
		since, asked := c.growing[claim.Name]
		if !asked {
			c.growing[claim.Name] = c.api.minute
		}
		if !asked || c.api.minute < since+growMinutes {
			return
		}
	}
	delete(c.growing, claim.Name)
	v.Spec.Capacity, claim.Status.Capacity = wanted, wanted
	if d := c.hardware.disks[device(v)]; d != nil {
		d.bytes = bytesOf(wanted.Storage)
		if seen := c.api.BlockDevices[d.name]; seen != nil {
			seen.Spec.Capacity.Storage = d.bytes
		}
	}
}

func device(v *PersistentVolume) string { return "bd-" + strings.TrimPrefix(v.Name, "pv-") }

// bytesOf reads a size that the API server has taken.
func bytesOf(quantity string) int64 {
	q := resource.MustParse(quantity)
	return q.Value()
}

func (c cloud) attach(a *VolumeAttachment) {
	v, m := c.api.PersistentVolumes[a.Spec.Source.PersistentVolumeName], c.hardware.machines[a.Spec.NodeName]
	if v == nil || m == nil || !m.up {
		return
	}
	a.Status.Attached = true
	if d := c.hardware.disks[device(v)]; d != nil {
		d.machine = m.name
		return
	}
	c.hardware.disks[device(v)] = &disk{name: device(v), machine: m.name, bytes: bytesOf(v.Spec.Capacity.Storage), handle: v.Spec.CSI.VolumeHandle}
}

// resize judges a new size of a claim, as the API server does.
func (a *API) resize(old, wanted *VolumeClaim) error {
	was, now := bytesOf(old.Spec.Resources.Requests.Storage), bytesOf(wanted.Spec.Resources.Requests.Storage)
	class := a.Classes[old.Spec.StorageClassName]
	switch {
	case now < was:
		return fmt.Errorf("persistentvolumeclaim %s: field can not be less than status.capacity", old.Name)
	case now > was && (class == nil || !class.AllowVolumeExpansion):
		return fmt.Errorf("persistentvolumeclaim %s: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize", old.Name)
	case old.Spec.StorageClassName != wanted.Spec.StorageClassName, !slices.Equal(old.Spec.AccessModes, wanted.Spec.AccessModes):
		return fmt.Errorf("persistentvolumeclaim %s: spec is immutable", old.Name)
	}
	return nil
}
