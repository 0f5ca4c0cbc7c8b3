// Package specs reads a package from a cluster: its specs, and manifests that ConfigMaps have.
package specs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/follow"
	"github.com/poolwright/poolwright/schema/document"
)

// Source says which specs are read.
type Source struct {
	Namespace string            // of the specs that are in one, and of the ConfigMaps
	Labels    map[string]string // that the specs have; none for all. Without them none is read that is in no namespace
	Manifests []string          // names of ConfigMaps, each key of which is a file
	Most      int64             // bytes of all files
}

// Missing says that a ConfigMap is not there.
type Missing struct{ Namespace, Name string }

func (m *Missing) Error() string {
	return fmt.Sprintf("there is no ConfigMap %s in namespace %s; create it, or correct spec.source.inCluster.manifests", m.Name, m.Namespace)
}

// TooLarge says that the files are larger than is allowed, in bytes.
type TooLarge struct{ Most int64 }

func (l *TooLarge) Error() string {
	return fmt.Sprintf("the specs and the manifests have more than %d bytes; split them, or raise --max-source", l.Most)
}

// Package is what was read.
type Package struct {
	Files  map[string][]byte
	Digest string // as a Follower of the Queries gives it
}

// Queries are for what is read, as far as the cluster has the kinds.
func (s Source) Queries(served *cluster.Served, kinds *system.Kinds) ([]follow.Query, error) {
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, key+"="+s.Labels[key])
	}
	var queries []follow.Query
	for _, kind := range kinds.In(system.RoleSpec) {
		r, found, err := served.Find(kind.Group, kind.Kind)
		switch {
		case err != nil:
			return nil, err
		case found && r.Namespaced:
			queries = append(queries, follow.Query{Resource: r, Namespace: s.Namespace, Labels: strings.Join(labels, ",")})
		case found && len(labels) > 0:
			queries = append(queries, follow.Query{Resource: r, Labels: strings.Join(labels, ",")})
		}
	}
	for _, name := range s.Manifests {
		queries = append(queries, follow.Query{Resource: configMaps(), Namespace: s.Namespace, Name: name})
	}
	return queries, nil
}

func configMaps() cluster.Resource {
	return cluster.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

// Digest is that of an object for a Follower: "" for output of Poolwright.
func Digest(r cluster.Resource, n *document.Node) string {
	if r == configMaps() {
		data, binary := n.Get("data"), n.Get("binaryData")
		sum := sha256.New()
		for _, part := range []*document.Node{data, binary} {
			if part != nil {
				sum.Write(document.AppendJSON(nil, part))
			}
		}
		return fmt.Sprintf("%s %x", n.Str("metadata", "name"), sum.Sum(nil))
	}
	if krm.NewObject(nil, n).RenderedFor() != "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(spec(r, n)))
}

// Read reads the specs and the manifests. The error may be a *Missing or a *TooLarge.
func (s Source) Read(ctx context.Context, c *cluster.Cluster, served *cluster.Served, kinds *system.Kinds) (*Package, error) {
	queries, err := s.Queries(served, kinds)
	if err != nil {
		return nil, err
	}
	p := &Package{Files: map[string][]byte{}}
	var digests []string
	left := s.Most
	add := func(name string, text []byte) error {
		if left -= int64(len(text)); left < 0 {
			return &TooLarge{s.Most}
		}
		p.Files[name] = text
		return nil
	}
	for _, q := range queries {
		if q.Name != "" {
			n, err := c.Get(ctx, q.Resource, q.Namespace, q.Name)
			if apierrors.IsNotFound(err) {
				return nil, &Missing{q.Namespace, q.Name}
			}
			if err != nil {
				return nil, c.Explain(err, "get ConfigMap "+q.Namespace+"/"+q.Name)
			}
			digests = append(digests, Digest(q.Resource, n))
			if err := s.manifests(n, &left, add); err != nil {
				return nil, err
			}
			continue
		}
		objects, err := s.list(ctx, c, q)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			digests = append(digests, o.digest)
			if err := add(o.file, o.text); err != nil {
				return nil, err
			}
		}
	}
	p.Digest = follow.Digest(digests)
	return p, nil
}

// object is one spec.
type object struct {
	file, digest string
	text         []byte
}

// list reads the specs of a kind.
func (s Source) list(ctx context.Context, c *cluster.Cluster, q follow.Query) ([]object, error) {
	var all []object
	page := func(items []document.Node) error {
		for i := range items {
			n := &items[i]
			digest := Digest(q.Resource, n)
			if digest == "" {
				continue
			}
			parts := []string{strings.ToLower(q.Kind), n.Str("metadata", "namespace"), n.Str("metadata", "name"), "yaml"}
			parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
			all = append(all, object{strings.Join(parts, "."), digest, spec(q.Resource, n)})
		}
		return nil
	}
	err := c.In(q.Namespace).List(ctx, q.Resource, cluster.Selectors{Labels: q.Labels}, page, func() { all = nil })
	return all, err
}

// spec is a spec as a person writes it, without what the API server and clients keep.
func spec(r cluster.Resource, n *document.Node) []byte {
	meta := document.Object()
	for _, key := range []string{"name", "namespace", "labels", "annotations"} {
		if value := n.Get("metadata", key); value != nil {
			meta.Set(key, *value)
		}
	}
	if annotations := meta.Get("annotations"); annotations != nil {
		kept := annotations.Copy()
		kept.Delete(cluster.AnnotationLastApplied)
		meta.Set("annotations", kept)
	}
	root := document.Object(
		document.F("apiVersion", document.Text(r.APIVersion())), document.F("kind", document.Text(r.Kind)), document.F("metadata", meta),
	)
	if value := n.Get("spec"); value != nil {
		root.Set("spec", *value)
	}
	return document.Append(nil, &root, 0)
}

// manifests adds the files of a ConfigMap; with the ending .gz they are unpacked.
func (s Source) manifests(n *document.Node, left *int64, add func(name string, text []byte) error) error {
	of := n.Str("metadata", "name")
	for key, text := range n.StrMap("data") {
		if err := add(of+"."+key, []byte(text)); err != nil {
			return err
		}
	}
	for key, text := range n.StrMap("binaryData") {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("ConfigMap %s: %s cannot be read: %w", of, key, err)
		}
		name, packed := strings.CutSuffix(key, ".gz")
		if packed {
			if data, err = unpacked(data, *left); err != nil {
				return fmt.Errorf("ConfigMap %s: %s cannot be unpacked: %w; pack it with gzip", of, key, err)
			}
		}
		if err := add(of+"."+name, data); err != nil {
			return err
		}
	}
	return nil
}

// unpacked reads at most one byte more than is left.
func unpacked(data []byte, left int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, left+1))
}
