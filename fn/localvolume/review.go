package localvolume

import (
	"encoding/json"

	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Review implements system.Reviewer: the class of a Volume, and what its PersistentVolume gets.
func (System) Review(in system.Input, spec *system.Spec) []finding.Finding {
	if spec.Object.Kind != volumeKind {
		return nil
	}
	var sound struct {
		Spec struct {
			StorageClassName string `json:"storageClassName"`
			Mode             string `json:"mode"`
		} `json:"spec"`
	}
	e := newEntry(in, spec)
	e.all = &rendering{Input: in}
	if err := json.Unmarshal(spec.Completed, &sound); err != nil {
		return nil // nothing of it is right
	}
	if sound.Spec.StorageClassName != "" && sound.Spec.Mode != "" {
		e.checkClass()
	}
	e.checkMetadata()
	return e.Findings
}
