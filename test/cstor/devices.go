package cstor

import (
	"slices"
	"strings"
)

// deviceManager is the node disk manager: it reports disks as BlockDevices, and binds
// claims.
type deviceManager struct {
	api      *API
	hardware *Hardware
}

func (m deviceManager) act() {
	for _, d := range sorted(m.hardware.disks) {
		m.report(d)
	}
	for _, claim := range sorted(m.api.BlockDeviceClaims) {
		m.bind(claim)
	}
}

// report writes what is seen of a disk. The disks of a node that is down are left as they
// were; those of one that is gone are Inactive.
func (m deviceManager) report(d *disk) {
	where := m.hardware.machines[d.machine]
	reported := m.api.BlockDevices[d.name]
	switch {
	case where.up && m.api.Nodes[where.name] != nil:
	case reported != nil && m.api.Nodes[where.name] == nil:
		reported.Status.State = "Inactive"
		return
	default:
		return
	}
	if reported == nil {
		reported = &BlockDevice{header: newHeader("openebs.io/v1alpha1", "BlockDevice", Namespace, d.name)}
		reported.Spec = blockDeviceSpec{
			Capacity: blockDeviceCapacity{d.bytes, 512},
			Details:  blockDeviceDetails{"disk", "HDD", "serial-" + d.name},
			Path:     "/dev/" + d.name, Partitioned: "No",
			DevLinks: []devLink{{"by-id", []string{"/dev/disk/by-id/" + d.link()}}},
		}
		reported.Status = blockDeviceStatus{"Active", "Unclaimed"}
		m.api.born(&reported.header)
		m.api.BlockDevices[d.name] = reported
	}
	reported.Labels[labelHostname] = where.host
	reported.Spec.NodeAttributes.NodeName = where.name
	if reported.Status.State = "Active"; d.broken {
		reported.Status.State = "Inactive"
	}
}

// link is the by-id link of a disk.
func (d *disk) link() string {
	if d.handle != "" {
		return "scsi-" + d.handle
	}
	return "ata-serial-" + d.name
}

// bind gives a claim its BlockDevice, unless that is not well, another's, or has a tag
// that the claim does not allow.
func (m deviceManager) bind(claim *BlockDeviceClaim) {
	d := m.api.BlockDevices[claim.Spec.BlockDeviceName]
	if claim.bound() || d == nil || !d.active() || d.Spec.ClaimRef != nil {
		return
	}
	if tag, tagged := d.Labels[labelTag]; tagged && !slices.Contains(strings.Split(claim.Annotations[allowedTags], ","), tag) {
		return
	}
	claim.Status.Phase = "Bound"
	d.Spec.ClaimRef = &objectReferenceName{claim.Name}
	d.Status.ClaimState = "Claimed"
}

// unclaim gives a disk free, and cleans it.
func (a *API) unclaim(device string) {
	claim := a.claimOf(device)
	if claim == nil {
		return
	}
	delete(a.BlockDeviceClaims, claim.Name)
	if d := a.BlockDevices[device]; d != nil && d.Spec.ClaimRef != nil && d.Spec.ClaimRef.Name == claim.Name {
		d.Spec.ClaimRef, d.Spec.FileSystem = nil, nil
		d.Status.ClaimState = "Unclaimed"
	}
}

// claimOf is the claim of a disk, or nil.
func (a *API) claimOf(device string) *BlockDeviceClaim {
	claims := where(a.BlockDeviceClaims, func(claim *BlockDeviceClaim) bool { return claim.Spec.BlockDeviceName == device })
	if len(claims) == 0 {
		return nil
	}
	return claims[0]
}

// claim claims a disk for a pool cluster, unless that is done already.
func (a *API) claim(c *PoolCluster, device, replaces string) {
	d := a.BlockDevices[device]
	if d == nil {
		return
	}
	name := "bdc-cstor-" + string(d.UID)
	if a.BlockDeviceClaims[name] != nil {
		return
	}
	claim := &BlockDeviceClaim{header: newHeader("openebs.io/v1alpha1", "BlockDeviceClaim", Namespace, name)}
	claim.Spec.BlockDeviceName = device
	claim.Labels[labelCluster] = c.Name
	if tags := c.Annotations[allowedTags]; tags != "" {
		claim.Annotations[allowedTags] = tags
	}
	if replaces != "" {
		claim.Annotations[predecessor] = replaces
	}
	claim.Status.Phase = "Pending"
	a.born(&claim.header)
	a.BlockDeviceClaims[name] = claim
}
