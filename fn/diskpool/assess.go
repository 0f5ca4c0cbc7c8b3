package diskpool

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

// Assess implements system.Assessor.
func (System) Assess(facts *inventory.Facts, c *change.Change) {
	switch c.Ref.GroupKind() {
	case poolGroupKind():
		assessPool(facts, c)
	case classGroupKind():
		assessClass(facts, c)
	}
}

func assessPool(facts *inventory.Facts, c *change.Change) {
	switch c.Action {
	case change.Create:
		if doubt := notEmpty(facts, c.New); doubt != "" {
			c.Judge(change.Destructive, "", "the disk's content is destroyed when the pool is made, and "+doubt)
			return
		}
		c.Judge(change.Safe, "", "makes a pool on a disk that is known to be empty")
		return
	case change.Remove:
		text := "the pool goes, with every replica on it"
		if used := usedSpace(facts.Object(c.Old.ID())); used != "" {
			text += "; " + used
		}
		c.Judge(change.Destructive, "", text)
		return
	}
	c.Fields = slices.DeleteFunc(c.Fields, func(f change.Field) bool { return isOfOthers(f.Shape) })
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Shape == "apiVersion":
			c.Judge(change.Safe, f.Path, "the same object in another version")
		case f.Under("spec.topology"), f.Under("spec.encryptionConfig"), f.Under("spec.maxExpansion"), f.Under("spec.clusterSize"), f.Under("spec.cluster_size"):
			c.Judge(change.Disruptive, f.Path, "Mayastor reads it only when it makes the pool: the pool stays as it is, and the object no longer says what is there")
		case f.Under("spec"):
			c.Judge(change.Destructive, f.Path, "Mayastor reads it only when it makes the pool: if the object is made anew, the pool is on another disk, without what was on it")
		}
	}
}

// isOfOthers reports whether a field is the user's and the operator's, and no difference.
func isOfOthers(shape string) bool {
	return shape == "metadata.annotations[openebs.io/expand]" || shape == "metadata.annotations[openebs.io/delete-opts]"
}

func assessClass(facts *inventory.Facts, c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds a class")
		return
	case change.Remove:
		if user := userOf(facts, c.Ref.Name); user != "" {
			c.Judge(change.Disruptive, "", "claims of the class are no longer served, and "+user+" cannot grow; their data stays")
			return
		}
		c.Judge(change.Safe, "", "the class goes; volumes that were made from it stay")
		return
	}
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Under("provisioner"), f.Under("parameters"), f.Under("reclaimPolicy"), f.Under("volumeBindingMode"):
			c.Judge(change.Disruptive, f.Path, "the API server refuses it: a class never changes "+strings.SplitN(f.Shape, ".", 2)[0]+", and the sync stops here")
		case f.Under("allowVolumeExpansion"):
			c.Judge(change.Safe, f.Path, "says only whether claims may be raised later")
		case f.Shape == "metadata.annotations["+annotationDefault+"]":
			c.Judge(change.Safe, f.Path, "says only which class claims get that name none")
		}
	}
}

// notEmpty says why the disk of a new pool is not known to be empty, or "".
func notEmpty(facts *inventory.Facts, o *krm.Object) string {
	node, uri := o.Node.Str("spec", "node"), ""
	if disks := o.Node.Seq("spec", "disks"); len(disks) > 0 {
		_, uri = splitURI(disks[0].Value)
	}
	link := "/" + strings.TrimLeft(uri, "/")
	m := readMark(o.Annotation(annotationDisk))
	known := false
	if n := facts.Node(node); n != nil {
		for _, b := range facts.DevicesOn(n.Hostname) {
			if !slices.Contains(b.Links, link) && (m.serial == "" || b.Serial != m.serial) {
				continue
			}
			switch {
			case b.Filesystem != "" || b.Partitioned:
				return "block device " + b.Name + " has a filesystem or partitions"
			case b.Object.Node.Get("spec", "filesystem") != nil && b.Object.Node.Str("spec", "partitioned") != "":
				known = true
			}
		}
	}
	if o := facts.Object(krm.ID{Group: ownGroup, Kind: "NodeInventory", Name: node}); o != nil {
		for _, there := range o.Node.Seq("status", "disks") {
			isIt := m.wwn != "" && disk.WWN(there.Str("wwn")) == m.wwn || m.serial != "" && there.Str("serial") == m.serial
			for _, l := range there.Seq("links") {
				isIt = isIt || l.Value == link
			}
			switch {
			case !isIt:
			case len(there.Seq("content"))+len(there.Seq("partitions")) > 0:
				return "node " + node + " reports content on it"
			default:
				known = true
			}
		}
	}
	if !known {
		return "it is not known to be empty: the inventory does not tell of its filesystem and partitions"
	}
	return ""
}
