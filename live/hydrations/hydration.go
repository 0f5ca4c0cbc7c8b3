// Package hydrations is about the Hydrations of a live cluster: it follows them, reads the Secrets
// that they name, and writes their status and their events.
package hydrations

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
type Spec struct {
	Source struct {
		URL              string     `json:"url"`
		Branch           string     `json:"branch"`
		Path             string     `json:"path"`
		Interval         Duration   `json:"interval"`
		SecretRef        *SecretRef `json:"secretRef"`
		WebhookSecretRef *SecretRef `json:"webhookSecretRef"`
		InCluster        *struct {
			Namespace string `json:"namespace"`
			Selector  struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			Manifests []string `json:"manifests"`
		} `json:"inCluster"`
	} `json:"source"`
	Publish struct {
		Mode     string `json:"mode"`
		Branch   string `json:"branch"`
		Provider string `json:"provider"`
		APIURL   string `json:"apiURL"`
		OCI      *OCI   `json:"oci"`
		Author   struct {
			Name  string `json:"name"`
			Email string `json:"email"`
		} `json:"author"`
		SigningKey *SecretRef `json:"signingKey"`
	} `json:"publish"`
	AutoMerge string `json:"autoMerge"`
	Facts     struct {
		Debounce   Duration `json:"debounce"`
		MaxAge     Duration `json:"maxAge"`
		FlapWindow Duration `json:"flapWindow"`
	} `json:"facts"`
	Suspend bool `json:"suspend"`
}

// SecretRef names a Secret in the namespace of the object.
type SecretRef struct {
	Name string `json:"name"`
}

// OCI is the tag that an artifact is published to.
type OCI struct {
	URL       string     `json:"url"`
	Tag       string     `json:"tag"`
	SecretRef *SecretRef `json:"secretRef"`
}

// Head is the branch of the pull request; "" where there is none. By default it is named after the
// branch and the path of the source: the names of objects are the same in many clusters.
func (s *Spec) Head() string {
	if s.Publish.Mode != "PullRequest" {
		return ""
	}
	if s.Publish.Branch != "" {
		return s.Publish.Branch
	}
	name := "poolwright/" + s.Source.Branch
	folder := path.Clean(s.Source.Path)
	if folder == "." {
		return name + "/root"
	}
	for part := range strings.SplitSeq(folder, "/") {
		part = strings.Map(func(r rune) rune {
			if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+=-", r)) {
				return r
			}
			return '-' // Git has no such name of a branch, or a shell reads it
		}, part)
		part = strings.ReplaceAll(strings.Trim(part, "."), "..", "-")
		if rest, found := strings.CutSuffix(part, ".lock"); found {
			part = rest + "-lock"
		}
		name += "/" + part
	}
	return name
}

// PublishesFacts reports whether facts are published where the output is as it was.
func (s *Spec) PublishesFacts() bool { return s.Publish.Mode != "PullRequest" || s.AutoMerge == "Safe" }

// Duration is a time.Duration, written as 1m30s.
type Duration time.Duration

// UnmarshalText reads what the definition accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration", text)
	}
	*d = Duration(value)
	return nil
}

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
