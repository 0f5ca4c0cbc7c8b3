package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/folder"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

const planLong = `Show what a render would change, field by field, and what each change risks:

  safe         nobody notices
  disruptive   I/O pauses, a pool rebuilds or restarts, a disk is detached, or the
               cluster will refuse the change
  destructive  data can be lost

Nothing is written. The package DIR is rendered in memory and compared with what
--against names:

  rendered     the output folder as it lies (the default)
  live         the cluster: each object is applied in a dry run by the API server, in
               the name of the engine that applied it before, so that defaults, other
               people's fields and the rules of the cluster are accounted for
  FOLDER       another output folder, or a package that has one: in a pull request,
               that of the branch it goes to

For --against live the permission to get, list, patch and create the rendered kinds
is needed, although a dry run stores nothing, and to list what deploy/rbac has.

As json and yaml: against; risk, the greatest; summary, how many of each; changes,
each with risk, action, object, gitOnly (not for the cluster), fields {path, action,
old, new} and reasons {risk, field, reason}; findings, as vet has them.

Exit codes: 0 no change, 2 changes, 1 errors; bad usage is 2, with nothing on the
standard output. With --fail-on a change of that risk is an error, and any other
change is fine: 0.`

const planExample = `  # What would the edit that I just made do?
  poolwright plan

  # In a pull request: comment, and fail if data can be lost
  git worktree add ../base origin/main
  poolwright plan storage --against ../base/storage/rendered -o markdown > comment.md || test $? = 2
  poolwright plan storage --against ../base/storage/rendered --fail-on destructive

  # What would the cluster make of it?
  poolwright plan storage --against live --context prod`

// Values of --against that are no folder.
const (
	againstRendered = "rendered"
	againstLive     = "live"
)

type planFlags struct {
	against string
	output  oneOf
	failOn  oneOf
	manager string
	cluster clusterFlags
}

func newPlan(s streams) *cobra.Command {
	f := planFlags{
		output: oneOf{values: []string{"json", "yaml", "markdown"}},
		failOn: oneOf{values: []string{string(change.Disruptive), string(change.Destructive)}},
	}
	cmd := &cobra.Command{
		Use:               "plan [DIR]",
		Short:             "Show what would change, and what that risks",
		Long:              planLong,
		Example:           planExample,
		Args:              atMost(1, "plan takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.against != againstLive {
				for _, name := range []string{"kubeconfig", "context", "namespace", "field-manager"} {
					if cmd.Flags().Changed(name) {
						return usage("--%s is for --against live only", name)
					}
				}
			}
			return runPlan(s, dirArg(args), &f)
		},
	}
	cmd.Flags().StringVar(&f.against, "against", againstRendered, "what to compare with: rendered, live, or a folder")
	cmd.Flags().VarP(&f.output, "output", "o", "print as json or yaml instead of as text, or as markdown for a comment")
	cmd.Flags().Var(&f.failOn, "fail-on", "exit with 1 if a change is as risky as this, else with 0")
	cmd.Flags().StringVar(&f.manager, "field-manager", "", "with --against live: apply in this name (default: who applied each object before)")
	complete(cmd, "against", againstRendered, againstLive)
	complete(cmd, "output", f.output.values...)
	complete(cmd, "fail-on", f.failOn.values...)
	addClusterFlags(cmd, &f.cluster)
	return cmd
}

// plan is what would change, and what else there is to say.
type plan struct {
	against  string
	changes  []*change.Change
	findings []finding.Finding
	facts    *inventory.Facts // for the risks
}

func runPlan(s streams, dir string, f *planFlags) error {
	base, err := againstFolder(dir, f.against)
	if err != nil {
		return err
	}
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	result := l.render(s)
	if finding.Failed(result.Findings) {
		return report(s.err, result.Findings)
	}
	p := plan{against: f.against, findings: result.Findings, facts: result.Facts}
	switch f.against {
	case againstRendered:
		p.changes = change.Between(ours(l.Lock), rendered(result))
	case againstLive:
		err = p.live(s, f, l.Lock, rendered(result))
	default:
		err = p.folder(base, rendered(result))
	}
	if err != nil {
		return err
	}
	fn.Assess(p.facts, p.changes)
	failed := report(s.err, finding.Sort(p.findings))
	if failed != nil && len(p.changes) == 0 {
		return failed
	}
	if err := p.print(s.out, f.output.value); err != nil {
		return err
	}
	switch limit := change.Risk(f.failOn.value); {
	case failed != nil:
		return failed
	case limit != "":
		return report(s.err, p.reaching(limit))
	case len(p.changes) > 0:
		return errChanges
	}
	return nil
}

// errChanges says that there are changes, which are printed already.
var errChanges = errors.New("there are changes")

// againstFolder is the folder to compare with, "" where another thing is meant.
func againstFolder(dir, against string) (string, error) {
	switch against {
	case againstRendered:
		if dir == folder.Stdin {
			return "", usage("the package comes from the standard input, so there is no output folder to compare with: name one, or live, with --against")
		}
		return "", nil
	case againstLive:
		return "", nil
	case "":
		return "", usage("--against needs rendered, live, or a folder")
	}
	if info, err := os.Stat(against); err != nil || !info.IsDir() {
		return "", usage("--against %s: no such folder; write rendered, live, or a folder with rendered manifests, which may be empty", against)
	}
	if inner := filepath.Join(against, folder.Rendered); isDir(inner) {
		return inner, nil
	}
	return against, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// folder compares with another output folder.
func (p *plan) folder(dir string, wanted []*krm.Object) error {
	old, findings := folder.ReadRendered(dir, dir)
	p.findings = append(p.findings, findings...)
	seen := map[krm.ID]bool{}
	old = ours(old)
	for _, o := range old {
		if seen[o.ID()] {
			p.findings = append(p.findings, finding.Finding{
				Severity: finding.Error, Rule: "duplicate", Object: o.Ref, Pos: o.At(),
				Message: "is twice in " + dir + "; name the output folder of one package",
			})
		}
		seen[o.ID()] = true
	}
	if !finding.Failed(p.findings) {
		p.changes = change.Between(old, wanted)
	}
	return nil
}

func rendered(r fn.Result) []*krm.Object {
	objects := make([]*krm.Object, len(r.Objects))
	for i := range r.Objects {
		objects[i] = r.Objects[i].Object
	}
	return objects
}

// ours leaves out what lies in an output folder and is not Poolwright's.
func ours(objects []*krm.Object) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o *krm.Object) bool { return o.Owner() == "" })
}

// reaching lists why changes are as risky as the limit, as errors.
func (p *plan) reaching(limit change.Risk) []finding.Finding {
	var fs []finding.Finding
	for _, c := range p.changes {
		for _, r := range c.Reasons {
			if r.Risk.AtLeast(limit) {
				fs = append(fs, finding.Finding{
					Severity: finding.Error, Rule: "fail-on", Object: c.Ref, Field: r.Field,
					Message: fmt.Sprintf("%s %s: %s", r.Risk, c.Action, r.Text),
				})
			}
		}
	}
	return finding.Sort(fs)
}

// oneOf is a flag with fixed values.
type oneOf struct {
	value  string
	values []string
}

func (f *oneOf) String() string { return f.value }
func (f *oneOf) Type() string   { return strings.Join(f.values, "|") }
func (f *oneOf) Set(v string) error {
	if !slices.Contains(f.values, v) {
		return fmt.Errorf("%q is not one of %s", v, strings.Join(f.values, ", "))
	}
	f.value = v
	return nil
}
