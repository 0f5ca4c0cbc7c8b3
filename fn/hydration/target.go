package hydration

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Target is what a Hydration writes to. Two are equal where the same is written.
type Target struct {
	kind   targetKind
	url    string // of the repository
	branch string
	path   string // of the package; of specs in the cluster, their labels
}

type targetKind int

const (
	folder targetKind = iota
	head
	tag
	specs
)

// String names a target for people.
func (t Target) String() string {
	switch t.kind {
	case head:
		return fmt.Sprintf("branch %s of %s for its pull request", t.branch, t.url)
	case tag:
		return "tag " + t.url
	case specs:
		if t.path == "" {
			return "all specs of namespace " + t.branch
		}
		return fmt.Sprintf("the specs of namespace %s with the labels %s", t.branch, t.path)
	}
	return fmt.Sprintf("path %s of branch %s of %s", t.path, t.branch, t.url)
}

// Field is the field of a Hydration that makes it another target.
func (t Target) Field() string {
	switch t.kind {
	case head:
		return "spec.publish.branch"
	case tag:
		return "spec.publish.oci.tag"
	case specs:
		return "spec.source.inCluster"
	}
	return "spec.source.path"
}

// Targets are the package and the branch of a pull request; or the tag of an artifact, which writes to no
// branch; or the specs in the cluster whose objects are applied. namespace is that of the Hydration.
func (s *Spec) Targets(namespace string) []Target {
	if to := s.Publish.OCI; to != nil {
		host, repository, _ := strings.Cut(strings.TrimPrefix(to.URL, "oci://"), "/")
		return []Target{{kind: tag, url: "oci://" + Registry(host) + "/" + strings.TrimRight(repository, "/") + ":" + to.Tag}}
	}
	if in := s.Source.InCluster; in != nil {
		if in.Namespace != "" {
			namespace = in.Namespace
		}
		var labels []string
		for key, value := range in.Selector.MatchLabels {
			labels = append(labels, key+"="+value)
		}
		slices.Sort(labels)
		return []Target{{kind: specs, branch: namespace, path: strings.Join(labels, ",")}}
	}
	t := Target{kind: folder, url: repository(s.Source.URL), branch: s.Source.Branch, path: path.Clean(s.Source.Path)}
	if branch := s.Head(); branch != "" {
		return []Target{t, {kind: head, url: t.url, branch: branch}}
	}
	return []Target{t}
}

// repository is the one URL of a repository.
func repository(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.User, u.Host = nil, strings.ToLower(u.Host)
	if port := map[string]string{"https": ":443", "http": ":80", "ssh": ":22"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	u.Path = strings.TrimSuffix(path.Clean(u.Path), ".git")
	return u.String()
}

// Registry is the one name of the host of a registry of artifacts.
func Registry(host string) string {
	switch host = strings.TrimSuffix(strings.ToLower(host), ":443"); host {
	case "docker.io", "registry-1.docker.io":
		return "index.docker.io" // as the libraries of OCI call it
	}
	return host
}
