package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/poolwright/poolwright/cmd/internal/bench"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/test/volumes"
)

// Volumes of the benchmark, with three replicas each, and the pools that they are on.
const (
	volumeCount = 1000
	volumePools = 30
)

// measureVolumes prints what preview and verify of many volumes take.
func measureVolumes(runs int, poolwright, work string) error {
	dir := filepath.Join(work, "volumes")
	if err := generateVolumes(dir, poolwright); err != nil {
		return err
	}
	for _, j := range []bench.Job{
		{Name: fmt.Sprintf("`poolwright preview` of %d claims", volumeCount), Argv: []string{poolwright, "preview", dir}},
		{Name: fmt.Sprintf("`poolwright verify` of %d volumes", volumeCount), Argv: []string{poolwright, "verify", dir, "--from", dir + ".made"}},
		{Name: fmt.Sprintf("`poolwright what-if --every node` of %d volumes", volumeCount), Argv: []string{poolwright, "what-if", dir, "--from", dir + ".made", "--every", "node"}},
	} {
		m, err := j.Measure(runs)
		if err != nil {
			return err
		}
		fmt.Printf("| %d pools | %s | %s | | %d MiB | |\n", volumePools, j.Name, m.Wall.Round(100*time.Microsecond), m.Peak>>20)
	}
	return nil
}

// generateVolumes writes a package with a class and its claims, renders it, and writes what a
// cluster has of it once all volumes are made.
func generateVolumes(dir, poolwright string) error {
	var spec, facts bytes.Buffer
	fmt.Fprint(&spec, "apiVersion: poolwright.io/v1alpha1\nkind: CStorVolumeClass\nmetadata:\n  name: db\n  namespace: openebs\nspec:\n  cluster: bench\n  replicaCount: 3\n  claims:\n")
	for n := range volumeCount {
		fmt.Fprintf(&spec, "  - {name: pg-%04d, namespace: shop, size: 20Gi}\n", n)
	}
	fmt.Fprint(&facts, "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: cluster\nitems:\n"+
		"- {apiVersion: apps/v1, kind: Deployment, metadata: {name: cvc-operator, namespace: openebs, labels: {openebs.io/version: "+volumes.Version+"}}}\n"+
		"- apiVersion: cstor.openebs.io/v1\n  kind: CStorPoolCluster\n  metadata: {name: bench, namespace: openebs}\n  spec:\n    pools:\n")
	for n := range volumePools {
		fmt.Fprintf(&facts, "    - {nodeSelector: {kubernetes.io/hostname: n%[1]d}, dataRaidGroups: [{blockDevices: [{blockDeviceName: bd-%[1]d}]}], poolConfig: {dataRaidGroupType: stripe}}\n", n)
	}
	for n := range volumePools {
		fmt.Fprintf(&facts, `- {apiVersion: v1, kind: Node, metadata: {name: n%[1]d, labels: {kubernetes.io/hostname: n%[1]d, topology.kubernetes.io/zone: z%[2]d}}}
- {apiVersion: openebs.io/v1alpha1, kind: BlockDevice, metadata: {name: bd-%[1]d, namespace: openebs, labels: {kubernetes.io/hostname: n%[1]d}}, status: {state: Active, claimState: Claimed}}
- {apiVersion: openebs.io/v1alpha1, kind: BlockDeviceClaim, metadata: {name: bdc-%[1]d, namespace: openebs, labels: {openebs.io/cstor-pool-cluster: bench}}, spec: {blockDeviceName: bd-%[1]d}, status: {phase: Bound}}
- apiVersion: cstor.openebs.io/v1
  kind: CStorPoolInstance
  metadata: {name: bench-%[1]d, namespace: openebs, uid: uid-bench-%[1]d, labels: {kubernetes.io/hostname: n%[1]d, openebs.io/cstor-pool-cluster: bench}}
  spec: {hostName: n%[1]d, dataRaidGroups: [{blockDevices: [{blockDeviceName: bd-%[1]d}]}], poolConfig: {dataRaidGroupType: stripe}}
  status: {phase: ONLINE, readOnly: false, capacity: {free: 90T, total: 100T}}
`, n, n%3)
	}
	for name, text := range map[string][]byte{"class.yaml": spec.Bytes(), "inventory/cluster.yaml": facts.Bytes()} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if _, err := (bench.Job{Name: "render", Argv: []string{poolwright, "render", dir}}).Measure(1); err != nil {
		return err
	}
	made, err := carryOut(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir+".made", 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir+".made", "cluster.yaml"), append(facts.Bytes(), made...), 0o644)
}

// carryOut is what the operators make of the claims of a package, as items of its inventory.
func carryOut(dir string) ([]byte, error) {
	p, findings, err := folder.Read(folder.Input{Dir: dir})
	if err != nil {
		return nil, err
	}
	result := poolwright().Render(fn.Package{Objects: p.Objects, Output: p.Lock})
	if err := failure(append(findings, result.Findings...)); err != nil {
		return nil, err
	}
	var rendered []*krm.Object
	for _, r := range result.Objects {
		rendered = append(rendered, r.Object)
	}
	claims, err := preview.Claims(result.Facts, rendered, nil)
	if err != nil {
		return nil, err
	}
	shown, findings := preview.Of(result.Facts, rendered, claims)
	if err := failure(findings); err != nil {
		return nil, err
	}
	var items []document.Node
	for _, o := range rendered {
		if o.Kind == "StorageClass" {
			items = append(items, *o.Node)
		}
	}
	n := 0
	maker := volumes.Maker{Choose: func(candidates []string, count int) []string {
		n++
		return []string{candidates[n%len(candidates)], candidates[(n+1)%len(candidates)], candidates[(n+2)%len(candidates)]}[:count]
	}}
	for i, c := range shown.Chains {
		objects, err := maker.Make(c, fmt.Sprintf("u%04d", i))
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			items = append(items, *o.Node)
		}
	}
	list := document.List(items...)
	return document.Append(nil, &list, 0), nil
}
