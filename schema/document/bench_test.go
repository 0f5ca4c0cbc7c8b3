package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"go.yaml.in/yaml/v3"
)

// inventory makes an Inventory of NDM block devices, as kubectl prints them:
// 1000 nodes with 24 devices each are 25 MB in one document.
func inventory(nodes, devices int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: blockdevices\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems:\n")
	for n := range nodes {
		for d := range devices {
			fmt.Fprintf(&b, `- apiVersion: openebs.io/v1alpha1
  kind: BlockDevice
  metadata:
    annotations:
      internal.openebs.io/uuid-scheme: gpt
    creationTimestamp: "2026-01-02T03:04:05Z"
    generation: 2
    labels:
      kubernetes.io/hostname: node-%04[1]d
      ndm.io/blockdevice-type: blockdevice
      ndm.io/managed: "true"
    name: blockdevice-%032[3]x
    namespace: openebs
    resourceVersion: "%[3]d"
    uid: 7d3f1f0a-5f0e-4e2b-9c1d-%012[3]x
  spec:
    capacity:
      logicalSectorSize: 512
      physicalSectorSize: 4096
      storage: 480103981056
    details:
      compliance: ACS-3
      deviceType: disk
      driveType: SSD
      firmwareRevision: "0142"
      model: MTFDDAK480TDS
      serial: 0E%010[3]d
      vendor: Micron
    devlinks:
    - kind: by-id
      links:
      - /dev/disk/by-id/ata-MTFDDAK480TDS_0E%010[3]d
      - /dev/disk/by-id/wwn-0x500a0751%08[3]x
    - kind: by-path
      links:
      - /dev/disk/by-path/pci-0000:00:17.0-ata-%[2]d
    filesystem: {}
    nodeAttributes:
      nodeName: node-%04[1]d
    partitioned: "No"
    path: /dev/sd%[4]c
  status:
    claimState: Unclaimed
    state: Active
`, n, d+1, n*devices+d, 'a'+d)
		}
	}
	return b.Bytes()
}

var sizes = []struct{ nodes, devices int }{{3, 4}, {100, 12}, {1000, 24}}

func BenchmarkParse(b *testing.B) {
	for _, size := range sizes {
		data := inventory(size.nodes, size.devices)
		b.Run(fmt.Sprintf("%dx%d/document", size.nodes, size.devices), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(&Source{Data: data}); err != nil {
					b.Fatal(err)
				}
			}
		})
		docs, err := Parse(&Source{Data: data})
		if err != nil {
			b.Fatal(err)
		}
		asJSON := AppendJSON(nil, &docs[0].Node)
		b.Run(fmt.Sprintf("%dx%d/document of JSON", size.nodes, size.devices), func(b *testing.B) {
			b.SetBytes(int64(len(asJSON)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(&Source{Data: asJSON}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%dx%d/encoding/json", size.nodes, size.devices), func(b *testing.B) {
			b.SetBytes(int64(len(asJSON)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(asJSON, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%dx%d/yaml.v3", size.nodes, size.devices), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var n yaml.Node
				if err := yaml.Unmarshal(data, &n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	docs, err := Parse(&Source{Data: inventory(100, 12)})
	if err != nil {
		b.Fatal(err)
	}
	for name, appender := range map[string]func([]byte, *Node) []byte{
		"yaml": func(dst []byte, n *Node) []byte { return Append(dst, n, 0) },
		"json": AppendJSON,
	} {
		dst := appender(nil, &docs[0].Node)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				dst = appender(dst[:0], &docs[0].Node)
			}
		})
	}
}
