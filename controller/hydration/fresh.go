package hydration

import (
	"bytes"
	"path"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// sameCluster refuses facts of another cluster than those of the package: every pool would look lost.
func sameCluster(p Package, f Facts) error {
	for _, format := range []snapshot.Format{snapshot.YAML, snapshot.JSON} {
		name := path.Join(inventory.Folder, inventory.Cluster+"."+string(format))
		data, committed := p.Files[name]
		if !committed {
			continue
		}
		file, uid := path.Join(p.Dir, name), ""
		for _, o := range itemsOf(data) {
			uid = o.Node.Str("metadata", "uid")
		}
		switch {
		case uid == "":
			return refuse(ReasonInvalid, "%s: does not say which cluster the inventory is of; restore the file, or %s to take the inventory from this cluster", file, p.remove())
		case f.Cluster == "":
			return refuse(ReasonClusterChanged, "%s: the inventory is of the cluster %s, and it is not known which cluster this is: Namespace kube-system cannot be read", file, uid)
		case f.Cluster != uid:
			return refuse(ReasonClusterChanged, "%s: the inventory is of the cluster %s, and this is the cluster %s: correct the kubeconfig, or %s to move the package to this cluster", file, uid, f.Cluster, p.remove())
		}
	}
	return nil
}

// remove is how a file of the inventory is removed, for messages.
func (p Package) remove() string {
	if p.Lock == "" {
		return "commit the removal of the file"
	}
	return "commit inventory/ and rendered/ of " + p.Lock + " without the file and publish to another tag"
}

// notOlder refuses facts in which an object has a lower generation than in the facts of the package: an
// API server that was restored from a backup, or answers from an old cache, must not move the storage back.
func notOlder(p Package, changed map[string][]byte) error {
	const field = "generation"
	for name, data := range changed {
		if !bytes.Contains(p.Files[name], []byte(field)) || data == nil {
			continue
		}
		type object struct {
			krm.ID
			uid string
		}
		generation := func(o *krm.Object) (object, int64) {
			n, _ := o.Node.Get("metadata", field).Int()
			return object{o.ID(), o.Node.Str("metadata", "uid")}, n
		}
		before := map[object]int64{}
		for _, o := range itemsOf(p.Files[name]) {
			id, n := generation(o)
			before[id] = n
		}
		for _, o := range itemsOf(data) {
			if id, n := generation(o); n < before[id] {
				return refuse(ReasonFactsStale, "%s: %s has generation %d in the cluster, and %d in the committed inventory: the API server gives an old state; wait for it, or %s if the cluster was restored from a backup", path.Join(p.Dir, name), o.Ref, n, before[id], p.remove())
			}
		}
	}
	return nil
}

// itemsOf are the objects of a file of an inventory. What cannot be read is for the render to say.
func itemsOf(data []byte) []*krm.Object {
	objects, err := krm.Parse(&document.Source{Data: data})
	if err != nil {
		return nil
	}
	var items []*krm.Object
	for _, o := range objects {
		nodes := o.Node.Seq("items")
		for i := range nodes {
			items = append(items, o.Item(&nodes[i]))
		}
	}
	return items
}
