package physical

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Live is an object in the cluster that holds disks.
type Live struct {
	Plural, Name string
	Text         string
	Disks        []*Disk
	Rendered     bool // by Poolwright; else a person made it
}

// free lists the disks that are plugged in, hold nothing and are held by nothing.
func (w *World) free() []*Disk {
	var free []*Disk
	for _, d := range w.Disks {
		if len(d.Places) > 0 && d.Content == "" && d.Places[0].Host.Name != "" && len(w.holders(d)) == 0 {
			free = append(free, d)
		}
	}
	return free
}

func (w *World) holders(d *Disk) []*Live {
	var all []*Live
	for _, l := range w.Live {
		if slices.Contains(l.Disks, d) {
			all = append(all, l)
		}
	}
	return all
}

// add puts an object into the cluster, on the disks that it means now.
func (w *World) add(l *Live, content string) bool {
	o := parsed([]Chunk{{"live.yaml", l.Text}})
	if len(o) != 1 {
		return false
	}
	holds := HoldsOf(o[0])
	for i := range holds {
		disks := w.On(&holds[i])
		w.Bound[holds[i].key()] = disks
		for _, d := range disks {
			if d.Content == "" && content != "" {
				d.Content = content
				if o[0].Kind == "Volume" || o[0].Kind == "VolumeGroup" {
					d.Mark = o[0].Kind + "/" + o[0].Name
				}
			}
			l.Disks = append(l.Disks, d)
		}
	}
	w.Live = append(w.Live, l)
	return true
}

// remove takes an object away. What it has written stays.
func (w *World) remove(l *Live) {
	w.Live = slices.DeleteFunc(w.Live, func(other *Live) bool { return other == l })
	for _, o := range parsed([]Chunk{{"live.yaml", l.Text}}) {
		for _, h := range HoldsOf(o) {
			delete(w.Bound, h.key())
		}
	}
}

// Wipe empties a disk.
func (d *Disk) Wipe() { d.Content, d.ContentLinks, d.Mark, d.FSUUID = "", nil, "", "" }

// HoldByHand lets a person make an object on a free disk, which is named in any way that there is.
// Whether what it writes can be seen by now is drawn, too: a pool that is being made has written nothing.
func (w *World) HoldByHand(r Rand, d *Disk) string {
	at := d.Places[0]
	n := w.next()
	l := w.byHand(r, d, at, n)
	if l == nil || !w.onlyOn(l, d) {
		return ""
	}
	content := ""
	if r.In(1, 3) {
		content = Pick(r, []string{"ext4", "xfs", "spdk", "bluestore"})
	}
	if !w.add(l, content) {
		return ""
	}
	return l.Plural + " " + l.Name + " on " + w.called(d)
}

// onlyOn reports whether an object means the one disk, or none that another holds.
func (w *World) onlyOn(l *Live, d *Disk) bool {
	for _, o := range parsed([]Chunk{{"live.yaml", l.Text}}) {
		for _, h := range HoldsOf(o) {
			for _, other := range w.On(&h) {
				if other != d && len(w.holders(other)) > 0 || other.Content != "" && other != d {
					return false
				}
			}
		}
	}
	return true
}

// path is a name of a disk on a node: a link or a kernel name.
func path(r Rand, d *Disk, at Place) string {
	ids := d.IDLinks()
	switch {
	case len(ids) > 0 && r.In(3, 5):
		return byID + Pick(r, ids)
	case r.In(1, 2):
		return byPath + at.Path
	}
	return "/dev/" + at.Kernel
}

const live = "  annotations: {poolwright.io/inventory: \"true\"}\n"

