// Package hydration is the core of the controller: from the committed files of a package and a
// snapshot of the cluster to what is to be published, and why. It is pure: it knows no Git, no
// cluster and no clock, and gives the bytes that a person gets from poolwright inventory and
// poolwright render.
package hydration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/document"
)

// Package is a package as committed.
type Package struct {
	// Files are those that a render reads (Reads), by path relative to the package, with slashes.
	Files map[string][]byte
	// Digest is the same for two packages of the same files; of those that no render reads, too.
	Digest string
	// Dir is how a person calls the folder, in messages.
	Dir string
	// Lock is where inventory and output come from, in messages; "" where they are committed.
	Lock string
}

// Reads reports whether a file of a package has to be among Package.Files. Everything that was
// rendered does: the digest of the output is that of all files.
func Reads(name string) bool {
	return folder.Reads(name) || strings.HasPrefix(name, fn.RenderedFolder+"/")
}

// Beside are the objects whose specs say which more fields a snapshot keeps: watch.Options.Specs.
func (p Package) Beside() []*krm.Object { return p.memory().Beside() }

// Format is how the inventory of the package is written.
func (p Package) Format() snapshot.Format {
	lines := false
	for name := range p.Files {
		if path.Dir(name) == inventory.Folder {
			switch path.Ext(name) {
			case ".yaml":
				return snapshot.YAML
			case ".json":
				lines = true
			}
		}
	}
	if lines {
		return snapshot.JSON
	}
	return snapshot.YAML
}

// NotedMissing is what the facts before noted of missing nodes, from which the next snapshot goes on
// (snapshot.Snapshot.NoteMissing): last, or where there are none the committed inventory.
func (p Package) NotedMissing(last Facts) string {
	if last.Digest != "" {
		return last.Missing
	}
	return p.memory().NotedMissing()
}

// Output is the digest of what is rendered.
func (p Package) Output() string { return Digest(below(p.Files, fn.RenderedFolder)) }

// Ignored returns the test for the files that a render passes over.
func (p Package) Ignored() func(name string) bool { return p.memory().Ignored() }

// memory is the package as a folder that is on no disk.
func (p Package) memory() folder.Memory {
	m := make(folder.Memory, len(p.Files))
	for name, data := range p.Files {
		m[name] = &document.Source{Name: path.Join(p.Dir, name), Data: data}
	}
	return m
}

// With is the package with other contents of some files; nil removes one.
func (p Package) With(changes map[string][]byte) Package {
	p.Files = maps.Clone(p.Files)
	for name, data := range changes {
		if data == nil {
			delete(p.Files, name)
		} else {
			p.Files[name] = data
		}
	}
	return p
}

// Made reports whether a file of a package is inventory or output, and no spec.
func Made(name string) bool {
	return strings.HasPrefix(name, fn.RenderedFolder+"/") || path.Dir(name) == inventory.Folder
}

// On is the package with the output and the inventory of other files, on which its specs are rendered.
func (p Package) On(files map[string][]byte) Package {
	p.Files = maps.Clone(p.Files)
	maps.DeleteFunc(p.Files, func(name string, _ []byte) bool { return Made(name) })
	for name, data := range files {
		if Made(name) {
			p.Files[name] = data
		}
	}
	return p
}

// Facts are a snapshot, as poolwright inventory writes it.
type Facts struct {
	Files   map[string][]byte // by name in the folder: nodes.yaml
	Digest  string
	Cluster string // whose they are, "" if that is not known
	Missing string // what they note of missing nodes, for the next snapshot
}

// NewFacts writes the files of a snapshot.
func NewFacts(s *snapshot.Snapshot, format snapshot.Format) (Facts, error) {
	f := Facts{Files: make(map[string][]byte, len(s.Kinds)), Cluster: s.Cluster(), Missing: s.Missing()}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		var text bytes.Buffer
		if err := k.Write(&text, format); err != nil {
			return Facts{}, err
		}
		f.Files[k.File()+"."+string(format)] = text.Bytes()
	}
	f.Digest = Digest(f.Files)
	return f, nil
}

// Digest is what sha256sum says of the list that sha256sum prints of the files, in the order of their
// paths as bytes: sha256:<64 hex>.
func Digest(files map[string][]byte) string {
	list := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return "sha256:" + hex.EncodeToString(list.Sum(nil))
}

// below are the files of a folder, by path in it.
func below(files map[string][]byte, dir string) map[string][]byte {
	found := map[string][]byte{}
	for name, data := range files {
		if rel, inside := strings.CutPrefix(name, dir+"/"); inside {
			found[rel] = data
		}
	}
	return found
}
