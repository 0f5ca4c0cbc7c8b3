package cstorvolume

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// config is a completed CStorVolumeClass.
type config struct {
	Spec struct {
		Cluster              string           `json:"cluster"`
		ReplicaCount         int              `json:"replicaCount"` // 0: the default
		FSType               string           `json:"fsType"`
		ReclaimPolicy        string           `json:"reclaimPolicy"`
		AllowVolumeExpansion bool             `json:"allowVolumeExpansion"`
		VolumeBindingMode    string           `json:"volumeBindingMode"` // "": the default
		MountOptions         []string         `json:"mountOptions"`
		Default              bool             `json:"default"`
		Placement            string           `json:"placement"`
		Policy               json.RawMessage  `json:"policy"`
		SnapshotClass        *snapshotsConfig `json:"snapshotClass"`
		Claims               []claimConfig    `json:"claims"`
	} `json:"spec"`
	policy *document.Node // nil where it says nothing
}

// snapshotsConfig is spec.snapshotClass.
type snapshotsConfig struct {
	Name           string `json:"name"`
	DeletionPolicy string `json:"deletionPolicy"`
	Default        bool   `json:"default"`
}

// claimConfig is one of spec.claims.
type claimConfig struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Size        string            `json:"size"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Source      struct {
		Snapshot string `json:"snapshot"`
		Claim    string `json:"claim"`
	} `json:"source"`
}

func (c *claimConfig) key() inventory.Key { return inventory.Key{Namespace: c.Namespace, Name: c.Name} }

func readConfig(spec *system.Spec) (config, error) {
	var c config
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return c, fmt.Errorf("completed spec: %w", err)
	}
	if says(spec.Object.Node.Get("spec", "policy")) {
		docs, err := document.Parse(&document.Source{Name: "spec.policy", Data: c.Spec.Policy})
		if err != nil {
			return c, fmt.Errorf("spec.policy: %w", err)
		}
		if len(docs) == 1 {
			c.policy = &docs[0].Node
		}
	}
	return c, nil
}

// says reports whether there is anything in a part of a spec but empty maps and lists.
func says(n *document.Node) bool {
	if n == nil {
		return false
	}
	return n.Kind() == document.Scalar ||
		slices.ContainsFunc(n.Fields(), func(f document.Field) bool { return says(&f.Value) }) ||
		slices.ContainsFunc(n.Items(), func(item document.Node) bool { return says(&item) })
}

// pinned reports whether the pools of the volumes are chosen here.
func (c *config) pinned() bool { return c.Spec.Placement == "pinned" }

// binding is when a volume is made, where the spec leaves that open.
func (c *config) binding() string {
	if near, _ := c.policy.Get("provision", "replicaAffinity").Bool(); near {
		return "WaitForFirstConsumer"
	}
	return "Immediate"
}

// snapshots is the name of the class of snapshots.
func (c *config) snapshots(spec string) string { return cmp.Or(c.Spec.SnapshotClass.Name, spec) }
