package class

import (
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
)

// Assess judges a change of a StorageClass.
func Assess(facts *inventory.Facts, c *change.Change) {
	switch c.Action {
	case change.Create:
		c.Judge(change.Safe, "", "adds a class")
		return
	case change.Remove:
		if user := UserOf(facts, c.Ref.Name); user != "" {
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
		case f.Under("mountOptions"):
			c.Judge(change.Safe, f.Path, "holds for volumes that are made from now on")
		case f.Shape == "metadata.annotations["+annotationDefault+"]":
			c.Judge(change.Safe, f.Path, "says only which class claims get that name none")
		}
	}
}
