package worktree

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// FuzzIndex: whatever is read as an index is written so that it is read as the same.
func FuzzIndex(f *testing.F) {
	x := &index{}
	for _, name := range []string{"b", "a", "a/b", "c/with-a-longer-name"} {
		x.set(name, plumbing.NewHash("1234567890123456789012345678901234567890"))
	}
	f.Add(x.bytes())
	if data := indexOfGit(f); data != nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		again, err := parseIndex(x.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.bytes(), x.bytes()) || len(again.entries) != len(x.entries) {
			t.Fatalf("%+v became %+v", x, again)
		}
	})
}

// indexOfGit is an index of version 4, as git writes it, nil without git.
func indexOfGit(f *testing.F) []byte {
	dir := f.TempDir()
	script := "git init -q . && mkdir d && touch a d/b d/bc && git add -A && git update-index --index-version 4 --assume-unchanged a"
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	if cmd.Run() != nil {
		return nil
	}
	data, err := os.ReadFile(dir + "/.git/index")
	if err != nil {
		return nil
	}
	return data
}

// TestIndexRefused: what cannot be kept is refused, with what to do.
func TestIndexRefused(t *testing.T) {
	sound := (&index{}).bytes()
	with := func(name string) []byte {
		x := &index{kept: append([]byte(name), 0, 0, 0, 0)}
		return x.bytes()
	}
	version := bytes.Clone(sound)
	version[7] = 9
	for i := len(version) - 20; i < len(version); i++ {
		version[i] = 0
	}
	for want, data := range map[string][]byte{
		"is damaged; rebuild it with git reset":                                                         sound[:20],
		"is split, which is not supported; run git update-index --no-split-index":                       with("link"),
		"is sparse, which is not supported; run git sparse-checkout reapply --no-sparse-index":          with("sdir"),
		`has the extension "what", which is not known`:                                                  with("what"),
		"has the version 9, which is not known; write it again with git update-index --index-version 2": version,
	} {
		if _, err := parseIndex(data); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if x, err := parseIndex(with("TREE")); err != nil || len(x.kept) > 0 {
		t.Errorf("a cache is kept: %v", err)
	}
	if x, err := parseIndex(with("REUC")); err != nil || len(x.kept) == 0 {
		t.Errorf("resolved conflicts are dropped: %v", err)
	}
}
