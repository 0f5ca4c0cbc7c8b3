package localvolume

import (
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkDrive judges a drive behind a RAID controller that has a block device already.
func (e *entry) checkDrive(of device, there *disk.Disk) {
	if reported := there.Entry; reported != nil && reported.RAID != nil {
		e.checkPlace(of, reported.RAID.Controller, reported.RAID.Enclosure, reported.RAID.Slot)
	}
	for _, h := range there.Holders() {
		if !e.isMine(h, of) {
			e.reportDevice(finding.Error, string(disk.Held), of, "may not be used: it is taken by %s", h)
			return
		}
	}
	if !e.owns(there) && (there.Entry == nil || there.Entry.Owner != ownerOf(volumeKind, e.volume.name)) {
		e.reportShown(of, there.Path)
	}
}

// reportShown reports a drive that the machine has a disk of.
func (e *entry) reportShown(of device, path string) {
	e.reportDevice(finding.Error, string(disk.Held), of, "is a drive that has a block device already, %s on node %s; write rawBlockDevice for that, or take it from the controller", path, e.node())
}

// checkPlace compares the place that is written of a drive with that reported: it is a hint.
func (e *entry) checkPlace(of device, controller int64, enclosure, slot *int64) {
	hint := e.volume.source.drive
	for _, c := range []struct {
		key       string
		want, has *int64
	}{{"controller", &hint.controller, &controller}, {"enclosure", hint.enclosure, enclosure}, {"slot", hint.slot, slot}} {
		if c.want != nil && c.has != nil && *c.want != *c.has {
			e.reportDevice(finding.Warning, "drive-moved", of, "has %s %d, and node %s reports it at %d; what counts is its identity", c.key, *c.want, e.node(), *c.has)
		}
	}
}

// checkFreeDrive looks for a drive among those that a node reports behind its RAID controllers, and asks
// whether it may be used. The machine has no disk that is the drive as it is.
func (e *entry) checkFreeDrive(of device) {
	told := reportsOf(e.Facts)[e.node()]
	if told == nil || len(told.controllers) == 0 {
		why := "reports no RAID controller; its agent asks storcli, perccli or ssacli of the node"
		if told == nil {
			why = "has no NodeInventory; run the node agent there, or nodeagent inspect -o yaml, and put that into the inventory"
		}
		e.reportDevice(finding.Warning, "drive-unknown", of, "is not checked: node %s %s", e.node(), why)
		return
	}
	number := e.volume.source.drive.controller
	found := drivesOf(told, of)
	here := slices.DeleteFunc(slices.Clone(found), func(d reportedDrive) bool { return d.controller != number })
	switch {
	case len(here) == 1:
		before := len(e.Findings)
		e.checkReported(of, here[0])
		e.checkSameDrive(of, told, here[0])
		e.explainRef(here[0].ref(e.node()), before)
	case len(here) > 1:
		e.reportDevice(finding.Error, string(disk.Ambiguous), of, "is that of two drives of controller %d, %s and %s; write both wwn and serial", number, here[0].place(), here[1].place())
	case len(found) > 0:
		e.reportDevice(e.gone(), "drive-missing", of, "is behind controller %d of node %s, and not behind %d; write controller: %[1]d", found[0].controller, e.node(), number)
	default:
		e.reportNoDrive(of, told)
	}
}

// checkSameDrive refuses a drive that another Volume of the package names in other words.
func (e *entry) checkSameDrive(of device, told *report, d reportedDrive) {
	for _, o := range e.all.sorted {
		if o == e || o.volume == nil || o.volume.source.kind != raid || o.node() != e.node() || of.shares(o.volume.source.device()) {
			continue // in the same words it is told already
		}
		if slices.ContainsFunc(drivesOf(told, o.volume.source.device()), d.same) {
			e.reportDevice(finding.Error, string(disk.Held), of, "may not be used: it is taken by %s", o.Object.Ref)
		}
	}
}

// gone is how bad it is that nobody reports what the object names: what is there already is held.
func (e *entry) gone() finding.Severity {
	if e.exists() {
		return finding.Warning
	}
	return finding.Error
}

// reportNoDrive reports that the node tells of no such drive.
func (e *entry) reportNoDrive(of device, told *report) {
	for _, c := range told.controllers {
		if c.reason != "" && (c.number == nil || *c.number == e.volume.source.drive.controller) {
			e.reportDevice(finding.Warning, "drive-unknown", of, "is not checked: the agent of node %s did not understand its controllers: %s", e.node(), c.reason)
			return
		}
	}
	reports := reportsOf(e.Facts)
	for _, node := range slices.Sorted(maps.Keys(reports)) {
		if node != e.node() && len(drivesOf(reports[node], of)) > 0 {
			e.reportDevice(e.gone(), "other-node", of, "is on node %s, and not on %s; write that node, or a drive of %s", node, e.node(), e.node())
			return
		}
	}
	e.reportDevice(e.gone(), "drive-missing", of, "is not among the drives behind RAID controllers that node %s reports; its NodeInventory lists them", e.node())
}

// checkReported judges a drive by what the node reports of it.
func (e *entry) checkReported(of device, d reportedDrive) {
	e.checkPlace(of, d.controller, d.enclosure, d.slot)
	switch {
	case of.wwn != "" && d.wwn != of.wwn:
		e.reportDevice(finding.Error, "identity", of, "is not the drive %s of controller %d: its WWN is %s; write what the drive says of itself, or name another one", d.place(), d.controller, orUnknown(d.wwn))
	case of.serial != "" && d.serial != of.serial:
		e.reportDevice(finding.Error, "identity", of, "is not the drive %s of controller %d: its serial number is %s; write what the drive says of itself, or name another one", d.place(), d.controller, orUnknown(d.serial))
	case d.owner == ownerOf(volumeKind, e.volume.name), wasMade(e.Facts, e.live):
	case d.owner != "":
		e.reportDevice(finding.Error, string(disk.Held), of, "may not be used: it is taken by %s", strings.Replace(d.owner, "/", " ", 1))
	case d.path != "":
		e.reportShown(of, d.path)
	case !d.usable:
		e.reportDevice(finding.Error, string(disk.Unusable), of, "may not be used: %s", d.reason)
	}
}
