package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func all(string) bool { return true }

func example() (map[string][]byte, Origin) {
	return map[string][]byte{"spec.yaml": []byte("a\n"), "rendered/b.yaml": []byte("b\n"), "rendered/" + strings.Repeat("long/", 60) + "c.yaml": nil},
		Origin{Source: "https://git.example.com/a.git", Revision: "main@sha1:00", Facts: "sha256:01", Output: "sha256:02"}
}

// TestNew: the same files make the same artifact, in whatever order they come, and come out of it again.
func TestNew(t *testing.T) {
	var digest v1.Hash
	for range 5 {
		files, from := example()
		img, err := New(maps.Clone(files), from)
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil || digest != (v1.Hash{}) && d != digest {
			t.Fatalf("%s, before %s; %v", d, digest, err)
		}
		digest = d
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		layer, origin, err := Layer(m)
		if err != nil || origin != from {
			t.Fatalf("%+v, %v", origin, err)
		}
		l, err := img.LayerByDigest(layer.Digest)
		if err != nil {
			t.Fatal(err)
		}
		in, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unpack(in, 4, all)
		if err != nil || !maps.EqualFunc(got, files, bytes.Equal) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestPlain: nothing in the layer says when, where and by whom it was made.
func TestPlain(t *testing.T) {
	files, _ := example()
	content, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if !zip.ModTime.IsZero() || zip.Name != "" || zip.Comment != "" {
		t.Errorf("gzip: %+v", zip.Header)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.ModTime.Unix() != 0 || !h.AccessTime.IsZero() || !h.ChangeTime.IsZero() || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.Mode != 0o644 {
			t.Errorf("tar: %+v", h)
		}
	}
	if !slices.IsSorted(names) || len(names) != 3 {
		t.Errorf("names %q", names)
	}
}

// TestForeign: what another tool pushed is not read.
func TestForeign(t *testing.T) {
	files, from := example()
	mine, err := New(files, from)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := New(files, Origin{})
	if err != nil {
		t.Fatal(err)
	}
	for name, img := range map[string]v1.Image{
		"an image": empty.Image, "without annotations": bare, "of another type": mutate.ConfigMediaType(mine, "application/json"),
	} {
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Layer(m); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnpackRefuses what is no file, and what is too large to read.
func TestUnpackRefuses(t *testing.T) {
	layer := func(headers ...tar.Header) io.Reader {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		w := tar.NewWriter(zip)
		for i := range headers {
			if err := w.WriteHeader(&headers[i]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(w, zeros{}, headers[i].Size); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), zip.Close()); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	file := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}
	}
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"}
	folder := tar.Header{Typeflag: tar.TypeDir, Name: "a/"}
	for _, c := range []struct {
		name    string
		headers []tar.Header
		want    string // of the error; "" for none
	}{
		{"files and a folder", []tar.Header{folder, file("./a/b", 40), file("c", 60)}, ""},
		{"too large", []tar.Header{file("a", 60), file("b", 41)}, "is larger than is read"},
		{"a link", []tar.Header{link}, "a is not a file"},
	} {
		files, err := Unpack(layer(c.headers...), 100, all)
		if c.want == "" && (err != nil || len(files["a/b"]) != 40 || len(files["c"]) != 60) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %d files, %v", c.name, len(files), err)
		}
	}
	if _, err := Unpack(layer(link), 100, func(string) bool { return false }); err != nil {
		t.Errorf("a link that nobody wants: %v", err)
	}
	if _, err := Unpack(strings.NewReader("no gzip"), 100, all); err == nil {
		t.Error("what is no gzip is read")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
