package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Size is the shape of a generated cluster.
type Size struct{ Nodes, Disks int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Nodes, s.Disks) }

// Sizes is a flag.Value: sizes with commas between them.
type Sizes []Size

func (s *Sizes) String() string {
	var all []string
	for _, size := range *s {
		all = append(all, size.String())
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (s *Sizes) Set(text string) error {
	*s = nil
	for one := range strings.SplitSeq(text, ",") {
		var size Size
		if n, err := fmt.Sscanf(one, "%dx%d", &size.Nodes, &size.Disks); n != 2 {
			return fmt.Errorf("%q is no size; write 1000x24: %w", one, err)
		}
		*s = append(*s, size)
	}
	return nil
}

// Generate writes a package for a cluster of this size: a pool of mirrors on
// every node, an inventory as a snapshot gives it, in Inventory wrappers, and a
// kustomization that calls the program poolwright.
func Generate(dir string, s Size, poolwright string) error {
	if err := os.MkdirAll(filepath.Join(dir, "inventory"), 0o755); err != nil {
		return err
	}
	files := map[string]func(*bufio.Writer){
		"cstor.yaml":                  func(w *bufio.Writer) { writeSpec(w, s) },
		"inventory/nodes.yaml":        func(w *bufio.Writer) { writeNodes(w, s) },
		"inventory/blockdevices.yaml": func(w *bufio.Writer) { writeDevices(w, s) },
		"kustomization.yaml": func(w *bufio.Writer) {
			fmt.Fprint(w, "resources: [cstor.yaml, inventory/nodes.yaml, inventory/blockdevices.yaml]\ntransformers: [function.yaml]\n")
		},
		"function.yaml": func(w *bufio.Writer) {
			fmt.Fprintf(w, "apiVersion: poolwright.io/v1alpha1\nkind: RenderConfig\nmetadata:\n  name: poolwright\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: %s}\n", poolwright)
		},
	}
	for name, write := range files {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		write(w)
		if err := w.Flush(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// Lock writes a package beside another one, with the same spec and inventory, and renders it,
// as people have it day by day.
func Lock(dir, from, spec, poolwright string) error {
	if err := link(dir, from, spec, "inventory/nodes.yaml", "inventory/blockdevices.yaml"); err != nil {
		return err
	}
	if out, err := exec.Command(poolwright, "render", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("render %s: %w\n%s", dir, err, out)
	}
	return nil
}

// link makes files of one package files of another.
func link(dir, from string, names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// PoolSet writes a package beside one of Generate, with the same inventory: a DiskPoolSet
// with so many pools on every node, a number or all.
func PoolSet(dir, from, perNode string) error {
	if err := link(dir, from, "inventory/nodes.yaml", "inventory/blockdevices.yaml"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "diskpools.yaml"), fmt.Appendf(nil, `apiVersion: poolwright.io/v1alpha1
kind: DiskPoolSet
metadata:
  name: bench
  namespace: openebs
spec:
  poolsPerNode: %s
  storageClasses:
  - {}
`, perNode), 0o644)
}

func writeSpec(w *bufio.Writer, s Size) {
	fmt.Fprintf(w, `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata:
  name: bench
  namespace: openebs
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  minPoolCount: %d
  diskConfig:
    minCount: %d
    minCapacity: 1Ti
    local: {}
  poolConfig:
    raidType: mirror
`, s.Nodes, s.Disks)
}

func writeWrapper(w *bufio.Writer, name string) {
	fmt.Fprintf(w, `apiVersion: poolwright.io/v1alpha1
kind: Inventory
metadata:
  name: %s
  annotations:
    config.kubernetes.io/local-config: "true"
items:
`, name)
}

func writeNodes(w *bufio.Writer, s Size) {
	writeWrapper(w, "nodes")
	for n := range s.Nodes {
		fmt.Fprintf(w, `- apiVersion: v1
  kind: Node
  metadata:
    name: node-%05d
    uid: 7d9c2f4e-1b3a-4c5d-8e6f-%012d
    creationTimestamp: "2025-%02d-%02dT08:00:00Z"
    labels:
      kubernetes.io/arch: amd64
      kubernetes.io/hostname: node-%05d
      kubernetes.io/os: linux
      openebs.io/engine: mayastor
      topology.kubernetes.io/zone: zone-%c
`, n, n, n%12+1, n%28+1, n, 'a'+n%3)
	}
}

func writeDevices(w *bufio.Writer, s Size) {
	writeWrapper(w, "blockdevices")
	for n := range s.Nodes {
		for d := range s.Disks {
			fmt.Fprintf(w, `- apiVersion: openebs.io/v1alpha1
  kind: BlockDevice
  metadata:
    name: blockdevice-%016x%016x
    namespace: openebs
    uid: 5b1c7a90-2d4e-4f60-9a8b-%012d
    labels:
      kubernetes.io/hostname: node-%05d
      ndm.io/blockdevice-type: blockdevice
      ndm.io/managed: "true"
  spec:
    capacity:
      logicalSectorSize: 512
      physicalSectorSize: 4096
      storage: %d
    details:
      deviceType: disk
      driveType: HDD
      logicalBlockSize: 512
      model: HUS726T4TALA6L4
      serial: %dE%07d
      vendor: HGST
    devlinks:
    - kind: by-id
      links:
      - /dev/disk/by-id/ata-HUS726T4TALA6L4_%dE%07d
      - /dev/disk/by-id/wwn-0x5000cca0%08x
    - kind: by-path
      links:
      - /dev/disk/by-path/pci-0000:3b:00.0-scsi-0:0:%d:0
    filesystem: {}
    nodeAttributes:
      nodeName: node-%05d
    partitioned: "No"
    path: /dev/sd%c
  status:
    claimState: Unclaimed
    state: Active
`, n, d, n*100+d, n, int64(4000787030016)+int64(d%3)*4000787030016, d, n*100+d, d, n*100+d, n*100+d, d, n, 'a'+d)
		}
	}
}
