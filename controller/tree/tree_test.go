package tree

import (
	"bytes"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
	"pgregory.net/rapid"
)

func all(string) bool { return true }

// TestWrite: a tree has what was written into it, in the order of git, and the rest of it stays.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := memory.NewStorage()
		outside := map[string][]byte{"other.txt": []byte("o"), "pkg.txt": []byte("p"), "pkg-2/x": []byte("x")}
		root, err := Write(s, plumbing.ZeroHash, "", outside)
		if err != nil {
			t.Fatal(err)
		}
		// No name is a file here and a folder there.
		names := rapid.SampledFrom([]string{"a.yaml", "a/b.yaml", "a/b-c.yaml", "a.b/c.yaml", "a0.yaml", "a/d/e.yaml", "rendered/x/y.yaml"})
		have := map[string][]byte{}
		for range rapid.IntRange(1, 5).Draw(t, "writes") {
			changes := rapid.MapOfN(names, rapid.SliceOfN(rapid.Byte(), 0, 3), 0, 4).Draw(t, "changes")
			for name, data := range changes {
				if len(data) == 0 {
					changes[name] = nil
					delete(have, name)
				} else {
					have[name] = data
				}
			}
			if root, err = Write(s, root, "pkg", changes); err != nil {
				t.Fatal(err)
			}
		}
		checkOrder(t, s, root)
		whole, err := Read(s, root, "", 0, all)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(outside)
		for name, data := range have {
			want[path.Join("pkg", name)] = data
		}
		if !maps.EqualFunc(whole.Content, want, bytes.Equal) {
			t.Fatalf("the tree has %q, want %q", whole.Content, want)
		}
		if len(have) == 0 {
			return // git keeps no empty folder
		}
		part, err := Read(s, root, "pkg", 0, func(name string) bool { return strings.HasPrefix(name, "a/") })
		if err != nil {
			t.Fatal(err)
		}
		for name := range part.Content {
			if !strings.HasPrefix(name, "a/") {
				t.Fatalf("%s was read", name)
			}
		}
	})
}

func checkOrder(t *rapid.T, s *memory.Storage, hash plumbing.Hash) {
	tree, err := object.GetTree(s, hash)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) }) {
		t.Fatalf("a tree is not in order: %v", tree.Entries)
	}
	for _, e := range tree.Entries {
		if e.Mode == filemode.Dir {
			checkOrder(t, s, e.Hash)
		}
	}
}

// TestRefused: what is no file is named, in the package and on the way to it.
func TestRefused(t *testing.T) {
	s := memory.NewStorage()
	blob, err := writeBlob(s, []byte("target"))
	if err != nil {
		t.Fatal(err)
	}
	folder := func(entries ...object.TreeEntry) plumbing.Hash {
		hash, err := store(s, &object.Tree{Entries: entries})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	file := object.TreeEntry{Name: "f", Mode: filemode.Executable, Hash: blob}
	link := object.TreeEntry{Name: "link", Mode: filemode.Symlink, Hash: blob}
	module := object.TreeEntry{Name: "module", Mode: filemode.Submodule, Hash: blob}
	inside := folder(file, object.TreeEntry{Name: "sub", Mode: filemode.Dir, Hash: folder(link)})
	root := folder(file, link, module, object.TreeEntry{Name: "pkg", Mode: filemode.Dir, Hash: inside}, object.TreeEntry{Name: "sound", Mode: filemode.Dir, Hash: folder(file)})
	for _, c := range []struct {
		dir  string
		most int64
		want string
	}{
		{"pkg", 0, "pkg/sub/link is a symbolic link; commit a copy of what it leads to"},
		{"link/pkg", 0, "link is a symbolic link; commit a copy of what it leads to"},
		{"module", 0, "module is a submodule; commit the files themselves"},
		{"absent/pkg", 0, "absent is not in the commit; commit the package first"},
		{"f", 0, "f is not a folder in the commit"},
		{"sound", 5, "sound/f makes the package larger than is read; move what is no input out of it"},
		{"sound", 6, ""},
	} {
		_, err := Read(s, root, c.dir, c.most, all)
		if refused := new(RefusedError); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.dir, err, c.want)
		}
	}
	if _, err := Write(s, root, "", map[string][]byte{"link": []byte("x")}); err == nil || err.Error() != "link is in the way of what is rendered; move it out of the folder" {
		t.Errorf("a link is replaced: %v", err)
	}
	// A file keeps its mode.
	changed, err := Write(s, root, "sound", map[string][]byte{"f": []byte("other")})
	if err != nil {
		t.Fatal(err)
	}
	sound, err := Find(s, changed, "sound")
	if err != nil {
		t.Fatal(err)
	}
	if tree, err := object.GetTree(s, sound); err != nil || tree.Entries[0].Mode != filemode.Executable {
		t.Errorf("%v %v", tree, err)
	}
}

// TestBombs: a few small trees that have each other many times end with a refusal, and so does a chain of them.
func TestBombs(t *testing.T) {
	s := memory.NewStorage()
	blob, err := writeBlob(s, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	nest := func(e object.TreeEntry, width, depth int) plumbing.Hash {
		t.Helper()
		for range depth {
			tree := &object.Tree{}
			for i := range width {
				tree.Entries = append(tree.Entries, object.TreeEntry{Name: string(rune('a' + i)), Mode: e.Mode, Hash: e.Hash})
			}
			hash, err := store(s, tree)
			if err != nil {
				t.Fatal(err)
			}
			e = object.TreeEntry{Mode: filemode.Dir, Hash: hash}
		}
		return e.Hash
	}
	file := object.TreeEntry{Mode: filemode.Regular, Hash: blob}
	for _, c := range []struct {
		name         string
		width, depth int
		want         string
	}{
		{"wide", 10, 30, strings.Repeat("a/", 25) + "i/j/j/h/i is one file or folder more than is read (100000); move what is no input out of the package"},
		{"deep", 1, 66, strings.Repeat("/a", 65)[1:] + " is deeper than is read (64 folders); move it out of the package"},
		{"not too deep", 1, 65, ""},
	} {
		_, err := Read(s, nest(file, c.width, c.depth), "", 0, all)
		if refused := new(RefusedError); c.want == "" && err != nil || c.want != "" && (!errors.As(err, &refused) || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// Four such trees are compared with an end, too: each side has changed another file of the innermost folder.
	var sides [4]plumbing.Hash
	for i := range sides {
		inner, err := Write(s, plumbing.ZeroHash, "", map[string][]byte{"a": {byte(i & 1)}, "b": {byte(i & 2)}})
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = nest(object.TreeEntry{Mode: filemode.Dir, Hash: inner}, 10, 12)
	}
	if is, err := IsMerge(s, sides[0], sides[1], sides[2], sides[3]); is || err != nil {
		t.Errorf("merged: %v %v", is, err)
	}
}
