package flux

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/poolwright/poolwright/controller/artifact"
)

// TestArtifact has the code with which Flux pulls an OCIRepository read what mode OCI of a Hydration publishes.
func TestArtifact(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	files := map[string][]byte{"spec.yaml": []byte("a: 1\n"), "rendered/pools.yaml": []byte("b: 2\n")}
	from := artifact.Origin{
		Source: "https://git.example.com/storage.git", Revision: "main@sha1:0123456789012345678901234567890123456789",
		Facts: "sha256:01", Output: "sha256:02",
	}
	img, err := artifact.New(files, from)
	if err != nil {
		t.Fatal(err)
	}
	tag := strings.TrimPrefix(server.URL, "http://") + "/storage/prod:latest"
	if err := crane.Push(img, tag, crane.Insecure); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, err := oci.NewClient([]crane.Option{crane.Insecure}).Pull(t.Context(), tag, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Source != from.Source || got.Revision != from.Revision || got.Annotations["io.poolwright.output"] != from.Output {
		t.Errorf("Flux reads %+v", got)
	}
	for name, want := range files {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != string(want) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if oci.CanonicalConfigMediaType != artifact.ConfigType || oci.CanonicalContentMediaType != artifact.ContentType {
		t.Errorf("the media types of Flux are %s and %s", oci.CanonicalConfigMediaType, oci.CanonicalContentMediaType)
	}
}
