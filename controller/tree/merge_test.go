package tree

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// folderOf is a tree: a string is a file, a map a folder.
func folderOf(t *testing.T, s *memory.Storage, files map[string]any) plumbing.Hash {
	t.Helper()
	tree := &object.Tree{}
	for _, name := range []string{"a", "b", "c"} {
		e := object.TreeEntry{Name: name}
		switch v := files[name].(type) {
		case nil:
			continue
		case string:
			e.Mode = 0o100644
			o := s.NewEncodedObject()
			o.SetType(plumbing.BlobObject)
			w, err := o.Writer()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(v)); err != nil {
				t.Fatal(err)
			}
			if e.Hash, err = s.SetEncodedObject(o); err != nil {
				t.Fatal(err)
			}
		case map[string]any:
			e.Mode = 0o40000
			e.Hash = folderOf(t, s, v)
		}
		tree.Entries = append(tree.Entries, e)
	}
	o := s.NewEncodedObject()
	if err := tree.Encode(o); err != nil {
		t.Fatal(err)
	}
	hash, err := s.SetEncodedObject(o)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestIsMerge: a merge has each file of the side that changed it, and nothing else.
func TestIsMerge(t *testing.T) {
	type files = map[string]any
	in := func(v any) files { return files{"a": "same", "b": files{"c": v}} }
	for _, c := range []struct {
		name                       string
		from, ours, theirs, merged files
		want                       bool
	}{
		{"theirs alone", in("1"), in("1"), in("2"), in("2"), true},
		{"ours alone", in("1"), in("2"), in("1"), in("2"), true},
		{"ours alone, and dropped", in("1"), in("2"), in("1"), in("1"), false},
		{"both the same", in("1"), in("2"), in("2"), in("2"), true},
		{"both", files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"a": "1", "b": "2"}, files{"a": "2", "b": "2"}, true},
		{"both, and one more", files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"a": "1", "b": "2"}, files{"a": "2", "b": "2", "c": "3"}, false},
		{"both in one file", in("1"), in("2"), in("3"), in("23"), false},
		{"both in one file, and one chosen", in("1"), in("2"), in("3"), in("3"), false},
		{"removed", files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"a": "1"}, files{"a": "2"}, true},
		{"removed, and kept", files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"a": "1"}, files{"a": "2", "b": "1"}, false},
		{"added", files{"a": "1"}, files{"a": "2"}, files{"a": "1", "b": files{"a": "1"}}, files{"a": "2", "b": files{"a": "1"}}, true},
		{"two folders added", files{}, files{"b": files{"a": "1"}}, files{"b": files{"c": "1"}}, files{"b": files{"a": "1", "c": "1"}}, true},
		{"a file in place of a folder", in("1"), in("2"), files{"a": "same", "b": "1"}, files{"a": "same", "b": "1"}, false},
	} {
		s := memory.NewStorage()
		got, err := IsMerge(s, folderOf(t, s, c.from), folderOf(t, s, c.ours), folderOf(t, s, c.theirs), folderOf(t, s, c.merged))
		if err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
