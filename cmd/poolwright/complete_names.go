package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// What the shell offers as names comes from files, never from a cluster: a key press
// must neither wait nor ask for a password.

// packageAt reads a package for completion. What is not laid out like one is not
// read: it may be somebody's home.
func (p program) packageAt(dir string) folder.Package {
	if dir == folder.Stdin || !isDir(filepath.Join(dir, inventory.Folder)) && !isDir(filepath.Join(dir, fn.RenderedFolder)) {
		return folder.Package{}
	}
	read, _, err := p.read(folder.Input{Dir: dir})
	if err != nil {
		return folder.Package{}
	}
	return read
}

// knownFacts are the facts that --from names, as far as files have them: for a
// cluster, the snapshot of it in the current folder.
func (p program) knownFacts(from string) []*krm.Object {
	if from == folder.Stdin {
		return nil
	}
	if from == fromLive || from == fromInventory {
		facts, _ := p.function.Facts(p.packageAt(".").Objects, false)
		return facts
	}
	read, _, err := p.read(folder.Input{Dir: from})
	if err != nil {
		return nil
	}
	facts, _ := p.function.Facts(read.Objects, true)
	return facts
}

// offer completes KIND/NAME and KIND/NAMESPACE/NAME. objects are those of a kind as
// it was typed. The namespace is left out where the name says enough.
func offer(begun string, kinds []string, objects func(kind string) []finding.Ref) ([]string, cobra.ShellCompDirective) {
	kind, rest, typed := strings.Cut(begun, "/")
	if !typed {
		var begins []string
		for _, k := range kinds {
			if strings.HasPrefix(strings.ToLower(k), strings.ToLower(begun)) {
				begins = append(begins, k+"/")
			}
		}
		return begins, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	refs := objects(kind)
	named := map[string]int{}
	for _, r := range refs {
		named[r.Name]++
	}
	var names []string
	for _, r := range refs {
		name := r.Name
		if r.Namespace != "" && (named[name] > 1 || strings.HasPrefix(rest, r.Namespace+"/")) {
			name = r.Namespace + "/" + name
		}
		if strings.HasPrefix(name, rest) && name == terminal.Printable(name) {
			names = append(names, kind+"/"+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// offerRoots completes what a tree starts at.
func (p program) offerRoots(begun, from, namespace string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, kind := range p.function.Kinds().Roots() {
		names = append(names, kind.Name())
	}
	return offer(begun, names, func(name string) []finding.Ref {
		kind, err := p.function.Kinds().Root(name)
		if err != nil {
			return nil
		}
		var refs []finding.Ref
		if kind.GroupKind == disk.Kind() {
			refs = disksOf(p.knownFacts(from))
		}
		for _, o := range p.knownFacts(from) {
			if o.GroupKind() == kind.GroupKind {
				refs = append(refs, o.Ref)
			}
		}
		return slices.DeleteFunc(refs, func(r finding.Ref) bool { return namespace != "" && r.Namespace != "" && r.Namespace != namespace })
	})
}

// disksOf names the disks that facts list: by their BlockDevices, or by serial number.
func disksOf(facts []*krm.Object) []finding.Ref {
	var refs []finding.Ref
	for _, d := range disk.NewLedger(inventory.New(facts)).Disks() {
		if d.Device != nil {
			refs = append(refs, d.Ref())
		} else if serial := d.Known().Serial; serial != "" {
			refs = append(refs, finding.Ref{Kind: disk.Kind().Kind, Name: serial})
		}
	}
	return refs
}

// offerSubjects completes what explain has to say something about.
func (p program) offerSubjects(begun, dir string) ([]string, cobra.ShellCompDirective) {
	read := p.packageAt(dir)
	return offerRefs(begun, func(add func(finding.Ref)) {
		for _, c := range p.function.Render(fn.Package{Objects: read.Objects, Output: read.Lock}).Choices {
			add(c.Spec)
			add(c.Subject)
		}
	})
}

// offerRefs completes the names of some objects.
func offerRefs(begun string, list func(add func(finding.Ref))) ([]string, cobra.ShellCompDirective) {
	var kinds []string
	of := map[string][]finding.Ref{}
	seen := map[finding.Ref]bool{}
	list(func(r finding.Ref) {
		kind := strings.ToLower(r.Kind)
		if of[kind] == nil {
			kinds = append(kinds, r.Kind)
		}
		if !seen[r] {
			seen[r] = true
			of[kind] = append(of[kind], r)
		}
	})
	return offer(begun, kinds, func(kind string) []finding.Ref { return of[strings.ToLower(kind)] })
}

// explainWords completes [DIR] [KIND/NAME]. A word that could be both is a folder.
func (p program) explainWords(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return subjectWords(args, begun, func(dir string) ([]string, cobra.ShellCompDirective) {
		return p.offerSubjects(begun, dir)
	})
}

// subjectWords completes [DIR] [KIND/NAME], the latter with what is offered for a folder.
func subjectWords(args []string, begun string, offer func(dir string) ([]string, cobra.ShellCompDirective)) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		if kind, _, typed := strings.Cut(begun, "/"); typed && kind != "" && !isDir(kind) {
			if words, directive := offer("."); len(words) > 0 {
				return words, directive
			}
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	case 1:
		if _, err := os.Stat(args[0]); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // that was KIND/NAME already
		}
		return offer(args[0])
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// verifyWords completes [DIR] [KIND/NAME] with what verify is about.
func (p program) verifyWords(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return subjectWords(args, begun, func(dir string) ([]string, cobra.ShellCompDirective) {
		return p.offerVerified(begun, dir)
	})
}

// offerVerified completes what verify has to say something about, as far as files show.
func (p program) offerVerified(begun, dir string) ([]string, cobra.ShellCompDirective) {
	read := p.packageAt(dir)
	checks, _ := p.function.Verify(fn.Package{Objects: read.Objects, Output: read.Lock}, nil)
	return offerRefs(begun, func(add func(finding.Ref)) {
		for i := range checks {
			add(checks[i].Subject)
		}
	})
}

// namespacesOf lists the namespaces of some objects.
func namespacesOf(objects []*krm.Object) []string {
	var names []string
	for _, o := range objects {
		if o.Namespace != "" && o.Namespace == terminal.Printable(o.Namespace) {
			names = append(names, o.Namespace)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
