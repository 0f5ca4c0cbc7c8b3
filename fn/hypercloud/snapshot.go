package hypercloud

// What a snapshot keeps of each kind, in the notation of system.Kind.Keep: what a state,
// a render or a plan reads, and neither how full Ceph is nor when it was last asked, which
// change all the time. In the spec of a CephCluster much else has a place, so only fields
// that are named are kept: what holds a secret need not be called one.
const (
	keepDevice  = "config{metadataDevice osdsPerDevice deviceClass encryptedDevice}"
	keepDisks   = "useAllDevices deviceFilter devicePathFilter " + keepDevice + " devices{name fullpath " + keepDevice + "}"
	keepReady   = "conditions[type=Ready]{type status reason message lastTransitionTime}"
	keepCluster = "spec{cephVersion{image} dataDirHostPath external{enable} mon{count} storage{useAllNodes " + keepDisks +
		" nodes{name " + keepDisks + "} storageClassDeviceSets{name count}}}" +
		" status{phase state message ceph{health details{*{severity}} versions{osd}} " + keepReady + "}"
	keepReplicas   = "failureDomain deviceClass replicated{size requireSafeReplicaSize}"
	keepPhase      = "status{phase message " + keepReady + "}"
	keepPool       = "spec{" + keepReplicas + "} " + keepPhase
	keepFilesystem = "spec{metadataPool{" + keepReplicas + "} dataPools{name " + keepReplicas + "}} " + keepPhase
	keepSubvolumes = "spec{name filesystemName} " + keepPhase
	keepStore      = "spec{metadataPool{" + keepReplicas + "} dataPool{" + keepReplicas + "}} " + keepPhase
	keepCDI        = "spec{uninstallStrategy} status{phase conditions[type=Degraded]{type status reason message lastTransitionTime}}"
	keepNothing    = "status" // which is empty: that the object is there is all
)

// deploymentNames are the Deployments that a state asks for.
func deploymentNames() []string {
	return []string{rookOperator, csiOperator, snapshotController, cdiOperator, toolboxName}
}

// definitionNames are the definitions that a state asks for.
func definitionNames() []string {
	return []string{"*." + cephGroup, "*." + csiGroup, "*." + cdiGroup, "*." + snapshotGroup, "*.objectbucket.io"}
}
