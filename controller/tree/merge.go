package tree

import (
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// IsMerge reports whether a tree is what merging two others gives that come from one: each file is that
// of the side that changed it. A file that both have changed in different ways is no such one, even
// where git could merge its lines: a person may have written it. Nor is a tree with more than mostEntries differences.
func IsMerge(s storer.EncodedObjectStorer, from, ours, theirs, merged plumbing.Hash) (bool, error) {
	folder := func(h plumbing.Hash) object.TreeEntry { return object.TreeEntry{Mode: filemode.Dir, Hash: h} }
	left := mostEntries
	return isMerge(s, &left, folder(from), folder(ours), folder(theirs), folder(merged))
}

// isMerge compares entries of one name; one that is missing is zero. left is how many more may be compared.
func isMerge(s storer.EncodedObjectStorer, left *int, from, ours, theirs, merged object.TreeEntry) (bool, error) {
	switch {
	case ours == theirs, from == theirs:
		return merged == ours, nil
	case from == ours:
		return merged == theirs, nil
	}
	if *left--; *left < 0 {
		return false, nil
	}
	var entries [4]map[string]object.TreeEntry
	names := map[string]bool{}
	for i, e := range []object.TreeEntry{from, ours, theirs, merged} {
		switch {
		case e.Hash.IsZero():
			continue
		case e.Mode != filemode.Dir:
			return false, nil
		}
		tree, err := object.GetTree(s, e.Hash)
		if err != nil {
			return false, err
		}
		entries[i] = map[string]object.TreeEntry{}
		for _, e := range tree.Entries {
			names[e.Name] = true
			entries[i][e.Name] = object.TreeEntry{Mode: e.Mode, Hash: e.Hash}
		}
	}
	for name := range names {
		if ok, err := isMerge(s, left, entries[0][name], entries[1][name], entries[2][name], entries[3][name]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
