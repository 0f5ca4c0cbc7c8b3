package cstorvolume

import (
	"strconv"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// makeClass makes the class as the spec wants it. What the spec leaves open stays as it
// was; a class that cannot be made yet is withheld.
func (v *volumeClass) makeClass() {
	if v.Failed() || v.cluster.broken {
		return
	}
	before := class.Before(v.in.Facts, v.Before, v.Object.Name)
	replicas := v.replicas(before)
	if replicas == 0 {
		v.Report(finding.Info, "awaiting-pools", "spec.cluster", "awaits the first pool of cluster %s; the class and its claims are withheld until then", v.cluster.Name)
		return
	}
	if v.cfg.pinned() && !v.pin(before, replicas) {
		return
	}
	c := &class.Class{
		Name: v.Object.Name, Default: v.cfg.Spec.Default, Provisioner: driver,
		Parameters: map[string]string{
			parameterType: "cstor", parameterCluster: v.cluster.Name,
			parameterReplicas: strconv.Itoa(replicas), parameterFSType: v.cfg.Spec.FSType,
		},
		ReclaimPolicy: v.cfg.Spec.ReclaimPolicy, Binding: v.binding(before),
		AllowsExpansion: v.cfg.Spec.AllowVolumeExpansion, MountOptions: v.cfg.Spec.MountOptions,
	}
	if v.hasPolicy() {
		c.Parameters[parameterPolicy] = v.Object.Name
	}
	for _, change := range c.Changes(before, classField) {
		v.Report(finding.Error, "class-changed", change.Field, "StorageClass %s %s", c.Name, change.Text)
	}
	v.class = c
}

// classField is the field of the spec that a field of the StorageClass comes from.
func classField(field string) string {
	switch field {
	case "parameters." + parameterCluster:
		return "spec.cluster"
	case "parameters." + parameterReplicas:
		return "spec.replicaCount"
	case "parameters." + parameterFSType:
		return "spec.fsType"
	case "parameters." + parameterPolicy:
		return "spec.policy"
	case "reclaimPolicy", "volumeBindingMode":
		return "spec." + field
	}
	return "metadata.name"
}

// replicas is how many copies a volume has; 0 where the first pool has to be awaited.
func (v *volumeClass) replicas(before *class.Class) int {
	wanted, pools := v.cfg.Spec.ReplicaCount, v.cluster.pools
	if wanted == 0 && before != nil {
		wanted = replicasOf(before)
	}
	if rendered := class.Rendered(v.Before, v.Object.Name); wanted == 0 && rendered != nil {
		wanted = min(replicasOf(rendered), pools)
	}
	switch {
	case pools == 0 && before == nil:
		return 0
	case wanted == 0:
		return max(1, min(3, pools))
	case wanted <= pools:
	case before == nil:
		v.Report(finding.Error, "replicas", "spec.replicaCount", "wants %s, each on another pool, and cluster %s has or will have %s; lower it, or add pools", finding.Count(wanted, "replica"), v.cluster.Name, finding.Count(pools, "pool"))
	default:
		v.Report(finding.Warning, "replicas-above-pools", "spec.replicaCount", "wants %s, each on another pool, and cluster %s has %s now; no new volume is made until there are more", finding.Count(wanted, "replica"), v.cluster.Name, finding.Count(pools, "pool"))
	}
	return wanted
}

func replicasOf(c *class.Class) int {
	n, _ := strconv.Atoi(c.Parameters[parameterReplicas])
	return n
}

// binding is when a volume is made. A default is taken once.
func (v *volumeClass) binding(before *class.Class) string {
	switch rendered := class.Rendered(v.Before, v.Object.Name); {
	case v.cfg.Spec.VolumeBindingMode != "":
		return v.cfg.Spec.VolumeBindingMode
	case before != nil:
		return before.Binding
	case rendered != nil:
		return rendered.Binding
	}
	return v.cfg.binding()
}

// hasPolicy reports whether the volumes are made otherwise than the operators do it by
// themselves.
func (v *volumeClass) hasPolicy() bool { return v.cfg.policy != nil || v.cfg.pinned() }

// policyObject is the CStorVolumePolicy.
func (v *volumeClass) policyObject() *krm.Object {
	spec := document.Object()
	if v.cfg.policy != nil {
		spec = v.cfg.policy.Copy()
	}
	if len(v.pins) > 0 {
		pools := document.List()
		for _, name := range v.pins {
			pools.Add(document.Object(document.F("poolName", document.Text(name))))
		}
		spec.Set("replicaPoolInfo", pools)
	}
	return krm.Make(policyGroupKind().Group+"/v1", policyKind, v.Object.Namespace, v.Object.Name, document.F("spec", spec))
}

// snapshotsObject is the VolumeSnapshotClass.
func (v *volumeClass) snapshotsObject(s *snapshotsConfig) *krm.Object {
	o := krm.Make(snapshotGroup+"/v1", snapshotClass, "", v.cfg.snapshots(v.Object.Name),
		document.F("driver", document.Text(driver)),
		document.F("deletionPolicy", document.Text(s.DeletionPolicy)),
	)
	if s.Default {
		o.SetAnnotation(annotationDefaultSnapshots, "true")
	}
	return o
}

// checkDefaults refuses a second default class in the package.
func (v *volumeClass) checkDefaults() {
	const remedy = "make one of them no default"
	if v.class != nil {
		v.in.Defaults.Know(v.class.Name)
	}
	if c := v.class; c != nil && c.Default {
		if first := v.in.Defaults.Take(c.Name, v.Object.Ref); first != "" {
			v.Report(finding.Error, "two-defaults", "spec.default", "StorageClass %s is a second default class, the first is %s; %s", c.Name, first, remedy)
		}
	}
	if s := v.cfg.Spec.SnapshotClass; s != nil && s.Default {
		o := v.snapshotsObject(s)
		if first := v.in.Defaults.TakeFor(snapshotClass+" "+driver, o.Ref, v.Object.Ref); first != "" {
			v.Report(finding.Error, "two-defaults", "spec.snapshotClass.default", "%s is a second default for snapshots of cStor, the first is %s; %s", o.Ref, first, remedy)
		}
	}
}

// explainIgnored explains settings that change nothing.
func (v *volumeClass) explainIgnored() {
	for _, path := range [][]string{{"provision", "blockSize"}, {"replica", "compression"}} {
		if v.cfg.policy.Get(path...) != nil {
			v.Report(finding.Info, "not-carried", "spec.policy."+path[0]+"."+path[1], "the operators of cStor 3.6 do not carry it to the replicas, so that it changes nothing")
		}
	}
}
