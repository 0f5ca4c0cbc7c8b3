package inventory

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// VolumeClaim is what matters of a PersistentVolumeClaim.
type VolumeClaim struct {
	Bound      bool
	VolumeName string
}

// Volume is what matters of a PersistentVolume: what identifies its disk, where that disk can
// be, and whose it is.
type Volume struct {
	Name string
	// Driver and Handle are those of its CSI source, or of the driver that has replaced an
	// in-tree plugin. No driver knows the volumePath of vSphere: its Driver is VSpherePlugin.
	Driver, Handle string
	Path           string        // of a local or hostPath volume, clean, or ""
	Partition      int64         // of the cloud disk, from 1; 0 for all of it
	FC             *FibreChannel // nil for any other source
	ISCSI          *ISCSI        // nil for any other source
	Pinned         bool          // it has a node affinity
	Hosts          []string      // hostname labels that the affinity names
	Zones          []string      // of the cloud that the affinity names, whichever label the driver has for them
	Claim          Key           // that it is bound to, or reserved for
}

// VSpherePlugin is the in-tree plugin of vSphere. A handle of it is a volumePath, such as
// [datastore1] volumes/disk.vmdk.
const VSpherePlugin = "kubernetes.io/vsphere-volume"

// FibreChannel is what identifies the disk of an in-tree fc volume: its WWIDs or, where there
// are none, a LUN behind target ports.
type FibreChannel struct {
	WWIDs []string // a disk that has one has the link /dev/disk/by-id/scsi-WWID
	WWNs  []string // of the target ports, lower case hexadecimal digits without 0x
	LUN   int64    // a disk is behind by-path/*-fc-0xWWN-lun-LUN
}

// ISCSI is what identifies the disk of an in-tree iscsi volume. The link of a disk is
// by-path/ip-PORTAL-iscsi-IQN-lun-LUN, for each portal.
type ISCSI struct {
	Portals []string // address:port, sorted
	IQN     string
	LUN     int64
}

func newVolume(o *krm.Object) *Volume {
	spec := o.Node.Get("spec")
	v := &Volume{
		Name:   o.Name,
		Driver: spec.Str("csi", "driver"),
		Handle: spec.Str("csi", "volumeHandle"),
		Claim:  Key{spec.Str("claimRef", "namespace"), spec.Str("claimRef", "name")},
		FC:     newFibreChannel(spec.Get("fc")),
		ISCSI:  newISCSI(spec.Get("iscsi")),
	}
	for _, of := range []struct{ source, field, driver string }{
		{"gcePersistentDisk", "pdName", "pd.csi.storage.gke.io"},
		{"awsElasticBlockStore", "volumeID", "ebs.csi.aws.com"},
		{"cinder", "volumeID", "cinder.csi.openstack.org"},
		{"azureDisk", "diskURI", "disk.csi.azure.com"},
	} {
		if handle := spec.Str(of.source, of.field); handle != "" {
			v.Driver, v.Handle = of.driver, handle[strings.LastIndexByte(handle, '/')+1:]
			v.Partition, _ = spec.Get(of.source, "partition").Int()
		}
	}
	if handle := spec.Str("vsphereVolume", "volumePath"); handle != "" {
		v.Driver, v.Handle = VSpherePlugin, handle
	}
	if local := cmp.Or(spec.Str("local", "path"), spec.Str("hostPath", "path")); local != "" {
		v.Path = path.Clean(local)
	}
	v.Pinned = spec.Get("nodeAffinity", "required") != nil
	for _, term := range spec.Get("nodeAffinity", "required").Seq("nodeSelectorTerms") {
		for _, e := range term.Seq("matchExpressions") {
			if e.Str("operator") != "In" {
				continue
			}
			for _, value := range e.Seq("values") {
				switch key := e.Str("key"); {
				case key == LabelHostname:
					v.Hosts = append(v.Hosts, value.Value())
				case strings.HasSuffix(key, zoneSuffix) && value.Value() != "" && !slices.Contains(v.Zones, value.Value()):
					v.Zones = append(v.Zones, value.Value())
				}
			}
		}
	}
	return v
}

// zoneSuffix ends the labels of zones: that of Kubernetes, and those of the drivers.
//
// Source: Kubernetes, topology.kubernetes.io/zone, 1.36; drivers of GCE (topology.gke.io/zone), EBS (topology.ebs.csi.aws.com/zone) and Azure (topology.disk.csi.azure.com/zone).
const zoneSuffix = "/zone"

// ZonesOf lists the zones that have the disk of a volume: by its affinity, or else by the node that its claim is for. None
// are known of a volume that has neither.
func (f *Facts) ZonesOf(v *Volume) []string {
	if len(v.Zones) > 0 {
		return v.Zones
	}
	claim := f.Object(krm.ID{Kind: "PersistentVolumeClaim", Namespace: v.Claim.Namespace, Name: v.Claim.Name})
	if claim == nil {
		return nil
	}
	if n := f.Node(claim.Annotation(AnnotationSelectedNode)); n != nil && n.Zone != "" {
		return []string{n.Zone}
	}
	return nil
}

func newFibreChannel(source *document.Node) *FibreChannel {
	if source == nil {
		return nil
	}
	fc := &FibreChannel{}
	fc.LUN, _ = source.Get("lun").Int()
	for _, id := range source.Seq("wwids") {
		fc.WWIDs = append(fc.WWIDs, strings.ReplaceAll(id.Value(), " ", "_")) // as the kubelet reads it
	}
	for _, wwn := range source.Seq("targetWWNs") {
		fc.WWNs = append(fc.WWNs, strings.TrimPrefix(strings.ToLower(wwn.Value()), "0x"))
	}
	return fc
}

// iscsiPort is that of a portal without a port.
const iscsiPort = ":3260"

func newISCSI(source *document.Node) *ISCSI {
	if source == nil {
		return nil
	}
	iscsi := &ISCSI{IQN: source.Str("iqn")}
	iscsi.LUN, _ = source.Get("lun").Int()
	portals := []string{source.Str("targetPortal")}
	for _, portal := range source.Seq("portals") {
		portals = append(portals, portal.Value())
	}
	for _, portal := range portals {
		if portal == "" {
			continue
		}
		if strings.LastIndexByte(portal, ':') <= strings.LastIndexByte(portal, ']') {
			portal += iscsiPort // of [fd00::1], the colons are inside
		}
		iscsi.Portals = append(iscsi.Portals, portal)
	}
	slices.Sort(iscsi.Portals)
	iscsi.Portals = slices.Compact(iscsi.Portals)
	return iscsi
}

// Attachment is what matters of a VolumeAttachment.
type Attachment struct {
	Name     string
	Detached bool // the attacher says that it is not attached
	metadata *document.Node
}

func newAttachment(o *krm.Object) *Attachment {
	return &Attachment{Name: o.Name, Detached: o.Node.Str("status", "attached") == "false", metadata: o.Node.Get("status", "attachmentMetadata")}
}

// before orders attachments of one volume to one node: the one that knows more,
// then the first by name.
func (a *Attachment) before(b *Attachment) bool {
	switch {
	case a == nil:
		return false
	case (a.metadata != nil) != (b.metadata != nil):
		return a.metadata != nil
	}
	return a.Name < b.Name
}

// Metadata returns what the attacher said under this key, in any case.
func (a *Attachment) Metadata(key string) string {
	if a == nil || a.metadata == nil {
		return ""
	}
	for i := range a.metadata.Fields() {
		if f := &a.metadata.Fields()[i]; strings.EqualFold(f.Key, key) {
			return f.Value.Value()
		}
	}
	return ""
}
