package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Phase is one word for how an object is.
type Phase string

// The phases.
const (
	PhasePending     Phase = "Pending"
	PhaseAvailable   Phase = "Available"
	PhaseFailed      Phase = "Failed"
	PhaseTerminating Phase = "Terminating"
)

// Reason is that of the condition Ready.
type Reason string

// The reasons. The first six are those of MetalK8s.
const (
	ReasonPending          Reason = "Pending"
	ReasonTerminating      Reason = "Terminating"
	ReasonCreationError    Reason = "CreationError"
	ReasonDestructionError Reason = "DestructionError"
	ReasonUnavailable      Reason = "UnavailableError"
	ReasonInternal         Reason = "InternalError"
	ReasonIdentity         Reason = "IdentityMismatch"
	ReasonForeignData      Reason = "ForeignData"
	ReasonNoSpace          Reason = "NoSpace"
	ReasonNodeUnknown      Reason = "NodeUnknown"
	ReasonToolMissing      Reason = "ToolMissing" // or it does not answer
)

// Condition is a condition of a status.
type Condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             Reason                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime"`
	LastUpdateTime     metav1.Time            `json:"lastUpdateTime"`
}

// VolumeStatus is what the agent says of a Volume.
type VolumeStatus struct {
	Phase              Phase       `json:"phase,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	DeviceName         string      `json:"deviceName,omitempty"` // of the kernel, such as sdb
	Size               int64       `json:"size,omitempty"`       // bytes
	UUID               string      `json:"uuid,omitempty"`       // the mark on its data
	// Claim is namespace/name of the claim that has it, or "". It is always written: a policy
	// refuses to delete what it does not know.
	Claim string `json:"claim"`
	// Wipe is there from the first byte on that is erased.
	Wipe *WipeStatus `json:"wipe,omitempty"`
}

// WipeStatus is how far the erase of a device has come.
type WipeStatus struct {
	Policy    string `json:"policy"` // as it is done
	Bytes     int64  `json:"bytes"`  // of the device
	BytesDone int64  `json:"bytesDone"`
}

// VolumeGroupStatus is what the agent says of a VolumeGroup.
type VolumeGroupStatus struct {
	Phase              Phase       `json:"phase,omitempty"`
	Conditions         []Condition `json:"conditions,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	UUID               string      `json:"uuid,omitempty"` // of the group, as LVM writes it
	Size               int64       `json:"size,omitempty"` // bytes
	Free               int64       `json:"free,omitempty"` // bytes
	ExtentSize         int64       `json:"extentSize,omitempty"`
	Devices            []string    `json:"devices,omitempty"` // paths of its physical volumes
	Missing            []string    `json:"missing,omitempty"` // UUIDs of physical volumes
	// Volumes are the names of its logical volumes, whoever made them. They are always
	// written, as the claim of a Volume is.
	Volumes []string `json:"volumes"`
}
