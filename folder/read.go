package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// reader collects objects and findings over all files of one run.
type reader struct {
	objects  []*krm.Object
	findings []finding.Finding
	unread   []unread
	limit    int64             // larger files, in bytes, are passed over; 0 for none
	packed   bool              // files that the user named may be packed with gzip
	output   bool              // what is read was rendered: no file of that is empty
	onFile   func(name string) // called after each file, for tests; nil for none
}

func (r *reader) fail(pos document.Position, format string, args ...any) {
	r.findings = append(r.findings, finding.Finding{
		Severity: finding.Error,
		Pos:      pos,
		Message:  fmt.Sprintf(format, args...),
		Rule:     "read",
	})
}

func at(name string) document.Position { return document.Position{File: name} }

// tree reads every YAML and JSON file below dir, in sorted order, without what
// is hidden, ignored or below one of the folders to skip.
func (r *reader) tree(dir string, skip ...string) { r.treeAs(dir, dir, skip...) }

// treeAs is tree for a folder that messages call by another name.
func (r *reader) treeAs(dir, name string, skip ...string) {
	root, err := realPath(dir)
	if err != nil {
		r.fail(at(name), "cannot be read: %v", cause(err))
		return
	}
	for i, s := range skip {
		if s != "" {
			skip[i], _ = realPath(s)
		}
	}
	w := walk{reader: r, dir: name, root: root, skip: skip}
	if filepath.Base(root) == inventory.Folder || filepath.Base(root) == fn.RenderedFolder {
		r.asOne(root, name, func() { w.folder(".") })
		return
	}
	w.folder(".")
}

// walk is one pass over a tree.
type walk struct {
	*reader
	dir    string   // as messages call it
	root   string   // the same without links
	skip   []string // folders not to enter, without links
	ignore ignores
}

func (w *walk) name(rel string) string { return filepath.Join(w.dir, rel) }

func (w *walk) folder(rel string) {
	entries, err := os.ReadDir(filepath.Join(w.root, rel))
	if err != nil {
		w.fail(at(w.name(rel)), "the folder cannot be read: %v", cause(err))
		return
	}
	ignored, err := w.ignore.enter(filepath.Join(w.root, rel))
	if err != nil {
		w.fail(at(w.name(filepath.Join(rel, ignoreFile))), "cannot be read: %v", cause(err))
	}
	defer w.ignore.leave()
	patches := w.patches(rel, entries)
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(rel, name)
		if strings.HasPrefix(name, ".") || ignored(filepath.Join(w.root, path), e.IsDir()) {
			continue
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			w.link(path)
		case e.IsDir():
			if slices.Contains(w.skip, filepath.Join(w.root, path)) {
				continue
			}
			if name == inventory.Folder {
				w.asOne(filepath.Join(w.root, path), w.name(path), func() { w.folder(path) })
				continue
			}
			w.folder(path)
		case !isManifest(name):
			if why := whyUnread(path); why != "" {
				w.unread = append(w.unread, unread{w.name(path), why})
			}
		case patches[path]:
		case !e.Type().IsRegular():
			w.fail(at(w.name(path)), "not a regular file; only files and folders are read")
		default:
			w.read(path)
		}
	}
}

// link follows a symbolic link only where its target would not be read anyway:
// inside the package, behind a hidden folder, as Kubernetes mounts a ConfigMap.
func (w *walk) link(rel string) {
	target, err := filepath.EvalSymlinks(filepath.Join(w.root, rel))
	if err != nil {
		if isManifest(rel) {
			w.fail(at(w.name(rel)), "the link leads nowhere: %v; remove it, or put back what it leads to", cause(err))
		}
		return
	}
	info, err := os.Stat(target)
	isDir := err == nil && info.IsDir()
	if !isDir && !isManifest(rel) {
		return
	}
	if !within(w.root, target) {
		w.fail(at(w.name(rel)), "the link leads out of the package, to %s; it is not followed: put a copy into the package", target)
		return
	}
	inside, _ := filepath.Rel(w.root, target)
	if !isDir && hidden(inside) {
		w.read(rel)
	}
}

func (w *walk) read(rel string) {
	w.fileAs(filepath.Join(w.root, rel), w.name(rel), filepath.ToSlash(rel))
}

// file reads one file that the user named.
func (r *reader) file(name, path string) { r.fileAs(name, name, path) }

func (r *reader) fileAs(file, name, path string) {
	if isKustomizationFile(file) {
		return
	}
	info, err := os.Stat(file)
	if err == nil && r.limit > 0 && info.Size() > r.limit {
		return
	}
	if err == nil && info.Size() > math.MaxInt32 {
		r.fail(at(name), "the file has %d bytes; the most that is read is 2 GiB: split it", info.Size())
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		r.fail(at(name), "cannot be read: %v", cause(err))
		return
	}
	r.text(name, data, path)
	if r.onFile != nil {
		r.onFile(name)
	}
}

