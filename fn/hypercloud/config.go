package hypercloud

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/selector"
	"github.com/poolwright/poolwright/fn/system"
)

// config is a completed HyperCloudStorage. Defaults that depend on other fields are filled
// in.
type config struct {
	Spec struct {
		Storage    storageConfig      `json:"storage"`
		Delivery   delivery           `json:"delivery"`
		Rook       rookConfig         `json:"rook"`
		Ceph       cephConfig         `json:"ceph"`
		Block      []blockConfig      `json:"block"`
		Filesystem []filesystemConfig `json:"filesystem"`
		Object     []objectConfig     `json:"object"`
		CDI        *cdiConfig         `json:"cdi"` // nil: none is wanted
	} `json:"spec"`
	release release
	keyType string // of the CephX keys of the CSI drivers, "" where Rook or Ceph knows one type
}

type storageConfig struct {
	Replicas     int          `json:"replicas"`
	Nodes        []nodeConfig `json:"nodes"`
	NodeSelector struct {
		NodeSelectorTerms []selector.Term `json:"nodeSelectorTerms"`
	} `json:"nodeSelector"`
	DeviceSelector struct {
		SelectorTerms []selector.Term `json:"selectorTerms"`
	} `json:"deviceSelector"`
	FailureDomain string `json:"failureDomain"`
}

type nodeConfig struct {
	Hostname string         `json:"hostname"`
	Devices  []deviceConfig `json:"devices"`
}

type deviceConfig struct {
	Name           string `json:"name"`
	DeviceClass    string `json:"deviceClass"`
	MetadataDevice string `json:"metadataDevice"`
	OSDsPerDevice  int    `json:"osdsPerDevice"`
	Encrypted      bool   `json:"encrypted"`
}

// Types of delivery.
const (
	deliverManifests = "manifests"
	deliverFlux      = "flux"
	deliverArgoCD    = "argocd"
)

// delivery says how the output reaches the cluster. What belongs to another type is
// empty.
type delivery struct {
	Type   string `json:"type"`
	Source struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"source"` // flux
	Path           string `json:"path"`           // flux, argocd: of the package in the repository
	RepoURL        string `json:"repoURL"`        // argocd
	TargetRevision string `json:"targetRevision"` // argocd
	Project        string `json:"project"`        // argocd
	Server         string `json:"server"`         // argocd
}

// settle fills in what a type of delivery leaves open.
func (d *delivery) settle() {
	switch d.Type {
	case deliverFlux:
		d.Path = cmp.Or(d.Path, ".")
		d.Source.Kind = cmp.Or(d.Source.Kind, "GitRepository")
		d.Source.Name, d.Source.Namespace = cmp.Or(d.Source.Name, "flux-system"), cmp.Or(d.Source.Namespace, "flux-system")
	case deliverArgoCD:
		d.Path = cmp.Or(d.Path, ".")
		d.TargetRevision, d.Project = cmp.Or(d.TargetRevision, "HEAD"), cmp.Or(d.Project, "default")
		d.Server = cmp.Or(d.Server, "https://kubernetes.default.svc")
	}
}

// charted reports whether charts bring the operators of Ceph.
func (c *config) charted() bool { return c.Spec.Delivery.Type != deliverManifests }

type rookConfig struct {
	Version           string `json:"version"`
	OperatorNamespace string `json:"operatorNamespace"`
	CephX             string `json:"cephx"` // "" for the default
	Chart             struct {
		URL     string `json:"url"`
		Version string `json:"version"`
	} `json:"chart"`
}

type cephConfig struct {
	Image           string `json:"image"`
	Mons            int    `json:"mons"`
	Mgrs            int    `json:"mgrs"`
	DataDirHostPath string `json:"dataDirHostPath"`
	Dashboard       struct {
		Enabled   bool   `json:"enabled"`
		SSL       bool   `json:"ssl"`
		Port      int    `json:"port"`
		URLPrefix string `json:"urlPrefix"`
	} `json:"dashboard"`
	Monitoring struct {
		Enabled bool `json:"enabled"`
	} `json:"monitoring"`
	PriorityClassNames map[string]string `json:"priorityClassNames"`
	Placement          map[string]struct {
		Tolerations []place.Toleration `json:"tolerations"`
	} `json:"placement"`
	Toolbox bool `json:"toolbox"`
}

// copies are those of a pool, a filesystem or a store.
type copies struct {
	Replicas    int    `json:"replicas"`
	DeviceClass string `json:"deviceClass"`
	AllowUnsafe bool   `json:"allowUnsafe"`
}

// classConfig is what the spec says of a class.
type classConfig struct {
	Default       *bool  `json:"default"` // nil: not said
	ReclaimPolicy string `json:"reclaimPolicy"`
	SnapshotClass bool   `json:"snapshotClass"`
}

type blockConfig struct {
	copies
	classConfig
	Name   string `json:"name"`
	FSType string `json:"fsType"`
}

type filesystemConfig struct {
	copies
	classConfig
	Name      string `json:"name"`
	ActiveMDS int    `json:"activeMDS"`
}

type objectConfig struct {
	copies
	Name      string `json:"name"`
	Instances int    `json:"instances"`
	Port      int    `json:"port"`
}

type cdiConfig struct {
	Version             string   `json:"version"`
	ScratchStorageClass string   `json:"scratchStorageClass"`
	UploadProxyURL      string   `json:"uploadProxyURL"`
	FeatureGates        []string `json:"featureGates"` // nil: the default
	UninstallStrategy   string   `json:"uninstallStrategy"`
}

func readConfig(spec *system.Spec) (config, error) {
	var c config
	if err := json.Unmarshal(spec.Completed, &c); err != nil {
		return c, fmt.Errorf("completed spec: %w", err)
	}
	s := &c.Spec
	s.Delivery.settle()
	s.Rook.OperatorNamespace = cmp.Or(s.Rook.OperatorNamespace, spec.Object.Namespace)
	c.release = parseRelease(s.Rook.Version)
	for i := range s.Block {
		s.Block[i].Replicas = cmp.Or(s.Block[i].Replicas, s.Storage.Replicas)
	}
	for i := range s.Filesystem {
		s.Filesystem[i].Replicas = cmp.Or(s.Filesystem[i].Replicas, s.Storage.Replicas)
	}
	for i := range s.Object {
		s.Object[i].Replicas = cmp.Or(s.Object[i].Replicas, s.Storage.Replicas)
	}
	if s.CDI != nil && s.CDI.FeatureGates == nil {
		s.CDI.FeatureGates = []string{"HonorWaitForFirstConsumer"}
	}
	return c, nil
}
