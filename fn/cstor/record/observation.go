package record

import (
	"github.com/poolwright/poolwright/fn/cstor/pool"
	d "github.com/poolwright/poolwright/schema/document"
)

// Observation is how often a CStorPoolCluster had changed when facts were taken: the API server
// counts that in metadata.generation, which never goes back while the object has its uid.
type Observation struct {
	Name, UID  string
	Generation int64 // from 1
	Gone       bool  // it is no more, or is being deleted
}

// Observe reads how often a running CStorPoolCluster has changed, where the facts show it. The
// cluster may be nil.
func Observe(running *pool.Cluster) (o Observation, known bool) {
	if running == nil {
		return o, false
	}
	o.Name, o.UID = running.Name, running.Object.Node.Str("metadata", "uid")
	o.Generation, known = running.Object.Node.Get("metadata", "generation").Int()
	o.Gone = running.Object.Deleting()
	return o, known && o.UID != "" && o.Generation > 0
}

// ObservedNode writes observations down.
func ObservedNode(observed []Observation) d.Node {
	list := d.List()
	for _, o := range observed {
		entry := d.Object(d.F("name", d.Text(o.Name)), d.F("uid", d.Text(o.UID)), d.F("generation", d.Int(o.Generation)))
		if o.Gone {
			entry.Set("gone", d.Bool(true))
		}
		list.Add(entry)
	}
	return list
}

func readObserved(list []d.Node) []Observation {
	var all []Observation
	for i := range list {
		gone, _ := list[i].Get("gone").Bool()
		all = append(all, Observation{list[i].Str("name"), list[i].Str("uid"), number(&list[i], "generation"), gone})
	}
	return all
}

// CountGone counts the CStorPoolClusters that are no more.
func CountGone(observed []Observation) (n int) {
	for _, o := range observed {
		if o.Gone {
			n++
		}
	}
	return n
}
