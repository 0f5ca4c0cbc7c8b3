package cstor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// config is a completed CStorClusterConfig.
type config struct {
	Spec struct {
		MinPoolCount *int `json:"minPoolCount"`
		MaxPoolCount *int `json:"maxPoolCount"`
		AllowedNodes struct {
			NodeSelectorTerms []selector.Term `json:"nodeSelectorTerms"`
		} `json:"allowedNodes"`
		Pools      []listedPool `json:"pools"`
		OnlyListed bool         `json:"onlyListed"`
		DiskConfig struct {
			MinCount            int                 `json:"minCount"`
			GroupSize           int                 `json:"groupSize"`
			MinCapacity         string              `json:"minCapacity"`
			ExternalProvisioner *record.Provisioner `json:"externalProvisioner"`
			Local               *local              `json:"local"`
		} `json:"diskConfig"`
		PoolConfig struct {
			RAIDType          string          `json:"raidType"`
			WriteCache        *writeCache     `json:"writeCache"`
			Spare             int             `json:"spare"`
			ComputeResources  json.RawMessage `json:"computeResources"`
			AuxResources      json.RawMessage `json:"auxResources"`
			Compression       string          `json:"compression"`
			ThickProvision    *bool           `json:"thickProvision"`
			Tolerations       tolerations     `json:"tolerations"`
			PriorityClassName string          `json:"priorityClassName"`
			ROThresholdLimit  *int64          `json:"roThresholdLimit"`
			AutoReplace       bool            `json:"autoReplace"`
			DeletionPolicy    deletionPolicy  `json:"deletionPolicy"`
			PoolExpansion     *expansion      `json:"poolExpansion"`

			MaxDisksPerCluster int `json:"maxDisksPerCluster"` // 0 for any number
		} `json:"poolConfig"`
	} `json:"spec"`
	general     *settings   // of a pool that is not listed
	listed      []*settings // of the entries of spec.pools, in order
	allowedTags []string

	// As they go into the CStorPoolCluster; nil where they are not set.
	resources, auxResources, podTolerations *document.Node
}

type local struct {
	BlockDeviceSelector deviceSelector `json:"blockDeviceSelector"`
}

type deviceSelector struct {
	SelectorTerms []selector.Term `json:"selectorTerms"`
}

type writeCache struct {
	ExternalProvisioner *record.Provisioner `json:"externalProvisioner"`
	Local               *local              `json:"local"`
	Auto                bool                `json:"auto"`
	Count               int                 `json:"count"`
	RAIDType            string              `json:"raidType"`
	Capacity            string              `json:"capacity"`
}

// orNone is nil for a write cache of no disks, which is none.
func (w *writeCache) orNone() *writeCache {
	if w == nil || w.Count == 0 {
		return nil
	}
	return w
}

// groupSize is the number of disks in one group of the write cache.
func (w *writeCache) groupSize() int {
	if w.RAIDType == pool.Mirror {
		return 2
	}
	return w.Count
}

func readConfig(spec *system.Spec) (config, error) {
	c := config{general: &settings{}}
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return c, fmt.Errorf("completed spec: %w", err)
	}
	if err := c.readPodSettings(); err != nil {
		return c, err
	}
	var err error
	if c.general, err = c.generalSettings(); err != nil {
		return c, err
	}
	entries, meant := spec.Object.Node.Seq("spec", "pools"), map[string]string{}
	if spec.Object.Kind == autoKind {
		entries = spec.Object.Node.Seq("spec", "cspiList", "items")
		for _, f := range autoFields() {
			meant[f.said] = f.meant
		}
	}
	err = c.readListed(func(i int) map[string]bool {
		given := map[string]bool{}
		for _, f := range entries[i].Fields() {
			given[cmp.Or(meant[f.Key], f.Key)] = f.Value.Kind() != document.Null
		}
		return given
	})
	if err != nil {
		return c, err
	}
	for tag := range strings.SplitSeq(spec.Object.Annotation(pool.AnnotationAllowedTags), ",") {
		// The operator does not trim the entries; an entry with a space never matches there.
		if tag != "" && !slices.Contains(c.allowedTags, tag) {
			c.allowedTags = append(c.allowedTags, tag)
		}
	}
	return c, nil
}

// readPodSettings reads what the CStorPoolCluster takes over as it stands.
func (c *config) readPodSettings() (err error) {
	spec := &c.Spec.PoolConfig
	if c.resources, err = jsonNode("spec.poolConfig.computeResources", spec.ComputeResources); err != nil {
		return err
	}
	if c.auxResources, err = jsonNode("spec.poolConfig.auxResources", spec.AuxResources); err != nil {
		return err
	}
	c.podTolerations, err = spec.Tolerations.node("spec.poolConfig.tolerations")
	return err
}

// tolerations are taints that pods put up with, as pods say it.
type tolerations []map[string]any

// list is what decides which nodes take such pods.
func (t tolerations) list() []place.Toleration {
	var list []place.Toleration
	for _, one := range t {
		text := func(key string) string { s, _ := one[key].(string); return s }
		list = append(list, place.Toleration{
			Key: text("key"), Operator: text("operator"), Value: text("value"), Effect: text("effect"),
		})
	}
	return list
}

// node is what a CStorPoolCluster takes over; nil for none.
func (t tolerations) node(field string) (*document.Node, error) {
	if len(t) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return jsonNode(field, text)
}

func chunk(devices []string, size int) pool.Groups {
	var groups pool.Groups
	for group := range slices.Chunk(devices, size) {
		groups = append(groups, group)
	}
	return groups
}
