// Package story lets a script live through what happens to a cluster: its command cstor
// plays the operators of cStor, and the script runs the product between their steps. After
// each command it holds what must always be so: the watch of the cluster.
package story

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/poolwright/poolwright/test/cstor"
)

// Step is what a script applies at once.
type Step struct {
	Story     string   // the name of the script
	Manifests [][]byte // YAML documents, in their order
	Volumes   [][]byte // the CStorVolumeConfigs that live before
}

type clusterKey struct{}

// Setup gives a script an empty cluster.
func Setup(env *testscript.Env) error {
	env.Values[clusterKey{}] = cstor.New(1)
	return nil
}

// Commands are the commands of a script: cstor VERB ARG... applied is called with each step,
// and may be nil.
func Commands(applied func(Step)) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"cstor": func(ts *testscript.TestScript, neg bool, args []string) {
			s := scene{ts, ts.Value(clusterKey{}).(*cstor.Cluster), applied}
			if len(args) == 0 || verbs()[args[0]] == nil {
				ts.Fatalf("usage: cstor %s", strings.Join(slices.Sorted(maps.Keys(verbs())), "|"))
			}
			err := verbs()[args[0]](s, args[1:])
			switch {
			case err != nil && !neg:
				ts.Fatalf("%s: %v", args[0], err)
			case err == nil && neg:
				ts.Fatalf("%s: this should have failed", args[0])
			case err != nil:
				fmt.Fprintln(ts.Stderr(), err)
			}
			ts.Check(s.cluster.Watch.Err())
		},
	}
}

// scene is where a command happens.
type scene struct {
	ts      *testscript.TestScript
	cluster *cstor.Cluster
	applied func(Step)
}

// inventory takes a snapshot of the cluster into a package.
func (s scene) inventory(dir string) error {
	dump := s.ts.MkAbs(".dump.yaml")
	if err := os.WriteFile(dump, s.cluster.Dump(), 0o666); err != nil {
		return err
	}
	return s.ts.Exec("poolwright", "inventory", "-O", filepath.Join(dir, "inventory"), "--from", dump)
}

// apply applies what is rendered in a package. The error is what was refused.
func (s scene) apply(dir string) error {
	manifests, err := Manifests(filepath.Join(s.ts.MkAbs(dir), "rendered"))
	if err != nil {
		return err
	}
	if s.applied != nil {
		s.applied(Step{s.ts.Name(), manifests, s.cluster.LiveVolumes()})
	}
	refused, err := s.cluster.Engine.Apply(manifests)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("refused: %v", refused)
	}
	return nil
}

// minutes pass in a turn, unless it says otherwise.
const minutes = 6

// turn is one round of GitOps: a snapshot, a render, an apply, and some time.
func (s scene) turn(dir string, pass int) error {
	if err := s.inventory(dir); err != nil {
		return err
	}
	if err := s.ts.Exec("poolwright", "render", dir); err != nil {
		return err
	}
	if err := s.apply(dir); err != nil {
		return err
	}
	s.cluster.Advance(pass)
	return nil
}

// rest is after how many turns that change nothing a cluster has come to rest.
const rest = 2

// settle takes turns until nothing changes any more, and counts those that changed
// something.
func (s scene) settle(dir string, most int) (changes int, err error) {
	state := func() (string, error) {
		manifests, err := Manifests(filepath.Join(s.ts.MkAbs(dir), "rendered"))
		var b strings.Builder
		for _, text := range manifests {
			b.Write(text)
		}
		return b.String() + s.cluster.String(), err
	}
	before, err := state()
	if err != nil {
		return 0, err
	}
	for quiet := 0; ; {
		if most--; most < 0 {
			return changes, fmt.Errorf("there is still no rest:\n%s", s.cluster)
		}
		if err := s.turn(dir, minutes); err != nil {
			return changes, err
		}
		now, err := state()
		if err != nil {
			return changes, err
		}
		if now != before {
			before, quiet = now, 0
			changes++
			continue
		}
		if quiet++; quiet == rest {
			return changes, nil
		}
	}
}

// Manifests reads the documents of a folder of rendered files, in the order of their names.
func Manifests(dir string) ([][]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		return nil, err
	}
	below, err := filepath.Glob(filepath.Join(dir, "*", "*", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var manifests [][]byte
	for _, file := range append(files, below...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			manifests = append(manifests, []byte(document))
		}
	}
	return manifests, nil
}
