package physical

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is what somebody wants, or a manifest that somebody wrote.
type Spec struct {
	Kind, Name string
	Body       string // all but the metadata
	Namespace  string
	Consent    []string // poolwright.io/allow-removal
}

func (s *Spec) chunk() Chunk {
	meta := "  name: " + s.Name + "\n"
	if s.Namespace != "" {
		meta += "  namespace: " + s.Namespace + "\n"
	}
	if len(s.Consent) > 0 {
		meta += "  annotations:\n    poolwright.io/allow-removal: " + strings.Join(s.Consent, ",") + "\n"
	}
	version := map[string]string{
		"CStorClusterConfig": "dao.mayadata.io/v1alpha1", "HyperCloudStorage": "hcs.tmax.io/v1alpha1",
		"Volume": "storage.metalk8s.scality.com/v1alpha1", "VolumeGroup": "storage.metalk8s.scality.com/v1alpha1", "DiskPool": "openebs.io/v1beta3",
	}[s.Kind]
	if version == "" {
		version = "poolwright.io/v1alpha1"
	}
	return Chunk{strings.ToLower(s.Kind) + "-" + s.Name + ".yaml", "apiVersion: " + version + "\nkind: " + s.Kind + "\nmetadata:\n" + meta + s.Body}
}

// DrawSpecs draws two to four systems on the same nodes, and sometimes what people write themselves.
func DrawSpecs(r Rand, w *World) []*Spec {
	kinds := drawers()
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var specs []*Spec
	for _, kind := range kinds[:2+r.IntN(3)] {
		s := kind(r, w, w.free())
		if !strings.Contains(s.Body, "deviceSelector") || len(w.free()) > 6 || r.In(1, 3) { // enough for all, mostly
			specs = append(specs, s)
		}
	}
	if r.In(1, 4) {
		second := pools(r, w, nil)
		second.Name = "more"
		specs = append(specs, second)
	}
	if free := w.free(); len(free) > 0 && r.In(1, 6) {
		specs = append(specs, manifest(r, w, Pick(r, free)))
	}
	return specs
}

// drawers draw a spec of each system. free are the disks that one may name.
func drawers() []func(r Rand, w *World, free []*Disk) *Spec {
	return []func(Rand, *World, []*Disk) *Spec{cstor, pools, volumes, groups, ceph}
}

// nodes is a selector of nodes, or nothing. One that selects none is rare.
func nodes(r Rand, w *World, field string) string {
	some := slices.ContainsFunc(w.Hosts, func(h *Host) bool { return h.Name != "" && h.Groups == "a" })
	if r.In(2, 3) || !some && r.In(9, 10) {
		return ""
	}
	return "  " + field + ":\n    nodeSelectorTerms:\n    - matchLabels: {group: a}\n"
}

func cstor(r Rand, w *World, _ []*Disk) *Spec {
	raid, count := "stripe", 1+r.IntN(2)
	if r.In(1, 3) {
		raid, count = "mirror", 2
	}
	return &Spec{Kind: "CStorClusterConfig", Name: "prod", Namespace: "openebs", Body: fmt.Sprintf(
		"spec:\n  minPoolCount: 1\n%s  poolConfig: {raidType: %s}\n  diskConfig: {minCount: %d, minCapacity: 10Gi, local: {}}\n", nodes(r, w, "allowedNodes"), raid, count)}
}

func pools(r Rand, w *World, _ []*Disk) *Spec {
	return &Spec{Kind: "DiskPoolSet", Name: "fast", Namespace: "mayastor", Body: fmt.Sprintf(
		"spec:\n  poolsPerNode: %s\n  allowByPath: %t\n%s", Pick(r, []string{"1", "1", "1", "2", "2", "all"}), r.In(1, 3), nodes(r, w, "allowedNodes"))}
}

func volumes(r Rand, w *World, _ []*Disk) *Spec {
	return &Spec{Kind: "VolumeTemplate", Name: "data", Body: fmt.Sprintf(
		"spec:\n  perNode: %d\n%s  template: {kind: Volume, spec: {storageClassName: local, mode: Block, rawBlockDevice: {}}}\n", 1+r.IntN(2), nodes(r, w, "nodeSelector"))}
}

