// Package nodeagent is the part of Poolwright that runs on a node, and the only one that
// may touch a disk. It carries out Volumes and VolumeGroups of its node, and reports the
// node's disks as a NodeInventory. Its packages, from the machine up:
//
//	apart       processes that wait for devices, which can be left alone
//	host        the machine: its root folder, and its programs, run in its namespaces
//	device      its block devices, as the kernel and udev describe them
//	probe, gpt  what is on a device; reads only, but for gpt, which writes partition tables
//	lvm         volume groups and logical volumes, in LVM's own JSON
//	mark        by which an object's data is known again: UUIDs and tags
//	guard       the one place that says whether a device may be written
//	step        steps as values, their journal, and who carries them out
//	source      what a Volume or VolumeGroup takes: sparse files, disks, partitions, LVM
//	inventory   the content of a NodeInventory
//	controller  the API server: watches, PersistentVolumes, statuses, events
//	access      who may read the metrics
//
// What it may do to a disk is described in docs/node-agent.md.
package nodeagent
