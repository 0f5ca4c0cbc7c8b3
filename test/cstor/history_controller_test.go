package cstor

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/finding"
)

// TestControlledHistories runs histories twice: once a person takes the inventory, renders and commits,
// and once the controller does, to a branch in which people edit the specs, put commits back and allow removals. At
// rest both have the same output and the same cluster. make histories-controller runs a thousand.
func TestControlledHistories(t *testing.T) {
	t.Parallel()
	count := *histories
	if isDefault := flag.Lookup("histories"); isDefault.Value.String() == isDefault.DefValue {
		count = (count + 1) / 2 // each is two
	}
	seeds := make(chan uint64)
	var workers sync.WaitGroup
	var lock sync.Mutex
	var seen tally
	commits := 0
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				person, err := live(withPerson, seed, events(seed, *length))
				if err != nil {
					t.Errorf("-first=%d -histories=1: with a person: %v", seed, err)
					continue
				}
				controlled, err := live(withController, seed, events(seed, *length))
				if err == nil {
					err = sameEnd(person, controlled)
				}
				if err != nil {
					t.Errorf("-first=%d -histories=1: with the controller: %v\n\n%s", seed, err, controlled.story())
				}
				lock.Lock()
				seen.add(controlled.tally)
				commits += controlled.branch.commits
				lock.Unlock()
			}
		})
	}
	for i := range uint64(count) {
		seeds <- *first + i
	}
	close(seeds)
	workers.Wait()
	t.Logf("%+v, %d commits of the controller", seen, commits)
	if seen.Rested == 0 || commits == 0 {
		t.Error("the histories show nothing")
	}
}

// withPerson is a history whose snapshots are never old: the controller has no others.
func withPerson(seed uint64) *history {
	h := newHistory(seed)
	h.fresh = true
	return h
}

func withController(seed uint64) *history {
	h := withPerson(seed)
	h.branch = newBranch()
	return h
}

// sameEnd wants the same output and the same cluster.
func sameEnd(a, b *history) error {
	if a, b := sortedText(a.rendered), sortedText(b.rendered); a != b {
		return broken{"same-output", "the output differs from that with a person:\n" + difference(a, b)}
	}
	if a, b := a.cluster.String(), b.cluster.String(); a != b {
		return broken{"same-cluster", "the cluster differs from that with a person:\n" + difference(a, b)}
	}
	return nil
}

func sortedText(objects []*krm.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, string(o.Raw))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

func (h *history) judge(p hydration.Package, facts hydration.Facts) (*hydration.Judgement, error) {
	return hydration.Judge(context.Background(), h.function, hydration.InProcess{Function: h.function}, p, facts)
}

// branch is a branch with a package, in memory. The rest of the repository is one file.
type branch struct {
	storage *memory.Storage
	head    plumbing.Hash
	paths   map[krm.ID]string // the file of the output in which an object was last
	commits int               // of the controller
}

const packageDir = "clusters/prod"

func newBranch() *branch {
	b := &branch{storage: memory.NewStorage(), paths: map[krm.ID]string{}}
	empty, err := tree.Write(b.storage, plumbing.ZeroHash, "", map[string][]byte{"README.md": []byte("storage\n")})
	if err != nil {
		panic(err)
	}
	b.add(empty, "begin\n")
	return b
}

// add adds a commit.
func (b *branch) add(root plumbing.Hash, message string) {
	hash, err := tree.Commit{Tree: root, Parent: b.head, Author: tree.Author{Name: "A", Email: "a@example.com"}, Time: time.Unix(0, 0), Message: message}.Write(b.storage)
	if err != nil {
		panic(err)
	}
	b.head = hash
}

// change commits other contents of some files of the package.
func (b *branch) change(files map[string][]byte, message string) error {
	c, err := object.GetCommit(b.storage, b.head)
	if err != nil {
		return err
	}
	root, err := tree.Write(b.storage, c.TreeHash, packageDir, files)
	if err == nil {
		b.add(root, message)
	}
	return err
}

// read reads the package, and its output.
func (b *branch) read() (p hydration.Package, output []*krm.Object, err error) {
	c, err := object.GetCommit(b.storage, b.head)
	if err != nil {
		return p, nil, err
	}
	files, err := tree.Read(b.storage, c.TreeHash, packageDir, 0, hydration.Reads)
	if err != nil {
		return p, nil, err
	}
	p = hydration.Package{Files: files.Content, Digest: files.Hash.String(), Dir: packageDir}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		if strings.HasPrefix(name, "rendered/") && path.Ext(name) == ".yaml" {
			for _, o := range parse(p.Files[name]) {
				if b.paths[o.ID()] = name; o.Kind != "Kustomization" { // which is for engines
					output = append(output, o)
				}
			}
		}
	}
	return p, output, nil
}

// edit commits what people have in their work tree: specs, and an output in which they put objects back or edited
// them.
func (b *branch) edit(specs, output []*krm.Object) error {
	files := map[string][]byte{}
	for _, o := range specs {
		files["configs.yaml"] = fmt.Appendf(files["configs.yaml"], "---\n%s\n", o.Raw)
	}
	if len(specs) == 0 {
		files["configs.yaml"] = []byte("# there is none\n")
	}
	p, committed, err := b.read()
	if err != nil && b.commits > 0 {
		return err
	}
	if sortedText(committed) != sortedText(output) {
		for name := range p.Files {
			if strings.HasPrefix(name, "rendered/") {
				files[name] = nil
			}
		}
		for _, o := range output {
			name := b.paths[o.ID()]
			if files[name] != nil {
				files[name] = append(files[name], "---\n"...)
			}
			files[name] = append(files[name], o.Raw...)
		}
	}
	return b.change(files, "of a person\n")
}

// pass is one judgement of the controller, and the commit that comes of it.
func (b *branch) pass(h *history, taken *snapshot.Snapshot) error {
	p, _, err := b.read()
	if err != nil {
		return err
	}
	facts, err := hydration.NewFacts(taken, p.Format())
	if err != nil {
		return err
	}
	j, err := h.judge(p, facts)
	if err != nil {
		return broken{"refused", fmt.Sprintf("the facts of now are refused: %v", err)}
	}
	h.findings = j.Findings // where one is an error, nothing is published
	files := j.Publish(time.Time{}, time.Now(), 0)
	if len(files) == 0 {
		return nil
	}
	if err := b.change(files, j.Message()); err != nil {
		return err
	}
	b.commits++
	return b.green(h, facts, j)
}

// green holds on a commit of the controller that a render of nothing but the commit changes nothing, and that a
// second look at the facts does not.
func (b *branch) green(h *history, facts hydration.Facts, made *hydration.Judgement) error {
	p, _, err := b.read()
	if err != nil {
		return err
	}
	if p.Output() != made.Output {
		return broken{"digest", "the output is not that of the trailer"}
	}
	j, err := h.judge(p, facts)
	switch {
	case err != nil:
		return err
	case j.Failed():
		return broken{"green", fmt.Sprint("the commit has errors: ", finding.Sort(j.Findings)[0])}
	}
	for name, data := range j.Publish(time.Time{}, time.Now(), time.Nanosecond) {
		return broken{"green", fmt.Sprintf("to judge the commit again changes %s:\n%s", name, difference(string(p.Files[name]), string(data)))}
	}
	return nil
}
