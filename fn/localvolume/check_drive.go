package localvolume

import (
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/finding"
)

// namedDrive is a drive behind a RAID controller that a Volume names.
type namedDrive struct {
	*namedDisk
	told *report // what its node reports about its controllers; nil for nothing
}

func (n *namedDisk) drive() *namedDrive { return &namedDrive{n, n.host().report()} }

// checkCache refuses what a drive that is shown as it is has not.
func (e *entry) checkCache() {
	if e.isOf(raid) && e.volume.source.drive.level == "jbod" && e.volume.source.node.Get("cachePolicy") != nil {
		e.Report(finding.Error, "cache-policy", "spec.raidDAS.cachePolicy", "is of virtual drives, and level: jbod makes none; remove it, or write level: raid0")
	}
}

// checkShown judges a drive that has a block device already.
func (n *namedDrive) checkShown() {
	if reported := n.there.Entry; reported != nil && reported.RAID != nil {
		n.checkPlace(reported.RAID.Controller, reported.RAID.Enclosure, reported.RAID.Slot)
	}
	for _, h := range n.there.Holders() {
		if !n.isMine(*h) {
			n.report(finding.Error, string(disk.Held), "may not be used: it is taken by %s", h)
			return
		}
	}
	if !n.owns() && (n.there.Entry == nil || n.there.Entry.Owner != ownerOf(volumeKind, n.volume.name)) {
		n.reportShown(n.there.Path)
	}
}

// reportShown reports a drive that the machine has a disk of.
func (n *namedDrive) reportShown(path string) {
	n.report(finding.Error, string(disk.Held), "is a drive that has a block device already, %s on node %s; write rawBlockDevice for that, or take it from the controller", path, n.node())
}

// checkPlace compares the place that is written of a drive with that reported: it is a hint.
func (n *namedDrive) checkPlace(controller int64, enclosure, slot *int64) {
	hint := n.volume.source.drive
	for _, c := range []struct {
		key       string
		want, has *int64
	}{{"controller", &hint.controller, &controller}, {"enclosure", hint.enclosure, enclosure}, {"slot", hint.slot, slot}} {
		if c.want != nil && c.has != nil && *c.want != *c.has {
			n.report(finding.Warning, "drive-moved", "has %s %d, and node %s reports it at %d; what counts is its identity", c.key, *c.want, n.node(), *c.has)
		}
	}
}

// checkFree looks for a drive among those that the node reports behind its RAID controllers, and asks
// whether it may be used. The machine has no disk that is the drive as it is.
func (n *namedDrive) checkFree() {
	if n.told == nil || len(n.told.controllers) == 0 {
		why := "reports no RAID controller; its agent asks storcli, perccli or ssacli of the node"
		if n.told == nil {
			why = "has no NodeInventory; run the node agent there, or nodeagent inspect -o yaml, and put that into the inventory"
		}
		n.report(finding.Warning, "drive-unknown", "is not checked: node %s %s", n.node(), why)
		return
	}
	number := n.volume.source.drive.controller
	found := drivesOf(n.told, n.of)
	here := slices.DeleteFunc(slices.Clone(found), func(d reportedDrive) bool { return d.controller != number })
	switch {
	case len(here) == 1:
		before := len(n.Findings)
		n.checkReported(here[0])
		n.checkTaken(here[0])
		n.explain(here[0].ref(n.node()), before)
	case len(here) > 1:
		n.report(finding.Error, string(disk.Ambiguous), "is that of two drives of controller %d, %s and %s; write both wwn and serial", number, here[0].place(), here[1].place())
	case len(found) > 0:
		n.report(n.was.severity(), "drive-missing", "is behind controller %d of node %s, and not behind %d; write controller: %[1]d", found[0].controller, n.node(), number)
	default:
		n.reportMissing()
	}
}

// checkTaken refuses a drive that another Volume of the package names in other words.
func (n *namedDrive) checkTaken(d reportedDrive) {
	for _, o := range n.all.sorted {
		if o == n.entry || !o.isOf(raid) || o.node() != n.node() || n.of.shares(o.volume.source.device()) {
			continue // reported already in the same words
		}
		if slices.ContainsFunc(drivesOf(n.told, o.volume.source.device()), d.same) {
			n.report(finding.Error, string(disk.Held), "may not be used: it is taken by %s", o.Object.Ref)
		}
	}
}

// reportMissing reports that the node has no such drive.
func (n *namedDrive) reportMissing() {
	for _, c := range n.told.controllers {
		if c.reason != "" && (c.number == nil || *c.number == n.volume.source.drive.controller) {
			n.report(finding.Warning, "drive-unknown", "is not checked: the agent of node %s did not understand its controllers: %s", n.node(), c.reason)
			return
		}
	}
	reports := reportsOf(n.Facts)
	for _, node := range slices.Sorted(maps.Keys(reports)) {
		if node != n.node() && len(drivesOf(reports[node], n.of)) > 0 {
			n.report(n.was.severity(), "other-node", "is on node %s, and not on %s; write that node, or a drive of %s", node, n.node(), n.node())
			return
		}
	}
	n.report(n.was.severity(), "drive-missing", "is not among the drives behind RAID controllers that node %s reports; its NodeInventory lists them", n.node())
}

// checkReported judges a drive by what the node reports of it.
func (n *namedDrive) checkReported(d reportedDrive) {
	n.checkPlace(d.controller, d.enclosure, d.slot)
	switch {
	case n.of.wwn != "" && d.wwn != n.of.wwn:
		n.report(finding.Error, "identity", "is not the drive %s of controller %d: its WWN is %s; write what the drive says of itself, or name another one", d.place(), d.controller, orUnknown(d.wwn))
	case n.of.serial != "" && d.serial != n.of.serial:
		n.report(finding.Error, "identity", "is not the drive %s of controller %d: its serial number is %s; write what the drive says of itself, or name another one", d.place(), d.controller, orUnknown(d.serial))
	case d.owner == ownerOf(volumeKind, n.volume.name), wasMade(n.Facts, n.was.live):
	case d.owner != "":
		n.report(finding.Error, string(disk.Held), "may not be used: it is taken by %s", strings.Replace(d.owner, "/", " ", 1))
	case d.path != "":
		n.reportShown(d.path)
	case !d.usable:
		n.report(finding.Error, string(disk.Unusable), "may not be used: %s", d.reason)
	}
}