// stream reads the documents of the standard input.
func (r *reader) stream(in io.Reader) {
	data, err := readAtMost(in, mostStream)
	if err != nil {
		r.fail(at("stdin"), "cannot be read: %v", err)
		return
	}
	r.text("stdin", data, "")
}

// text reads the documents of a text, which may be packed.
func (r *reader) text(name string, data []byte, path string) {
	if r.packed {
		text, err := unpacked(data, mostStream)
		if err != nil {
			r.fail(at(name), "cannot be read: %v", err)
			return
		}
		data = text
	}
	r.source(&document.Source{Name: name, Data: data}, path)
}

// ReadInput reads a stream to its end. Of a file, which has a size, it needs no more
// memory than that.
func ReadInput(in io.Reader) ([]byte, error) {
	var text bytes.Buffer
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() < math.MaxInt32 {
			text.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := text.ReadFrom(in)
	return text.Bytes(), err
}

// source turns the documents of one file into objects.
func (r *reader) source(src *document.Source, path string) {
	docs, err := document.Parse(src)
	if err != nil {
		var se *document.SyntaxError
		if errors.As(err, &se) {
			r.fail(se.Pos, "%s", se.Msg)
		} else {
			r.fail(at(src.Name), "%v", err)
		}
		return
	}
	if r.output && len(docs) == 0 {
		r.fail(at(src.Name), "%s", emptied)
		return
	}
	for i := range docs {
		d := &docs[i]
		object, err := isObject(&d.Node)
		if err != nil {
			r.fail(src.Position(d.Node.Off), "%v", err)
			continue
		}
		if !object {
			if r.output && !ofTool(&d.Node) {
				r.fail(src.Position(d.Node.Off), "is no Kubernetes object, and no render writes anything else: restore the file from Git")
			}
			continue
		}
		o := krm.NewObject(src, &d.Node)
		if o.Raw = src.Data[d.Start:d.End:d.End]; !bytes.HasSuffix(o.Raw, []byte("\n")) {
			o.Raw = append(o.Raw, '\n')
		}
		o.Path, o.Index = path, i
		r.objects = append(r.objects, o)
	}
}

// isObject distinguishes objects from the other documents that lie in a package: the
// files of kustomize and kpt, patches, and plain data such as Helm values. What
// looks like an object with a mistake in it is an error.
func isObject(n *document.Node) (bool, error) {
	switch n.Kind() {
	case document.Map:
	case document.Seq:
		if isJSONPatch(n) {
			return false, nil
		}
		return false, errors.New("not a Kubernetes object, but a list; write one object a document, separated by ---")
	default:
		return false, errors.New("not a Kubernetes object, but plain text; an object has apiVersion, kind and metadata")
	}
	apiVersion, kind := n.Str("apiVersion"), n.Str("kind")
	switch {
	case apiVersion != "" && kind != "":
		return !ofTool(n), nil
	case apiVersion != "" || n.Get("apiVersion") != nil:
		return false, errors.New("not a Kubernetes object: it has an apiVersion but no kind")
	case kind != "" || n.Get("kind") != nil:
		return false, lacksVersion(kind)
	case n.Get("metadata") != nil || n.Get("spec") != nil:
		return false, errors.New("not a Kubernetes object: it has neither apiVersion nor kind")
	}
	return false, nil
}

// lacksVersion is the error of an object without an apiVersion. Of a spec the line to write is known.
func lacksVersion(kind string) error {
	const text = "not a Kubernetes object: it has a kind but no apiVersion"
	for _, k := range system.NewKinds(systems.All()...).In(system.RoleSpec) {
		if k.Kind == kind {
			return fmt.Errorf("%s; write apiVersion: %s", text, k.APIVersion())
		}
	}
	return errors.New(text)
}

// ofTool reports whether a document is for kustomize or kpt.
func ofTool(n *document.Node) bool {
	group, _, _ := strings.Cut(n.Str("apiVersion"), "/")
	return group == "kustomize.config.k8s.io" || group == "kpt.dev"
}

func isJSONPatch(n *document.Node) bool {
	for i := range n.Items() {
		if n.Items()[i].Get("op") == nil {
			return false
		}
	}
	return len(n.Items()) > 0
}

func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// hidden reports whether any part of a path starts with a dot.
func hidden(rel string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(s string) bool {
		return strings.HasPrefix(s, ".")
	})
}
