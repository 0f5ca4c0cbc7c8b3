package cstor

import (
	"cmp"
	"fmt"

	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// source is where a pool has disks from: of a CSI driver, as the claims say whose volumes they
// are, or of its node. A pool keeps the disks that it has in either case; those that come to it
// later are claimed from where these are. What no spec can say of them is told at n.
func (c *conversion) source(n *d.Node, field string, disks []string) d.Field {
	fromNode := d.F("local", d.Object())
	var from record.Provisioner
	volumes := 0
	why := ""
	for _, name := range disks {
		device := c.facts.Device(c.Namespace, name)
		if device == nil {
			continue
		}
		of := c.provisionerOf(device)
		if of == nil {
			continue
		}
		switch volumes++; {
		case of.StorageClassName == "":
			why = "the inventory does not show the StorageClass of block device " + name
		case volumes > 1 && *of != from:
			why = fmt.Sprintf("they are of StorageClasses %s and %s", from.StorageClassName, of.StorageClassName)
		}
		if volumes == 1 {
			from = *of
		}
	}
	if volumes > 0 && volumes < len(disks) && why == "" {
		why = finding.Count(len(disks)-volumes, "other") + " of the pool " + finding.Agree(len(disks)-volumes, "is", "are") + " not known to be one"
	}
	switch {
	case volumes == 0:
		return fromNode
	case why != "":
		c.Report(finding.Warning, "cloud-disks", n, field, "%s of it %s of a CSI driver, and %s, so that no externalProvisioner says where further ones come from: they are said as disks of the node",
			finding.Count(volumes, "disk"), finding.Agree(volumes, "is a volume", "are volumes"), why)
		return fromNode
	}
	return d.F("externalProvisioner", from.Node())
}

// provisionerOf is the driver and the class of the volume that a block device is, nil where it is
// none of a CSI driver.
func (c *conversion) provisionerOf(device *inventory.BlockDevice) *record.Provisioner {
	for _, v := range disk.VolumesOn(c.facts, device) {
		if v.Driver == "" {
			continue
		}
		claim := c.facts.Object(krm.ID{Kind: volumeClaimKind, Namespace: v.Claim.Namespace, Name: v.Claim.Name})
		volume := c.facts.Object(krm.ID{Kind: persistentVolumeKind, Name: v.Name})
		return &record.Provisioner{CSIAttacherName: v.Driver, StorageClassName: cmp.Or(field(claim, "spec", "storageClassName").Str(), field(volume, "spec", "storageClassName").Str())}
	}
	return nil
}

// isCommon reports whether data disks are from where those of most pools are.
func (c *conversion) isCommon(source d.Field) bool {
	return sameFields([]d.Field{source}, []d.Field{c.from})
}
