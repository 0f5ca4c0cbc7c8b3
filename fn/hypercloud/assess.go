package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Assess implements system.Assessor.
func (System) Assess(facts *inventory.Facts, ledger *disk.Ledger, c *change.Change) {
	switch c.Ref.GroupKind() {
	case gk(cephGroup, clusterKind):
		assessCluster(ledger, c)
	case gk(cephGroup, poolKind), gk(cephGroup, filesystemKind), gk(cephGroup, storeKind), gk(cephGroup, subvolumesKind):
		assessStore(c)
	case gk(cdiGroup, cdiKind):
		assessCDI(c)
	case class.Kind():
		class.Assess(facts, c)
	default:
		assessRest(c)
	}
}

// assessCluster judges a CephCluster by its disks: each that is new loses what is on it,
// and each that goes takes its OSD along.
func assessCluster(ledger *disk.Ledger, c *change.Change) {
	switch c.Action {
	case change.Create:
		assessNew(ledger, c, "", devicesIn(c.New))
		return
	case change.Remove:
		c.Judge(change.Destructive, "", "the Ceph cluster goes, with everything on its "+finding.Count(len(devicesIn(c.Old)), "disk"))
		return
	}
	// Rook goes by the names of nodes and disks, wherever they stand.
	c.Fields = slices.DeleteFunc(c.Fields, func(f change.Field) bool { return f.Action == change.Reorder && f.Under("spec.storage.nodes") })
	before := map[declared]bool{}
	for _, d := range devicesIn(c.Old) {
		before[d] = true
	}
	var added []declared
	for _, d := range devicesIn(c.New) {
		if !before[d] {
			added = append(added, d)
		}
		delete(before, d)
	}
	judged := false
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Under("spec.storage") && f.Action == change.Remove && len(before) > 0:
			c.Judge(change.Destructive, f.Path, "the disks are no longer declared: when their OSDs are purged, their data is lost, and until then Rook does not repair them")
		case f.Under("spec.storage") && f.Action == change.Add && len(added) > 0:
			if !judged {
				judged = true
				assessNew(ledger, c, f.Path, added)
			} else {
				c.Judge(change.Safe, f.Path, "as with the other new disks")
			}
		case f.Under("spec.storage"):
			c.Judge(change.Disruptive, f.Path, "Rook reads it only when it makes an OSD: those that there are stay as they are")
		case f.Under("spec.cephVersion"):
			c.Judge(change.Disruptive, f.Path, "every daemon restarts with the other image, one after the other; Ceph cannot go back to an older release")
		case f.Under("spec.dataDirHostPath"):
			c.Judge(change.Destructive, f.Path, "the monitors look for their data elsewhere, and find none: it can never be changed")
		case f.Under("spec.cleanupPolicy"):
			c.Judge(change.Destructive, f.Path, "it says that deleting the cluster wipes its disks")
		case f.Under("spec.mon"):
			c.Judge(change.Disruptive, f.Path, "monitors come or go, one after the other")
		}
	}
}

// declared is a disk as a CephCluster names it.
type declared struct{ host, name string }

func devicesIn(o *krm.Object) []declared {
	var all []declared
	nodes := o.Node.Seq("spec", "storage", "nodes")
	for i := range nodes {
		devices := nodes[i].Seq("devices")
		for j := range devices {
			all = append(all, declared{nodes[i].Str("name"), devices[j].Str("name")})
		}
	}
	return all
}

// assessNew judges disks that get OSDs.
func assessNew(ledger *disk.Ledger, c *change.Change, field string, devices []declared) {
	for _, d := range devices {
		var there *disk.Disk
		for _, report := range ledger.Named(named(d.host, d.name, "osd")) {
			if !report.Missing() {
				there = report
			}
		}
		if doubt := there.NotEmpty(); doubt != "" {
			c.Judge(change.Destructive, field, "the content of "+d.name+" on host "+d.host+" is destroyed when its OSD is made, and "+doubt)
		}
	}
	if c.Risk == "" || c.Action == change.Modify && !destructiveAt(c, field) {
		c.Judge(change.Safe, field, "makes OSDs on "+finding.Count(len(devices), "disk")+", each known to be empty")
	}
}

func destructiveAt(c *change.Change, field string) bool {
	for _, r := range c.Reasons {
		if r.Field == field && r.Risk == change.Destructive {
			return true
		}
	}
	return false
}

// assessStore judges a pool, a filesystem, an object store or a group of subvolumes.
func assessStore(c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds to the cluster, and takes space only as it is used")
		return
	case change.Remove:
		c.Judge(change.Destructive, "", "it goes, with every volume and object in it")
		return
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case strings.HasSuffix(f.Shape, "replicated.size"):
			c.Judge(change.Disruptive, f.Path, sizeChange(f.Old, f.New))
		case strings.HasSuffix(f.Shape, "requireSafeReplicaSize"):
			c.Judge(change.Disruptive, f.Path, "one copy is enough from now on: a failed disk then loses what is on it")
		case strings.HasSuffix(f.Shape, "deviceClass"), strings.HasSuffix(f.Shape, "failureDomain"):
			c.Judge(change.Disruptive, f.Path, "Ceph moves the data to other disks, which takes time and bandwidth")
		case f.Action == change.Remove && f.Under("spec.dataPools"), f.Under("spec.name"), f.Under("spec.filesystemName"):
			c.Judge(change.Destructive, f.Path, "what is in the one that was is out of reach")
		}
	}
}

func sizeChange(before, now *document.Node) string {
	a, _ := before.Int()
	b, _ := now.Int()
	if b < a {
		return "there are fewer copies, so that fewer failures at a time are survived"
	}
	return "Ceph makes the new copies, which takes time, space and bandwidth"
}

// assessCDI judges CDI, on which no volume depends once it is filled.
func assessCDI(c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds CDI")
		return
	case change.Remove:
		c.Judge(change.Destructive, "", "CDI goes, and where its uninstallStrategy says so the volumes that it made")
		return
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		switch {
		case f.Under("spec.uninstallStrategy") && f.New.Str() != "BlockUninstallIfWorkloadsExist":
			c.Judge(change.Destructive, f.Path, "deleting CDI then deletes the volumes that it made")
		case f.Under("spec"):
			c.Judge(change.Disruptive, f.Path, "running imports start again")
		}
	}
}
