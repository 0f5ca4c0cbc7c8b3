package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// smallSpec is a spec of a dozen lines, as most are.
const smallSpec = `apiVersion: dao.mayadata.io/v1alpha1
kind: CStorClusterConfig
metadata: {name: prod, namespace: openebs}
spec:
  minPoolCount: 3
  diskConfig:
    minCount: 6
    local:
      blockDeviceSelector:
        selectorTerms:
        - matchFields: {spec.details.driveType: SSD}
  poolConfig: {raidType: mirror}
`

const smallStorage = `apiVersion: dao.mayadata.io/v1alpha1
kind: Storage
metadata:
  name: prod-node-17-3
  namespace: openebs
  labels:
    app.kubernetes.io/managed-by: poolwright
  annotations:
    config.kubernetes.io/local-config: "true"
    poolwright.io/owner: dao.mayadata.io/CStorClusterConfig/openebs/prod
spec:
  capacity: 100Gi
  nodeName: node-17.example.com
  role: data
`

func parsed(tb testing.TB, text string) (*document.Source, finding.Ref, *document.Node) {
	tb.Helper()
	src := &document.Source{Name: "cstor.yaml", Data: []byte(text)}
	docs, err := document.Parse(src)
	if err != nil {
		tb.Fatal(err)
	}
	n := &docs[0].Node
	return src, refOf(n), n
}

func refOf(n *document.Node) finding.Ref {
	return finding.Ref{
		APIVersion: n.Str("apiVersion"),
		Kind:       n.Str("kind"),
		Namespace:  n.Str("metadata", "namespace"),
		Name:       n.Str("metadata", "name"),
	}
}

func BenchmarkLoadAndComplete(b *testing.B) {
	src, ref, n := parsed(b, smallSpec)
	for b.Loop() {
		s := Load()
		s.Complete(src.Position, ref, n)
	}
}

func BenchmarkComplete(b *testing.B) {
	src, ref, n := parsed(b, smallSpec)
	s := Load()
	for b.Loop() {
		s.Complete(src.Position, ref, n)
	}
}

// BenchmarkCompleteListed completes a spec that lists 40 pools, node by node.
func BenchmarkCompleteListed(b *testing.B) {
	var text strings.Builder
	text.WriteString(smallSpec + "  pools:\n")
	for i := range 40 {
		fmt.Fprintf(&text, "  - {node: node-%d, minCount: 4}\n", i)
	}
	src, ref, n := parsed(b, text.String())
	s := Load()
	b.ReportAllocs()
	for b.Loop() {
		if _, fs := s.Complete(src.Position, ref, n); len(fs) > 0 {
			b.Fatal(fs[0])
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	_, ref, n := parsed(b, smallStorage)
	s := Load()
	b.ReportAllocs()
	for b.Loop() {
		if fs := s.Check(nil, ref, n); len(fs) > 0 {
			b.Fatal(fs)
		}
	}
}

// BenchmarkCheckPoolCluster checks what is rendered for 1,000 nodes with 24 disks.
func BenchmarkCheckPoolCluster(b *testing.B) {
	var text strings.Builder
	text.WriteString("apiVersion: cstor.openebs.io/v1\nkind: CStorPoolCluster\nmetadata: {name: prod, namespace: openebs}\nspec:\n  pools:\n")
	for node := range 1000 {
		fmt.Fprintf(&text, "  - nodeSelector: {kubernetes.io/hostname: node-%d.example.com}\n    poolConfig: {dataRaidGroupType: mirror}\n    dataRaidGroups:\n", node)
		for disk := 0; disk < 24; disk += 2 {
			fmt.Fprintf(&text, "    - blockDevices: [{blockDeviceName: blockdevice-%032x}, {blockDeviceName: blockdevice-%032x}]\n", node<<8+disk, node<<8+disk+1)
		}
	}
	_, ref, n := parsed(b, text.String())
	s := Load()
	b.ReportAllocs()
	for b.Loop() {
		if fs := s.Check(nil, ref, n); len(fs) > 0 {
			b.Fatal(fs[0])
		}
	}
}
