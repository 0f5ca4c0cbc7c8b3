package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

// onlyDumps refuses what cannot be meant together with --from.
func (f inventoryFlags) onlyDumps(cmd *cobra.Command) error {
	for _, name := range []string{"kubeconfig", "context"} {
		if f.dumps != nil && cmd.Flags().Changed(name) {
			return usage("--%s is for the facts of a cluster: leave it out, or --from %s", name, f.dumps[0])
		}
	}
	for _, path := range f.dumps {
		if path == "" {
			return usage("--from needs a file, a folder, or - for the standard input")
		}
		if path != folder.Stdin && filepath.Clean(path) == filepath.Clean(f.output) {
			return usage("--from %s: this is the folder that is written; name another one with --output-dir", path)
		}
	}
	return nil
}

// dumped makes the snapshot from dumps. What is wrong with them is printed.
func (f inventoryFlags) dumped(s program, o snapshot.Options) (*snapshot.Snapshot, error) {
	defer terminal.Progress(s.err, "reading "+strings.Join(f.dumps, ", "))()
	objects, findings, err := folder.ReadDumps(f.dumps, s.in)
	if err != nil {
		return nil, usage("--from %v", err)
	}
	if len(objects) == 0 && finding.Failed(findings) {
		return nil, report(s.streams, findings)
	}
	snap, more := snapshot.Dump(objects, f.Namespace, o)
	return snap, report(s.streams, finding.Sort(append(findings, more...)))
}

// unknown says of which kinds nothing is known from dumps, "" if there are none.
func (f inventoryFlags) unknown(t taken) string {
	var missed []string
	for _, id := range t.Absent {
		if slices.Contains(t.needed, id) {
			kind, _ := t.kinds.Find(id)
			missed = append(missed, strings.TrimSuffix(kind.Plural+"."+kind.Group, "."))
		}
	}
	switch {
	case len(missed) > 0:
		return "nothing is known of some kinds that the specs around the folder look at, not even that there are none; add to the dumps what this prints: kubectl get " + strings.Join(missed, ",") + " -A -o yaml"
	case len(t.Absent) > 0:
		return fmt.Sprintf("the dump has %d of the %d kinds that are read; of the others nothing is known", len(t.Kinds), len(t.Absent)+len(t.Kinds))
	}
	return ""
}
