package hypercloud

// What a snapshot keeps of each kind, in the notation of system.Kind.Keep: what a state,
// a render or a plan reads, and neither how full Ceph is nor when it was last asked, which
// change all the time; and what a spec can say of an object that it is made of. In the spec of a CephCluster much else has a place, so only fields
// that are named are kept: what holds a secret need not be called one.
const (
	keepDevice  = "config{metadataDevice osdsPerDevice deviceClass encryptedDevice}"
	keepDisks   = "useAllDevices deviceFilter devicePathFilter " + keepDevice + " devices{name fullpath " + keepDevice + "}"
	keepReady   = "conditions[type=Ready]{type status reason message lastTransitionTime}"
	keepCluster = "spec{cephVersion{image allowUnsupported} dataDirHostPath external{enable} mon{count allowMultiplePerNode} mgr{count allowMultiplePerNode}" +
		" dashboard{enabled ssl port urlPrefix} monitoring{enabled} network{provider selectors ipFamily dualStack connections{encryption{enabled} compression{enabled} requireMsgr2}}" +
		" placement resources priorityClassNames disruptionManagement{managePodBudgets} security{cephx{csi{keyType}}} storage{useAllNodes " + keepDisks +
		" nodes{name " + keepDisks + "} storageClassDeviceSets{name count}}}" +
		" status{phase state message ceph{health details{*{severity}} versions{osd}} storage{deviceClasses{name}} " + keepReady + "}"
	keepReplicas   = "failureDomain deviceClass replicated{size requireSafeReplicaSize} erasureCoded{dataChunks codingChunks} parameters{min_size}"
	keepDaemon     = "resources placement priorityClassName"
	keepPhase      = "status{phase message " + keepReady + "}"
	keepPool       = "spec{" + keepReplicas + "} " + keepPhase
	keepFilesystem = "spec{metadataPool{" + keepReplicas + "} dataPools{name " + keepReplicas + "} preserveFilesystemOnDelete metadataServer{activeCount activeStandby " + keepDaemon + "}} " + keepPhase
	keepSubvolumes = "spec{name filesystemName} " + keepPhase
	keepStore      = "spec{metadataPool{" + keepReplicas + "} dataPool{" + keepReplicas + "} preservePoolsOnDelete gateway{instances port " + keepDaemon + "}} " + keepPhase
	keepCDI        = "spec{uninstallStrategy imagePullPolicy infra workload config{scratchSpaceStorageClass uploadProxyURLOverride featureGates}} status{phase conditions[type=Degraded]{type status reason message lastTransitionTime}}"
	keepNothing    = "status" // which is empty: that the object is there is all
)

// deploymentNames are the Deployments that a state asks for, and those of OSDs, which say that Rook replaces one.
func deploymentNames() []string {
	return []string{rookOperator, csiOperator, snapshotController, cdiOperator, toolboxName, "rook-ceph-osd-*"}
}

// definitionNames are the definitions that a state asks for.
func definitionNames() []string {
	return []string{"*." + cephGroup, "*." + csiGroup, "*." + cdiGroup, "*." + snapshotGroup, "*.objectbucket.io"}
}
