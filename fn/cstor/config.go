package cstor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/cstor/pool"
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
		DiskConfig struct {
			MinCount            int          `json:"minCount"`
			GroupSize           int          `json:"groupSize"`
			MinCapacity         string       `json:"minCapacity"`
			ExternalProvisioner *provisioner `json:"externalProvisioner"`
			Local               *local       `json:"local"`
		} `json:"diskConfig"`
		PoolConfig struct {
			RAIDType          string           `json:"raidType"`
			WriteCache        *writeCache      `json:"writeCache"`
			Spare             int              `json:"spare"`
			ComputeResources  json.RawMessage  `json:"computeResources"`
			AuxResources      json.RawMessage  `json:"auxResources"`
			Compression       string           `json:"compression"`
			ThickProvision    *bool            `json:"thickProvision"`
			Tolerations       []map[string]any `json:"tolerations"`
			PriorityClassName string           `json:"priorityClassName"`
			ROThresholdLimit  *int             `json:"roThresholdLimit"`
			AutoReplace       bool             `json:"autoReplace"`
			PoolExpansion     *expansion       `json:"poolExpansion"`
		} `json:"poolConfig"`
	} `json:"spec"`
	minCapacity int64
	tolerations []place.Toleration
	allowedTags []string

	// As they go into the CStorPoolCluster; nil where they are not set.
	resources, auxResources, podTolerations *document.Node
}

type provisioner struct {
	CSIAttacherName  string `json:"csiAttacherName"`
	StorageClassName string `json:"storageClassName"`
}

type local struct {
	BlockDeviceSelector struct {
		SelectorTerms []selector.Term `json:"selectorTerms"`
	} `json:"blockDeviceSelector"`
}

type writeCache struct {
	ExternalProvisioner *provisioner `json:"externalProvisioner"`
	Local               *local       `json:"local"`
	Auto                bool         `json:"auto"`
	Count               int          `json:"count"`
	RAIDType            string       `json:"raidType"`
	Capacity            string       `json:"capacity"`
}

// groupSize is the number of disks in one group of the write cache.
func (w *writeCache) groupSize() int {
	if w.RAIDType == pool.Mirror {
		return 2
	}
	return w.Count
}

func readConfig(spec *system.Spec) (config, error) {
	var c config
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return c, fmt.Errorf("completed spec: %w", err)
	}
	capacity, err := resource.ParseQuantity(c.Spec.DiskConfig.MinCapacity)
	if err != nil {
		return c, fmt.Errorf("spec.diskConfig.minCapacity: %w", err)
	}
	c.minCapacity = capacity.Value()
	if err := c.readPodSettings(); err != nil {
		return c, err
	}
	for _, t := range c.Spec.PoolConfig.Tolerations {
		text := func(key string) string { s, _ := t[key].(string); return s }
		c.tolerations = append(c.tolerations, place.Toleration{
			Key: text("key"), Operator: text("operator"), Value: text("value"), Effect: text("effect"),
		})
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
	if len(spec.Tolerations) == 0 {
		return nil
	}
	tolerations, err := json.Marshal(spec.Tolerations)
	if err != nil {
		return fmt.Errorf("spec.poolConfig.tolerations: %w", err)
	}
	c.podTolerations, err = jsonNode("spec.poolConfig.tolerations", tolerations)
	return err
}

// external reports whether the data disks are cloud disks.
func (c *config) external() bool { return c.Spec.DiskConfig.ExternalProvisioner != nil }

// cacheExternal reports whether the write cache is of cloud disks.
func (c *config) cacheExternal() bool {
	w := c.Spec.PoolConfig.WriteCache
	return w != nil && w.ExternalProvisioner != nil
}

// groupCount is the number of RAID groups of a new pool.
func (c *config) groupCount() int { return c.Spec.DiskConfig.MinCount / c.Spec.DiskConfig.GroupSize }

// groups splits data devices into RAID groups; a stripe is one group.
func (c *config) groups(devices []string) pool.Groups {
	if c.Spec.PoolConfig.RAIDType == pool.Stripe {
		return pool.Groups{devices}
	}
	return chunk(devices, c.Spec.DiskConfig.GroupSize)
}

// cacheGroups splits the devices of the write cache.
func (c *config) cacheGroups(devices []string) pool.Groups {
	w := c.Spec.PoolConfig.WriteCache
	if w == nil || len(devices) == 0 {
		return nil
	}
	return chunk(devices, w.groupSize())
}

func chunk(devices []string, size int) pool.Groups {
	var groups pool.Groups
	for group := range slices.Chunk(devices, size) {
		groups = append(groups, group)
	}
	return groups
}
