package hypercloud

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
)

// rookDefault is a field of the spec of a CephCluster, and what Rook takes where it is not
// set: the zero values of ClusterSpec in ceph.rook.io/v1, and what the definition and deploy/examples/cluster.yaml
// of Rook 1.20 give as the default.
type rookDefault struct {
	path  []string
	value string
}

// renderedDefaults are those that are rendered in any case.
func renderedDefaults() []rookDefault {
	return []rookDefault{
		{[]string{"cephVersion", "allowUnsupported"}, "false"},
		{[]string{"mon", "allowMultiplePerNode"}, "false"},
		{[]string{"mgr", "allowMultiplePerNode"}, "false"},
		{[]string{"dashboard", "enabled"}, "false"},
		{[]string{"dashboard", "ssl"}, "false"},
		{[]string{"monitoring", "enabled"}, "false"},
		{[]string{"storage", "useAllNodes"}, "false"},
		{[]string{"storage", "useAllDevices"}, "false"},
	}
}

// unsaidDefaults are those that no HyperCloudStorage says. cluster.yaml, cluster-on-pvc.yaml
// and cluster-test.yaml of deploy/examples set many of them.
func unsaidDefaults() []rookDefault {
	defaults := []rookDefault{
		{[]string{"skipUpgradeChecks"}, "false"},
		{[]string{"continueUpgradeAfterChecksEvenIfNotHealthy"}, "false"},
		{[]string{"upgradeOSDRequiresHealthyPGs"}, "false"},
		{[]string{"waitTimeoutForHealthyOSDInMinutes"}, "10"},
		{[]string{"removeOSDsIfOutAndSafeToRemove"}, "false"},
		{[]string{"crashCollector", "disable"}, "false"},
		{[]string{"external", "enable"}, "false"},
		{[]string{"cleanupPolicy", "allowUninstallWithVolumes"}, "false"},
		{[]string{"cleanupPolicy", "wipeDevicesFromOtherClusters"}, "false"},
		{[]string{"cleanupPolicy", "sanitizeDisks", "method"}, "quick"},
		{[]string{"cleanupPolicy", "sanitizeDisks", "dataSource"}, "zero"},
		{[]string{"cleanupPolicy", "sanitizeDisks", "iteration"}, "1"},
		{[]string{"monitoring", "metricsDisabled"}, "false"},
		{[]string{"monitoring", "exporter", "perfCountersPrioLimit"}, "5"},
		{[]string{"monitoring", "exporter", "statsPeriodSeconds"}, "5"},
		{[]string{"storage", "allowDeviceClassUpdate"}, "false"},
		{[]string{"storage", "allowOsdCrushWeightUpdate"}, "false"},
		{[]string{"storage", "scheduleAlways"}, "false"},
		{[]string{"storage", "onlyApplyOSDPlacement"}, "false"},
		{[]string{"disruptionManagement", "osdMaintenanceTimeout"}, "30"},
		{[]string{"disruptionManagement", "pgHealthCheckTimeout"}, "0"},
		{[]string{"csi", "readAffinity", "enabled"}, "false"},
		{[]string{"healthCheck", "daemonHealth", "mon", "interval"}, "45s"},
		{[]string{"healthCheck", "daemonHealth", "mon", "timeout"}, "600s"},
		{[]string{"healthCheck", "daemonHealth", "osd", "interval"}, "60s"},
		{[]string{"healthCheck", "daemonHealth", "status", "interval"}, "60s"},
	}
	for check, daemons := range map[string][]string{
		"daemonHealth": {"mon", "osd", "status"}, "livenessProbe": {"mon", "mgr", "osd"}, "startupProbe": {"mon", "mgr", "osd"},
	} {
		for _, daemon := range daemons {
			defaults = append(defaults, rookDefault{[]string{"healthCheck", check, daemon, "disabled"}, "false"})
		}
	}
	return defaults
}

// withDefaults is a CephCluster that says what Rook takes for what it leaves open.
func withDefaults(o *krm.Object) *krm.Object {
	completed, node := *o, o.Node.Copy()
	completed.Node = &node
	spec := node.Get("spec")
	if spec.Kind() != d.Map {
		return o
	}
	for _, f := range renderedDefaults() {
		of, last := spec, f.path[len(f.path)-1]
		for _, key := range f.path[:len(f.path)-1] {
			if of.Get(key) == nil {
				of.Set(key, d.Object())
			}
			of = of.Get(key)
		}
		if value := of.Get(last); of.Kind() == d.Map && (value == nil || value.Kind() == d.Null) {
			of.Set(last, d.Plain(f.value))
		}
	}
	return &completed
}

// takeDefaults passes over what says no more than Rook takes in any case.
func takeDefaults(r *system.Reading) {
	for _, f := range slices.Concat(renderedDefaults(), unsaidDefaults()) {
		if n := r.Node.Get(append([]string{"spec"}, f.path...)...); n != nil && n.Value() == f.value {
			r.Take(n)
		}
	}
}
