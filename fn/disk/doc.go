// Package disk is the ledger of disks: every physical disk once, whoever reports it,
// what it is, who holds it, and whether it may be used.
//
// BlockDevices, NodeInventories and PersistentVolumes report disks. CStorPoolClusters,
// claims, DiskPools, CephClusters, Volumes, VolumeGroups and local PersistentVolumes hold
// them; the systems say which (system.Holder). All of these are evidence: it proves two of
// them to be of one disk (class), or of two (evidence.differs), or neither, and then they are
// suspects. Before anybody chooses, the ledger is filled from every system's lock, from every
// object in the cluster, and from every manifest that a person wrote. Ledger.Verdict is the one
// place that says whether a disk may be used.
package disk
