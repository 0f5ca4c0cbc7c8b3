// Package artifact is a package as one artifact of OCI, in the form that Flux pushes and pulls: one
// layer, tar and gzip, without times and owners. The same files and origin make the same digest.
package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The media types of Flux (fluxcd/pkg/oci, CanonicalConfigMediaType and CanonicalContentMediaType).
const (
	ConfigType  types.MediaType = "application/vnd.cncf.flux.config.v1+json"
	ContentType types.MediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Origin is where an artifact comes from: its annotations.
type Origin struct {
	Source   string // URL of the repository
	Revision string // branch and commit, as main@sha1:<40 hex>
	Facts    string // digest of the inventory
	Output   string // digest of rendered/
}

// The annotations. The first two are those of the image-spec.
const (
	annotationSource   = "org.opencontainers.image.source"
	annotationRevision = "org.opencontainers.image.revision"
	annotationFacts    = "io.poolwright.facts"
	annotationOutput   = "io.poolwright.output"
)

// New makes the artifact of files, by path.
func New(files map[string][]byte, from Origin) (v1.Image, error) {
	content, err := pack(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, tarball.WithMediaType(ContentType))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), ConfigType)
	img, ok := mutate.Annotations(img, map[string]string{
		annotationSource: from.Source, annotationRevision: from.Revision, annotationFacts: from.Facts, annotationOutput: from.Output,
	}).(v1.Image)
	if !ok {
		return nil, errors.New("an annotated image is none")
	}
	return mutate.AppendLayers(img, layer)
}

// pack writes files in the order of their paths.
func pack(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ErrForeign says that an artifact is none that Poolwright made.
var ErrForeign = errors.New("was not made by Poolwright")

// Layer finds the layer of an artifact by its manifest. The error is ErrForeign.
func Layer(m *v1.Manifest) (v1.Descriptor, Origin, error) {
	from := Origin{
		Source: m.Annotations[annotationSource], Revision: m.Annotations[annotationRevision],
		Facts: m.Annotations[annotationFacts], Output: m.Annotations[annotationOutput],
	}
	if m.Config.MediaType != ConfigType || len(m.Layers) != 1 || m.Layers[0].MediaType != ContentType || from.Output == "" {
		return v1.Descriptor{}, Origin{}, ErrForeign
	}
	return m.Layers[0], from, nil
}

// mostEntries is how many files are read of an artifact, and mostHeaders how many bytes beside them.
const (
	mostEntries = 100_000
	mostHeaders = 4096 * mostEntries
)

// ErrTooLarge says that an artifact has more bytes than are read.
var ErrTooLarge = errors.New("is larger than is read")

// Unpack reads the files of a layer for which want holds, whose sizes have at most this sum in bytes. The
// error may be ErrTooLarge.
func Unpack(layer io.Reader, most int64, want func(name string) bool) (map[string][]byte, error) {
	zip, err := gzip.NewReader(layer)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	r := tar.NewReader(io.LimitReader(zip, most+mostHeaders))
	for range mostEntries {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "./"))
		if h.Typeflag == tar.TypeDir || !want(name) {
			continue
		}
		if h.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%s is not a file", name)
		}
		if most -= h.Size; most < 0 {
			return nil, ErrTooLarge
		}
		if files[name], err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("it has more than %d files", mostEntries)
}
