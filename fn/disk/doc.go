// Package disk is the ledger of disks: every physical disk once, whoever reports it,
// what it is, who holds it, and whether it may be used.
//
// BlockDevices, NodeInventories and PersistentVolumes report disks. CStorPoolClusters,
// claims, DiskPools, CephClusters, Volumes, VolumeGroups and local PersistentVolumes hold
// them; the systems say which (system.Holder). Before anybody chooses, the ledger is
// filled from every system's lock, from everything that lives, and from every manifest
// that a person wrote. Whether a disk may be used is asked in one place, Ledger.Verdict,
// and nowhere else.
package disk
