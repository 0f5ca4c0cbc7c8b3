// Package hydrations is about the Hydrations of a live cluster: it follows them, reads the Secrets
// that they name, and writes their status and their events.
package hydrations

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poolwright/poolwright/fn/hydration"
)

// Kind is the kind, in the version that is served.
func Kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "poolwright.io", Version: "v1alpha1", Kind: "Hydration"}
}

func resource() schema.GroupVersionResource {
	return Kind().GroupVersion().WithResource("hydrations")
}

// AnnotationReconcileAt asks to judge at once; its value is anything new.
const AnnotationReconcileAt = "poolwright.io/reconcile-at"

// Key names a Hydration.
type Key struct{ Namespace, Name string }

func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Hydration is an object as the API server has it, with the defaults of its definition.
type Hydration struct {
	Metadata struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		CreationTimestamp time.Time         `json:"creationTimestamp"`
		DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Key names the object.
func (h *Hydration) Key() Key { return Key{h.Metadata.Namespace, h.Metadata.Name} }

// ReconcileAt is the value of the annotation, or "".
func (h *Hydration) ReconcileAt() string { return h.Metadata.Annotations[AnnotationReconcileAt] }

// Spec says what is rendered, and where the output is published.
type Spec = hydration.Spec

// Duration is a time.Duration, written as 1m30s.
type Duration = hydration.Duration

// OCI is the tag that an artifact is published to.
type OCI = hydration.OCI

// SecretRef names a Secret in the namespace of the object.
type SecretRef = hydration.SecretRef

// Status is what the controller says.
type Status struct {
	ObservedGeneration     int64       `json:"observedGeneration,omitempty"`
	LastHandledReconcileAt string      `json:"lastHandledReconcileAt,omitempty"`
	Source                 Source      `json:"source,omitzero"`
	Facts                  Facts       `json:"facts,omitzero"`
	Published              Published   `json:"published,omitzero"`
	History                []Entry     `json:"history,omitempty"`
	Risk                   string      `json:"risk,omitempty"`
	WaitingFor             []string    `json:"waitingFor,omitempty"`
	Findings               *Findings   `json:"findings,omitempty"`
	Conditions             []Condition `json:"conditions,omitempty"`
}

// Source is the source that was judged last.
type Source struct {
	Revision string `json:"revision,omitempty"`
}

// Facts are the facts that were judged last.
type Facts struct {
	Digest  string    `json:"digest,omitempty"`
	Time    time.Time `json:"time,omitzero"` // of the first judgement
	Cluster string    `json:"cluster,omitempty"`
}

// Published is what was published last.
type Published struct {
	Revision string    `json:"revision,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	URL      string    `json:"url,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// Entry is one time that something was published.
type Entry struct {
	Time    time.Time `json:"time,omitzero"`
	Output  string    `json:"output,omitempty"`
	Changed []string  `json:"changed,omitempty"` // because of facts alone
}

// Findings are those of the last render.
type Findings struct {
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	First    []string `json:"first,omitempty"`
}

// Condition is one statement.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	ObservedGeneration int64     `json:"observedGeneration"`
}

// Condition finds the condition of a type; one without a type if there is none.
func (s *Status) Condition(kind string) Condition {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// decode reads an object of an API server.
func decode(object map[string]any) (*Hydration, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	h := &Hydration{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, err
	}
	return h, nil
}
