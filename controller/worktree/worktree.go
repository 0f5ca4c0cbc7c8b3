// Package worktree is a Git work tree on a disk, to which the controller commits as a person would: the
// branch moves by compare-and-swap, what is staged stays staged, and files that a person has changed are
// not touched. Whatever kills it, the work tree is as before, or the next Open makes it whole.
//
// go-git has the objects. References, the index and locks are handled here, in the way of git itself:
// go-git does not take git's locks, and its index loses flags that a person has set.
package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/folder"
)

// WorkTree is a package in a work tree.
type WorkTree struct {
	Dir  string // the folder of the package, as a person calls it
	Path string // the same in the repository, with slashes; "" for the whole

	root    string // of the work tree
	git     string // its own folder: HEAD, index
	common  string // that of all work trees of the repository: objects, references
	outside error  // why there is no work tree, nil if there is
	lock    *os.File
	storage *filesystem.Storage
}

func usage(format string, args ...any) error {
	return &folder.UsageError{Msg: fmt.Sprintf(format, args...)}
}

// Open opens the work tree around a folder, and keeps others from committing to it with this package until
// Close. What an earlier one that was killed has left is made whole. The error is a *folder.UsageError where
// there is no work tree, or nothing can be committed to it in the state that it is in.
func Open(dir string) (*WorkTree, error) {
	w, err := Inspect(dir)
	if err != nil {
		return nil, err
	}
	if err := w.Writable(); err != nil {
		return nil, err
	}
	if err := w.exclude(); err != nil {
		return nil, err
	}
	if err := w.Repair(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close lets others commit.
func (w *WorkTree) Close() {
	_ = w.lock.Close() // which gives up the lock
}

// find finds the repository around a folder.
func (w *WorkTree) find(dir string) error {
	for w.root = dir; ; w.root = filepath.Dir(w.root) {
		dot := filepath.Join(w.root, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir():
			w.git, w.common = dot, dot
		case err == nil:
			if w.git, err = pointer(dot, "gitdir: "); err != nil {
				return usage("%s: %v", dot, err)
			}
			if w.common, err = pointer(filepath.Join(w.git, "commondir"), ""); errors.Is(err, fs.ErrNotExist) {
				w.common = w.git
			} else if err != nil {
				return usage("%s: %v", w.git, err)
			}
		case filepath.Dir(w.root) != w.root:
			continue
		}
		break
	}
	if w.git == "" || !isFile(filepath.Join(w.git, "HEAD")) {
		return usage("%s is not in a Git work tree; run git init, or name a folder of a clone", w.Dir)
	}
	w.storage = filesystem.NewStorage(dotgit.NewRepositoryFilesystem(osfs.New(w.git), osfs.New(w.common)), cache.NewObjectLRUDefault())
	return nil
}

// pointer is the folder that a file of Git names.
func pointer(file, prefix string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	name, found := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !found {
		return "", fmt.Errorf("does not begin with %q", prefix)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	return name, nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// check refuses a repository that is not read here, and a state in which a commit would be part of
// something else.
func (w *WorkTree) check() error {
	c, err := w.storage.Config()
	if err != nil {
		return usage("%s: the configuration of the repository cannot be read: %v", w.Dir, err)
	}
	for _, o := range c.Raw.Section("extensions").Options {
		switch key := strings.ToLower(o.Key); {
		case key == "noop", key == "worktreeconfig", key == "partialclone", key == "preciousobjects", key == "relativeworktrees":
		case key == "objectformat" && o.Value == "sha1", key == "refstorage" && o.Value == "files":
		default:
			return usage("%s: the repository has the extension %s = %s, which is not supported; use a clone in the default format", w.Dir, o.Key, o.Value)
		}
	}
	return w.UnderWay()
}

// UnderWay is the error where a person is in the middle of a merge or the like.
func (w *WorkTree) UnderWay() error {
	for _, state := range []struct{ file, what, remedy string }{
		{"MERGE_HEAD", "a merge", "git merge --continue or --abort"},
		{"rebase-merge", "a rebase", "git rebase --continue or --abort"},
		{"rebase-apply", "a rebase", "git rebase --continue or --abort, or git am"},
		{"CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue or --abort"},
		{"REVERT_HEAD", "a revert", "git revert --continue or --abort"},
		{"BISECT_LOG", "a bisection", "git bisect reset"},
	} {
		if _, err := os.Lstat(filepath.Join(w.git, state.file)); err == nil {
			return usage("%s: %s is under way in the work tree; finish it first, with %s", w.Dir, state.what, state.remedy)
		}
	}
	return nil
}

// Tree is the tree of the package in a commit.
func (w *WorkTree) Tree(commit plumbing.Hash) (plumbing.Hash, error) {
	c, err := object.GetCommit(w.storage, commit)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("commit %s: %w", commit, err)
	}
	return tree.Find(w.storage, c.TreeHash, w.Path)
}

// mostRead is how many bytes of a package are judged at most, as --max-source has it by default.
const mostRead = 256 << 20

// Package reads the files of a package, given its tree, for which want holds.
func (w *WorkTree) Package(root plumbing.Hash, want func(string) bool) (map[string][]byte, error) {
	return w.read(root, mostRead, want)
}

func (w *WorkTree) read(root plumbing.Hash, most int64, want func(string) bool) (map[string][]byte, error) {
	files, err := tree.Read(w.storage, root, "", most, want)
	if refused := new(tree.RefusedError); errors.As(err, &refused) {
		refused.Path = path.Join(w.Path, refused.Path)
	}
	return files.Content, err
}

// inCommit reads all files of the package in a commit.
func (w *WorkTree) inCommit(commit plumbing.Hash) (map[string][]byte, error) {
	root, err := w.Tree(commit)
	if err != nil {
		return nil, err
	}
	return w.read(root, 0, func(string) bool { return true }) // a large file beside the inputs keeps no commit from being finished
}

// Author is who makes commits: user.name and user.email of the repository, of the user, or of the system;
// of what is not set, the default.
func (w *WorkTree) Author(fallback tree.Author) tree.Author {
	a := fallback
	system, errSystem := config.LoadConfig(config.SystemScope)
	global, errGlobal := config.LoadConfig(config.GlobalScope)
	if name, set := os.LookupEnv("GIT_CONFIG_GLOBAL"); set {
		global, errGlobal = readConfig(name)
	}
	local, errLocal := w.storage.Config()
	for _, c := range []struct {
		*config.Config
		err error
	}{{system, errSystem}, {global, errGlobal}, {local, errLocal}} {
		if c.err != nil {
			continue
		}
		if c.User.Name != "" {
			a.Name = c.User.Name
		}
		if c.User.Email != "" {
			a.Email = c.User.Email
		}
	}
	return a
}

func readConfig(name string) (*config.Config, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return config.ReadConfig(f)
}
