package diskpool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
)

// config is a completed DiskPoolSet.
type config struct {
	Spec struct {
		Release      string `json:"release"`
		AllowedNodes struct {
			NodeSelectorTerms []selector.Term `json:"nodeSelectorTerms"`
		} `json:"allowedNodes"`
		MaxNodeCount int    `json:"maxNodeCount"` // 0: all
		PoolsPerNode string `json:"poolsPerNode"`
		DiskSelector struct {
			SelectorTerms []selector.Term `json:"selectorTerms"`
		} `json:"diskSelector"`
		MinCapacity      string            `json:"minCapacity"`
		DiskURI          string            `json:"diskURI"`
		AllowByPath      bool              `json:"allowByPath"`
		TopologyLabels   map[string]string `json:"topologyLabels"`
		EncryptionSecret string            `json:"encryptionSecret"`
		MaxExpansion     string            `json:"maxExpansion"`
		ClusterSize      string            `json:"clusterSize"`
		StorageClasses   []classConfig     `json:"storageClasses"`
	} `json:"spec"`
	release     release
	perNode     int
	minCapacity int64 // bytes
	allowedTags []string
}

// classConfig is one of spec.storageClasses.
type classConfig struct {
	Name                 string            `json:"name"`
	Replicas             int               `json:"replicas"` // 0: the default
	Thin                 bool              `json:"thin"`
	FSType               string            `json:"fsType"`
	ReclaimPolicy        string            `json:"reclaimPolicy"`
	AllowVolumeExpansion bool              `json:"allowVolumeExpansion"`
	VolumeBindingMode    string            `json:"volumeBindingMode"`
	Default              bool              `json:"default"`
	MaxSnapshots         int               `json:"maxSnapshots"` // 0: Mayastor's own
	STSAffinityGroup     bool              `json:"stsAffinityGroup"`
	Topology             map[string]string `json:"topology"`
}

func readConfig(spec *system.Spec) (config, error) {
	var c config
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return c, fmt.Errorf("completed spec: %w", err)
	}
	c.release = parseRelease(c.Spec.Release)
	c.Spec.MaxExpansion, c.Spec.ClusterSize = inBytes(c.Spec.MaxExpansion), inBytes(c.Spec.ClusterSize)
	if spec.Unsound {
		return c, nil
	}
	capacity, err := resource.ParseQuantity(c.Spec.MinCapacity)
	if err != nil {
		return c, fmt.Errorf("spec.minCapacity: %w", err)
	}
	c.minCapacity = capacity.Value()
	c.perNode = math.MaxInt
	if c.Spec.PoolsPerNode != "all" {
		if c.perNode, err = strconv.Atoi(c.Spec.PoolsPerNode); err != nil {
			return c, fmt.Errorf("spec.poolsPerNode: %w", err)
		}
	}
	for tag := range strings.SplitSeq(spec.Object.Annotation(annotationTags), ",") {
		if tag != "" && !slices.Contains(c.allowedTags, tag) {
			c.allowedTags = append(c.allowedTags, tag)
		}
	}
	return c, nil
}

// inBytes writes a size in Mayastor's units: 800Gi is 800GiB.
func inBytes(size string) string {
	if strings.HasSuffix(size, "i") {
		return size + "B"
	}
	return size
}

// nodeTerms are what selects nodes.
func (c *config) nodeTerms() []selector.Term {
	if len(c.Spec.AllowedNodes.NodeSelectorTerms) > 0 {
		return c.Spec.AllowedNodes.NodeSelectorTerms
	}
	return []selector.Term{{MatchLabels: map[string]string{labelEngine: engine}}}
}

// wantedFields are those that the spec asks for by name, as a DiskPool calls them, with
// the field of the spec.
func (c *config) wantedFields() (fields, names []string) {
	add := func(wanted bool, field, name string) {
		if wanted {
			fields, names = append(fields, field), append(names, name)
		}
	}
	add(len(c.Spec.TopologyLabels) > 0, topology, "topologyLabels")
	add(c.Spec.EncryptionSecret != "", encryption, "encryptionSecret")
	add(c.Spec.MaxExpansion != "", expansion, "maxExpansion")
	add(c.Spec.ClusterSize != "", cluster, "clusterSize")
	return fields, names
}