func groups(r Rand, w *World, _ []*Disk) *Spec {
	return &Spec{Kind: "VolumeTemplate", Name: "lvm", Body: fmt.Sprintf(
		"spec:\n  disksPerGroup: %d\n%s  template: {kind: VolumeGroup, spec: {}}\n", 1+r.IntN(2), nodes(r, w, "nodeSelector"))}
}

const cephSpec = `spec:
  storage:
    replicas: 1
%s  ceph: {mons: 1, mgrs: 1}
  block: [{name: one, allowUnsafe: true}]
  filesystem: []
`

// ceph is a Ceph cluster that names its disks, or selects them.
func ceph(r Rand, w *World, free []*Disk) *Spec {
	text := "    deviceSelector: {}\n"
	if len(free) > 0 && r.In(1, 2) {
		drive := "SSD"
		if Pick(r, free).Spins {
			drive = "HDD"
		}
		text = "    deviceSelector: {selectorTerms: [{matchFields: {spec.details.driveType: [" + drive + "]}}]}\n"
	}
	if r.In(5, 6) {
		text = "    nodes:\n"
		for _, h := range w.Hosts {
			devices := ""
			for _, d := range free {
				at, here := d.On(h)
				if !here || h.Name == "" || r.In(2, 3) {
					continue
				}
				name := w.reportedLink(r, d, at)
				if r.In(1, 12) {
					name = path(r, d, at) // which nobody may report
				}
				if strings.HasPrefix(name, byID) || strings.HasPrefix(name, "/dev/sd") {
					devices += "      - " + name + "\n"
				}
			}
			if devices != "" {
				text += "    - hostname: " + h.Label + "\n      devices:\n" + devices
			}
		}
		if !strings.Contains(text, "hostname") {
			text = "    deviceSelector: {}\n"
		}
	}
	return &Spec{Kind: "HyperCloudStorage", Name: "hcs", Namespace: "rook-ceph", Body: fmt.Sprintf(cephSpec, text)}
}

// reportedLink is a link or kernel name of a disk that a report of it has, or "": mostly of one that
// reports distinguish from all others.
func (w *World) reportedLink(r Rand, d *Disk, at Place) string {
	clone := func(other *Disk) bool { return other != d && other.WWN == d.WWN && d.WWN != "" }
	if slices.ContainsFunc(w.Disks, clone) && r.In(9, 10) {
		return ""
	}
	var links []string
	if b := w.device(d, at.Host); b != nil {
		links = b.ids(d)
	}
	if e := w.entry(d, at.Host); e != nil {
		links = append(links, e.ids(d)...)
	}
	links = slices.DeleteFunc(links, func(link string) bool { return len(tokens("", link)) == 0 })
	switch {
	case len(links) == 0:
		return ""
	case r.In(1, 6):
		return "/dev/" + at.Kernel
	}
	return Pick(r, links)
}

// manifest is an object of a person in the package, on a free disk.
func manifest(r Rand, w *World, d *Disk) *Spec {
	at := d.Places[0]
	n := w.next()
	name := path(r, d, at)
	if strings.HasPrefix(name, "/dev/"+at.Kernel) && r.In(9, 10) { // which is refused
		name = byPath + at.Path
	}
	switch {
	case r.In(1, 3) && strings.HasPrefix(name, "/dev/disk/"):
		return &Spec{Kind: "DiskPool", Name: fmt.Sprintf("own-%d", n), Namespace: "mayastor", Body: fmt.Sprintf("spec:\n  node: %s\n  disks:\n  - %s\n", at.Host.Name, name)}
	case r.In(1, 3) && d.WWN != "":
		return &Spec{Kind: "Volume", Name: fmt.Sprintf("own-%d", n), Body: fmt.Sprintf("spec:\n  nodeName: %s\n  storageClassName: local\n  mode: Block\n  rawBlockDevice:\n    disk:\n      wwn: \"%s\"\n", at.Host.Name, d.WWN)}
	case r.In(1, 2):
		return &Spec{Kind: "VolumeGroup", Name: fmt.Sprintf("own-%d", n), Body: fmt.Sprintf("spec:\n  nodeName: %s\n  devices:\n  - devicePath: %s\n", at.Host.Name, name)}
	}
	return &Spec{Kind: "Volume", Name: fmt.Sprintf("own-%d", n), Body: fmt.Sprintf("spec:\n  nodeName: %s\n  storageClassName: local\n  mode: Block\n  rawBlockDevice:\n    devicePath: %s\n", at.Host.Name, name)}
}
