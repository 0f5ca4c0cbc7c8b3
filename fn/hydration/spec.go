// Package hydration has the spec of a Hydration, and its targets: what its output is written to.
package hydration

import (
	"fmt"
	"path"
	"strings"
	"time"
)

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