func (w *World) byHand(r Rand, d *Disk, at Place, n int) *Live {
	node := at.Host.Name
	volume := fmt.Sprintf("apiVersion: storage.metalk8s.scality.com/v1alpha1\nkind: Volume\nmetadata:\n  name: hand-%d\n%sspec:\n  nodeName: %s\n  storageClassName: local\n  mode: Block\n", n, live, node)
	switch r.IntN(12) {
	case 0, 1, 2:
		uri := path(r, d, at)
		if at.PCI != "" && r.In(1, 3) {
			uri = "pcie:///" + at.PCI
		} else if r.In(1, 3) {
			uri = Pick(r, []string{"aio://", "uring://"}) + uri
		}
		return &Live{Plural: "diskpools", Name: fmt.Sprintf("hand-%d", n), Text: fmt.Sprintf(
			"apiVersion: openebs.io/v1beta3\nkind: DiskPool\nmetadata:\n  name: hand-%d\n  namespace: mayastor\n%sspec:\n  node: %s\n  disks:\n  - %s\n", n, live, node, uri)}
	case 3, 4, 5:
		return &Live{Plural: "cephclusters", Name: fmt.Sprintf("hand-%d", n), Text: fmt.Sprintf(
			"apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata:\n  name: hand-%d\n  namespace: ceph-%d\n%sspec:\n  storage:\n    useAllNodes: false\n    useAllDevices: false\n    nodes:\n    - name: %s\n%s",
			n, n, live, at.Host.Label, cephDevices(r, d, at))}
	case 6, 7:
		switch {
		case r.In(1, 2) && d.WWN != "":
			return &Live{Plural: "volumes", Name: fmt.Sprintf("hand-%d", n), Text: volume + "  rawBlockDevice:\n    disk:\n      wwn: " + Pick(r, []string{"\"0x" + d.WWN + "\"", "\"" + strings.ToUpper(d.WWN) + "\"", "naa." + d.WWN}) + "\n"}
		case r.In(1, 3) && d.Serial != "":
			return &Live{Plural: "volumes", Name: fmt.Sprintf("hand-%d", n), Text: volume + "  rawBlockDevice:\n    disk:\n      serial: " + d.Serial + "\n"}
		}
		return &Live{Plural: "volumes", Name: fmt.Sprintf("hand-%d", n), Text: volume + "  rawBlockDevice:\n    devicePath: " + path(r, d, at) + "\n"}
	case 8:
		return &Live{Plural: "volumegroups", Name: fmt.Sprintf("hand-%d", n), Text: fmt.Sprintf(
			"apiVersion: storage.metalk8s.scality.com/v1alpha1\nkind: VolumeGroup\nmetadata:\n  name: hand-%d\n%sspec:\n  nodeName: %s\n  devices:\n  - devicePath: %s\n", n, live, node, path(r, d, at))}
	case 9:
		if b := w.device(d, at.Host); b != nil {
			return &Live{Plural: "cstorpoolclusters", Name: fmt.Sprintf("hand-%d", n), Text: fmt.Sprintf(
				"apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata:\n  name: hand-%d\n  namespace: openebs\n%sspec:\n  pools:\n  - nodeSelector: {kubernetes.io/hostname: %s}\n    dataRaidGroups:\n    - blockDevices:\n      - blockDeviceName: %s\n    poolConfig: {dataRaidGroupType: stripe}\n",
				n, live, at.Host.Label, b.Name)}
		}
		fallthrough
	default:
		return persistent(r, d, at, n)
	}
}

// cephDevices names a disk of a CephCluster in one of the ways that Rook takes.
func cephDevices(r Rand, d *Disk, at Place) string {
	switch r.IntN(6) {
	case 0:
		return "      devicePathFilter: ^" + byPath + regexp.QuoteMeta(at.Path) + "$\n"
	case 1:
		return "      deviceFilter: ^" + at.Kernel + "$\n"
	case 2:
		if len(d.IDLinks()) > 0 {
			return "      devicePathFilter: " + regexp.QuoteMeta(Pick(r, d.IDLinks())) + "\n"
		}
	case 3:
		return "      devices:\n      - fullpath: " + path(r, d, at) + "\n"
	case 4:
		return "      devices:\n      - name: " + at.Kernel + "\n"
	}
	return "      devices:\n      - name: " + path(r, d, at) + "\n"
}

// persistent is a PersistentVolume on a disk, bound or not, with the source that such a disk has.
func persistent(r Rand, d *Disk, at Place, n int) *Live {
	source := ""
	switch d.Bus {
	case GCE:
		source = Pick(r, []string{"  csi:\n    driver: pd.csi.storage.gke.io\n    volumeHandle: projects/p/zones/z/disks/" + d.Handle + "\n", "  gcePersistentDisk:\n    pdName: " + d.Handle + "\n"})
	case EBS:
		source = Pick(r, []string{"  csi:\n    driver: ebs.csi.aws.com\n    volumeHandle: " + d.Handle + "\n", "  awsElasticBlockStore:\n    volumeID: aws://eu-1a/" + d.Handle + "\n"})
	case Cinder:
		source = Pick(r, []string{"  csi:\n    driver: cinder.csi.openstack.org\n    volumeHandle: " + d.Handle + "\n", "  cinder:\n    volumeID: " + d.Handle + "\n"})
	case Multipath:
		source = "  fc:\n    wwids:\n    - 3" + d.WWN + "\n"
	case ISCSI:
		source = fmt.Sprintf("  iscsi:\n    targetPortal: %s:3260\n    iqn: %s\n    lun: %d\n", d.Portal, d.IQN, d.LUN)
	}
	if source == "" || r.In(1, 3) {
		name := path(r, d, at)
		if strings.HasPrefix(name, byID) && r.In(1, 4) {
			name += "-part1"
		}
		source = fmt.Sprintf("  local:\n    path: %s\n  nodeAffinity:\n    required:\n      nodeSelectorTerms:\n      - matchExpressions:\n        - {key: kubernetes.io/hostname, operator: In, values: [%s]}\n", name, at.Host.Label)
	}
	claim := ""
	if r.In(2, 3) {
		claim = fmt.Sprintf("  claimRef: {namespace: shop, name: data-%d}\n", n)
	}
	return &Live{Plural: "persistentvolumes", Name: fmt.Sprintf("pv-%d", n), Text: fmt.Sprintf(
		"apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: pv-%d\nspec:\n  storageClassName: local\n%s%s", n, source, claim)}
}

