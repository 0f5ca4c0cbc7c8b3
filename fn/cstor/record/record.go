// Package record is what was rendered of a CStorClusterConfig last, decoded once: the plan, the
// storage sets, the CStorPoolClusters, and the objects of cloud disks. It is read only: what becomes
// of it in a render is for package standing.
//
// Source: Poolwright.
package record

import (
	"maps"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// Kinds of what is rendered that only Poolwright reads, and those of cloud disks.
const (
	SetKind        = "CStorClusterStorageSet"
	ClaimKind      = "PersistentVolumeClaim"
	AttachmentKind = "VolumeAttachment"
)

// Record is the output of a config, as it was rendered last.
type Record struct {
	nodes    []Node
	sets     map[string]Set           // by node
	clusters map[string]*pool.Cluster // by name
	steps    []StepOf
	observed []Observation
	removing map[string]string // hostname labels of nodes whose pools were released, with consent
	short    bool
	objects  map[krm.ID]*krm.Object
	volumes  map[string][]*krm.Object // claims and attachments, by node
	retained []*krm.Object            // what is left to a person, and rendered until that is applied
}

// Node is a node of the plan.
type Node struct {
	Name, UID string
	Reason    string // why it was chosen, one word
	Listed    string // by what spec.pools lists it, or ""
	Cluster   string // the CStorPoolCluster of its pool, "" for the first
}

// Step is a step of a transition that was rendered, as the plan remembers it until none is left to
// come.
type Step struct{ Kind, What string }

// StepOf is a step of a CStorPoolCluster.
type StepOf struct {
	Step
	Cluster string // "" for the first
	Ends    bool   // none was to come after it
}

// Read decodes what was rendered.
func Read(objects []*krm.Object) *Record {
	r := &Record{
		sets: map[string]Set{}, clusters: map[string]*pool.Cluster{}, removing: map[string]string{},
		objects: make(map[krm.ID]*krm.Object, len(objects)), volumes: map[string][]*krm.Object{},
	}
	for _, o := range objects {
		if o.Retained() {
			r.retained = append(r.retained, o)
			continue
		}
		r.objects[o.ID()] = o
		if node := NodeOfVolume(o); node != "" {
			r.volumes[node] = append(r.volumes[node], o)
		}
		switch o.Kind {
		case pool.PlanKind:
			r.readPlan(o)
		case SetKind:
			r.sets[o.Node.Str("spec", "node", "name")] = readSet(o)
		case pool.ClusterKind:
			r.clusters[o.Name] = pool.DecodeCluster(o)
		}
	}
	return r
}

func (r *Record) readPlan(o *krm.Object) {
	r.short, _ = o.Node.Get("spec", "short").Bool()
	r.observed = readObserved(o.Node.Seq("spec", "observed"))
	for _, n := range o.Node.Seq("spec", "removing") {
		r.removing[n.Str("name")] = n.Str("hostname")
	}
	for _, n := range o.Node.Seq("spec", "steps") {
		s := StepOf{Step: Step{n.Str("kind"), n.Str("what")}, Cluster: n.Str("cluster")}
		s.Ends, _ = n.Get("ends").Bool()
		r.steps = append(r.steps, s)
	}
	for _, n := range o.Node.Seq("spec", "nodes") {
		r.nodes = append(r.nodes, Node{Name: n.Str("name"), UID: n.Str("uid"), Reason: n.Str("reason"), Listed: n.Str("listed"), Cluster: n.Str("cluster")})
	}
}

// Empty reports whether nothing was rendered but what is left to a person.
func (r *Record) Empty() bool { return len(r.objects) == 0 }

// Blank reports whether nothing at all was rendered.
func (r *Record) Blank() bool { return r.Empty() && len(r.retained) == 0 }

// Nodes are those of the plan, in order.
func (r *Record) Nodes() []Node { return r.nodes }

// Sets are the storage sets, by node.
func (r *Record) Sets() map[string]Set { return maps.Clone(r.sets) }

// Cluster is a CStorPoolCluster, or nil. It must not be changed.
func (r *Record) Cluster(name string) *pool.Cluster { return r.clusters[name] }

// Steps are those that the plan remembers, in order.
func (r *Record) Steps() []StepOf { return r.steps }

// Observed are the CStorPoolClusters when the output last changed.
func (r *Record) Observed() []Observation { return r.observed }

// Short says that pools went, and fewer nodes than minPoolCount may hold one.
func (r *Record) Short() bool { return r.short }

// Removing are the hostname labels of the nodes whose pools were released with consent, by node.
func (r *Record) Removing() map[string]string { return maps.Clone(r.removing) }

// Removes reports whether the pool of a node was released in an earlier run.
func (r *Record) Removes(node string) bool {
	_, removes := r.removing[node]
	return removes
}

// RemovesOn reports whether the pool on a host was released in an earlier run.
func (r *Record) RemovesOn(host string) bool {
	for _, from := range r.removing {
		if from == host {
			return true
		}
	}
	return false
}

// Objects are all of them but those that are left to a person.
func (r *Record) Objects() map[krm.ID]*krm.Object { return maps.Clone(r.objects) }

// Volumes are the claims and attachments, by node.
func (r *Record) Volumes() map[string][]*krm.Object { return maps.Clone(r.volumes) }

// Retained are the objects that are left to a person.
func (r *Record) Retained() []*krm.Object { return r.retained }

// NodeOfVolume is the node that a claim or an attachment is for, or "".
func NodeOfVolume(o *krm.Object) string {
	switch o.Kind {
	case ClaimKind:
		return o.Annotation(inventory.AnnotationSelectedNode)
	case AttachmentKind:
		return o.Node.Str("spec", "nodeName")
	}
	return ""
}

// number is 0 where there is none.
func number(n *d.Node, key string) int64 {
	v, _ := n.Get(key).Int()
	return v
}
