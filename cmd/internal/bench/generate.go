package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// size is the shape of a generated cluster.
type size struct{ nodes, disks int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.nodes, s.disks) }

// sizes are those that the README reports.
var sizes = []size{{3, 4}, {100, 12}, {1000, 24}, {5000, 24}}

// generate writes a package for a cluster of this size: a pool of mirrors on
// every node, an inventory as a snapshot gives it, in Inventory wrappers, and a
// kustomization that calls the program poolwright.
func generate(dir string, s size, poolwright string) error {
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

func writeSpec(w *bufio.Writer, s size) {
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
`, s.nodes, s.disks)
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

func writeNodes(w *bufio.Writer, s size) {
	writeWrapper(w, "nodes")
	for n := range s.nodes {
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
      topology.kubernetes.io/zone: zone-%c
`, n, n, n%12+1, n%28+1, n, 'a'+n%3)
	}
}

func writeDevices(w *bufio.Writer, s size) {
	writeWrapper(w, "blockdevices")
	for n := range s.nodes {
		for d := range s.disks {
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

// resourceList writes the package as a function receives it, beside its folder.
func resourceList(dir string) (string, error) {
	list := dir + ".resourcelist"
	f, err := os.Create(list)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	w.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for _, name := range []string{"cstor.yaml", "inventory/nodes.yaml", "inventory/blockdevices.yaml"} {
		if err := appendItem(w, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return list, f.Close()
}

// appendItem copies a file line by line: what the benchmark holds itself counts
// in the peak memory of the processes that it starts.
func appendItem(w *bufio.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lead := "- "
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w.WriteString(lead)
		w.Write(lines.Bytes())
		w.WriteByte('\n')
		lead = "  "
	}
	return lines.Err()
}

// inventoryAsJSON copies the package as poolwright inventory --format json would
// have made it. A process of its own does it: see appendItem.
func inventoryAsJSON(from, to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return exec.Command(self, "in-process", "as-json", from, to).Run()
}

func copyAsJSON(from, to string) error {
	if err := os.MkdirAll(filepath.Join(to, "inventory"), 0o755); err != nil {
		return err
	}
	spec, err := os.ReadFile(filepath.Join(from, "cstor.yaml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "cstor.yaml"), spec, 0o644); err != nil {
		return err
	}
	for _, name := range []string{"nodes", "blockdevices"} {
		data, err := os.ReadFile(filepath.Join(from, "inventory", name+".yaml"))
		if err != nil {
			return err
		}
		docs, err := document.Parse(&document.Source{Name: name, Data: data})
		if err != nil {
			return err
		}
		text := []byte(snapshot.Header(name, snapshot.JSON))
		for i, item := range docs[0].Node.Seq("items") {
			if i > 0 {
				text = append(text, ',')
			}
			text = document.AppendJSON(append(text, '\n'), &item)
		}
		if err := os.WriteFile(filepath.Join(to, "inventory", name+".json"), append(text, "\n]}\n"...), 0o644); err != nil {
			return err
		}
	}
	return nil
}