// Apply applies what is rendered, and takes away what of it is not rendered any more.
func (w *World) Apply(lock []Chunk) {
	rendered := map[string]bool{}
	for _, o := range parsed(lock) {
		content := map[string]string{"DiskPool": "spdk", "CephCluster": "bluestore", "CStorPoolCluster": "zfs_member", "Volume": "ext4", "VolumeGroup": "LVM2_member"}[o.Kind]
		if content == "" || o.Owner() == "" {
			continue
		}
		l := &Live{Plural: strings.ToLower(o.Kind) + "s", Name: o.Name, Text: string(o.Raw) + statusOf(o.Kind), Rendered: true}
		rendered[l.Plural+"/"+l.Name] = true
		w.replace(l, content)
	}
	for _, l := range slices.Clone(w.Live) {
		if l.Rendered && !rendered[l.Plural+"/"+l.Name] {
			w.remove(l)
		}
	}
}

// statusOf is what the operators say of an object that is as it should be.
func statusOf(kind string) string {
	switch kind {
	case "DiskPool":
		return "status: {cr_state: Created, pool_status: Online}\n"
	case "CephCluster":
		return "status: {state: Created, phase: Ready, ceph: {health: HEALTH_OK}}\n"
	case "Volume", "VolumeGroup":
		return "status: {phase: Available, conditions: [{type: Ready, status: \"True\"}]}\n"
	}
	return ""
}

// replace puts the object in the place of the one that has its name; its disks stay bound.
func (w *World) replace(l *Live, content string) {
	for _, was := range w.Live {
		if was.Rendered && was.Plural == l.Plural && was.Name == l.Name {
			if was.Text == l.Text {
				return
			}
			w.Live = slices.DeleteFunc(w.Live, func(other *Live) bool { return other == was })
			break
		}
	}
	w.add(l, content)
}

// Snapshot lists what the cluster says of the kinds.
func (w *World) Snapshot(kinds []string) []Chunk {
	var chunks []Chunk
	for _, h := range w.Hosts {
		if h.Name != "" {
			chunks = append(chunks, Chunk{"inventory/nodes.yaml", h.text()})
		}
	}
	claims := map[*Device]string{}
	for _, l := range w.Live {
		if l.Plural != "cstorpoolclusters" {
			continue
		}
		for _, o := range parsed([]Chunk{{"live.yaml", l.Text}}) {
			for _, h := range HoldsOf(o) {
				for _, b := range w.Devices {
					if "openebs/"+b.Name == h.Device {
						claims[b] = l.Name
					}
				}
			}
		}
	}
	for _, b := range w.Devices {
		claim := ""
		if cluster := claims[b]; cluster != "" {
			claim = "bdc-" + b.Name
			chunks = append(chunks, Chunk{"inventory/blockdeviceclaims.yaml", fmt.Sprintf(
				"apiVersion: openebs.io/v1alpha1\nkind: BlockDeviceClaim\nmetadata:\n  name: %s\n  namespace: openebs\n  labels: {openebs.io/cstor-pool-cluster: %s}\nspec: {blockDeviceName: %s}\nstatus: {phase: Bound}\n", claim, cluster, b.Name)})
		}
		chunks = append(chunks, Chunk{"inventory/blockdevices.yaml", b.text(claim)})
	}
	chunks = append(chunks, w.inventories()...)
	for _, l := range w.Live {
		chunks = append(chunks, Chunk{"inventory/" + l.Plural + ".yaml", l.Text})
	}
	return slices.DeleteFunc(chunks, func(c Chunk) bool {
		return !slices.Contains(kinds, strings.TrimSuffix(strings.TrimPrefix(c.File, "inventory/"), ".yaml"))
	})
}

// AllKinds are the plurals of the kinds that a snapshot can have.
func AllKinds() []string {
	return []string{"nodes", "blockdevices", "blockdeviceclaims", "nodeinventories", "persistentvolumes", "diskpools", "cephclusters", "cstorpoolclusters", "cstorpoolinstances", "volumes", "volumegroups"}
}
