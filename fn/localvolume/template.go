package localvolume

import (
	"encoding/json"
	"fmt"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
)

// template is one VolumeTemplate at work: it renders Volumes or VolumeGroups, which are its
// lock, too.
type template struct {
	*system.Collector
	system.Input
	all   *rendering
	owner string
	cfg   templateConfig
	items []*item // of this render
	was   []*item // of earlier ones

	used     map[*disk.Disk]bool   // by what the template renders
	givenUp  map[*disk.Disk]string // the object that went from it in this run
	leaves   map[string]bool       // the names of objects that go in this run, and may live
	released map[krm.ID]bool

	noNode, noDisk bool // the selector selects none: what is rendered counts as selected, unless it may go
}

// templateConfig is a completed VolumeTemplate.
type templateConfig struct {
	Spec struct {
		NodeSelector struct {
			NodeSelectorTerms []selector.Term `json:"nodeSelectorTerms"`
		} `json:"nodeSelector"`
		DiskSelector struct {
			SelectorTerms []selector.Term `json:"selectorTerms"`
		} `json:"diskSelector"`
		MinCapacity   string `json:"minCapacity"`
		PerNode       int    `json:"perNode"`
		DisksPerGroup int    `json:"disksPerGroup"`
		Template      struct {
			Kind string `json:"kind"`
		} `json:"template"`
		StorageClass *groupClass `json:"storageClass"`
	} `json:"spec"`
	minCapacity int64          // bytes
	wanted      *document.Node // the spec of what is rendered, without node and disks
}

func newTemplate(r *rendering, in system.Input, spec *system.Spec) *template {
	t := &template{
		Collector: system.NewCollector(spec, 0), Input: in, all: r, owner: spec.Object.OwnerKey(),
		used: map[*disk.Disk]bool{}, givenUp: map[*disk.Disk]string{}, leaves: map[string]bool{}, released: map[krm.ID]bool{},
	}
	if err := t.readConfig(); err != nil {
		t.Report(finding.Error, "spec", "", "%v", err)
	}
	return t
}

func (t *template) readConfig() error {
	if err := json.Unmarshal(t.Completed, &t.cfg); err != nil {
		return fmt.Errorf("completed spec: %w", err)
	}
	capacity, err := quantity.Parse(t.cfg.Spec.MinCapacity)
	if err != nil {
		return fmt.Errorf("spec.minCapacity: %w", err)
	}
	t.cfg.minCapacity, t.cfg.wanted = capacity.Value(), t.Object.Node.Get("spec", "template", "spec")
	if size := t.cfg.partitionSize(); size > 0 { // with what stays free before and after it
		t.cfg.minCapacity = max(t.cfg.minCapacity, size+2*mebi)
	}
	normalize(t.cfg.Spec.DiskSelector.SelectorTerms)
	return nil
}

// kind is that of what is rendered.
func (c *templateConfig) kind() string { return c.Spec.Template.Kind }

// role is what a disk is to what is rendered.
func (c *templateConfig) role() string {
	if c.kind() == groupKind {
		return roleGroup
	}
	return roleVolume
}

// id is the identity of what is rendered under a name.
func (c *templateConfig) id(name string) krm.ID {
	return krm.ID{Group: group, Kind: c.kind(), Name: name}
}

// disksEach is how many disks each object is on.
func (c *templateConfig) disksEach() int {
	switch spec := c.wanted; {
	case c.kind() == groupKind && spec.Get(sparseGroup) == nil:
		return c.Spec.DisksPerGroup
	case spec.Get(raw) != nil, spec.Get(partition) != nil:
		return 1
	}
	return 0
}

// selects reports whether the spec allows a node.
func (c *templateConfig) selects(n *inventory.Node) bool {
	return selector.MatchesAny(c.Spec.NodeSelector.NodeSelectorTerms, n.Object)
}

// allows reports whether a person lets an object go.
func (t *template) allows(kind, name string) bool {
	one, all := t.Consent.Covers(kind, name), t.Consent.Covers(templateKind, t.Object.Name)
	return one || all
}

// output is what becomes of the template.
func (t *template) output() system.Output {
	if t.Failed() {
		return t.Output(nil, nil)
	}
	var objects []gitops.Object
	for _, i := range t.items {
		o := gitops.Object{File: "volume.yaml", Object: i.entry.Object}
		switch {
		case t.cfg.kind() == groupKind:
			o.File = "volumegroup.yaml"
		case t.cfg.wanted.Get(lvm) != nil:
			o.Stage = 1 // made after its group, and removed before it
		}
		objects = append(objects, o)
	}
	for _, c := range t.classes() {
		objects = append(objects, gitops.Object{File: "storageclass.yaml", Object: c.Object(), Stage: 1})
	}
	return t.Output(objects, t.released)
}
