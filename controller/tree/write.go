package tree

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// Write writes the tree in which files of a folder have other contents, by path in the folder; nil removes
// one. A file keeps its mode, and everything else its place.
func Write(s storer.EncodedObjectStorer, root plumbing.Hash, dir string, changes map[string][]byte) (plumbing.Hash, error) {
	whole := make(map[string][]byte, len(changes))
	for name, data := range changes {
		if dir != "" {
			name = dir + "/" + name
		}
		whole[name] = data
	}
	hash, err := write(s, root, whole)
	if err == nil && hash.IsZero() {
		hash, err = store(s, &object.Tree{})
	}
	return hash, err
}

// write writes one tree, and those below it. The tree is zero where nothing is left in it.
func write(s storer.EncodedObjectStorer, old plumbing.Hash, changes map[string][]byte) (plumbing.Hash, error) {
	tree := &object.Tree{}
	if !old.IsZero() {
		before, err := object.GetTree(s, old)
		if err != nil {
			return old, err
		}
		tree.Entries = slices.Clone(before.Entries)
	}
	folders := map[string]map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if folder, rest, below := strings.Cut(name, "/"); below {
			if folders[folder] == nil {
				folders[folder] = map[string][]byte{}
			}
			folders[folder][rest] = changes[name]
			continue
		}
		if err := set(tree, name, filemode.Regular, func(plumbing.Hash) (plumbing.Hash, error) { return writeBlob(s, changes[name]) }); err != nil {
			return old, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if err := set(tree, name, filemode.Dir, func(old plumbing.Hash) (plumbing.Hash, error) { return write(s, old, folders[name]) }); err != nil {
			return old, err
		}
	}
	if len(tree.Entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	// A folder is sorted as if its name ended with a slash.
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return store(s, tree)
}

// set gives an entry of a tree another content, which is made of the old one; zero removes it.
func set(tree *object.Tree, name string, mode filemode.FileMode, made func(old plumbing.Hash) (plumbing.Hash, error)) error {
	i := slices.IndexFunc(tree.Entries, func(e object.TreeEntry) bool { return e.Name == name })
	e := object.TreeEntry{Name: name, Mode: mode}
	if i >= 0 {
		e = tree.Entries[i]
	}
	if (e.Mode == filemode.Dir) != (mode == filemode.Dir) || refused(e.Mode) != "" {
		return &RefusedError{name, "is in the way of what is rendered; move it out of the folder"}
	}
	hash, err := made(e.Hash)
	if err != nil {
		return err
	}
	e.Hash = hash
	switch {
	case hash.IsZero() && i >= 0:
		tree.Entries = slices.Delete(tree.Entries, i, i+1)
	case hash.IsZero():
	case i >= 0:
		tree.Entries[i] = e
	default:
		tree.Entries = append(tree.Entries, e)
	}
	return nil
}

func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// writeBlob stores a content; zero for nil.
func writeBlob(s storer.EncodedObjectStorer, data []byte) (plumbing.Hash, error) {
	if data == nil {
		return plumbing.ZeroHash, nil
	}
	o := s.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return plumbing.ZeroHash, err
	}
	return storeOnce(s, o)
}

func store(s storer.EncodedObjectStorer, object interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	o := s.NewEncodedObject()
	if err := object.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return storeOnce(s, o)
}

// storeOnce stores what is not there yet: a second copy would stay until the next git gc.
func storeOnce(s storer.EncodedObjectStorer, o plumbing.EncodedObject) (plumbing.Hash, error) {
	if s.HasEncodedObject(o.Hash()) == nil {
		return o.Hash(), nil
	}
	return s.SetEncodedObject(o)
}

// Author is who makes a commit.
type Author struct{ Name, Email string }

// Commit is a commit to be made.
type Commit struct {
	Tree, Parent plumbing.Hash
	Author       Author
	Time         time.Time
	Message      string
	Key          Key // that signs it; nil for none
}

// Key signs what git hashes of a commit, and gives the header gpgsig.
type Key interface {
	Sign(commit []byte) (string, error)
}

// Write stores the commit.
func (c Commit) Write(s storer.EncodedObjectStorer) (plumbing.Hash, error) {
	who := object.Signature{Name: c.Author.Name, Email: c.Author.Email, When: c.Time}
	made := &object.Commit{Author: who, Committer: who, Message: c.Message, TreeHash: c.Tree, ParentHashes: []plumbing.Hash{c.Parent}}
	if c.Key != nil {
		if err := sign(made, c.Key); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("the commit cannot be signed: %w", err)
		}
	}
	return store(s, made)
}

func sign(c *object.Commit, key Key) error {
	o := &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(o); err != nil {
		return err
	}
	in, err := o.Reader()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	c.PGPSignature, err = key.Sign(text)
	return err
}
