package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/finding"
)

const planLong = `Show what a render would change, field by field, and the risk of each change:

  safe         nobody notices
  disruptive   I/O pauses, a pool rebuilds or restarts, a disk is detached, or the
               cluster will refuse the change
  destructive  data can be lost

Nothing is written. The package DIR is rendered in memory and compared with --against:

  rendered     the output folder as it is (the default)
  live         the cluster: the API server applies each object in a dry run, in the name
               of the engine that applied it before. So defaults, other managers' fields and
               the rules of the cluster are included. Nodes and disks are those of the
               cluster, not of the inventory
  FOLDER       another output folder, or a package that has one: in a pull request,
               that of the target branch. If it is empty, or is called rendered and does
               not exist, nothing was rendered before, and every object is new

%s

A package does not know what else is rendered for a cluster. A spec that was deleted
together with its output looks like a spec of another package. Running objects of such
specs are a warning, and an error if their removal would reach the risk of --fail-on.
So say which case it is. With --prune they count as removed: this package is all that
Poolwright renders for the cluster. With --prune=false they belong to another package;
then also compare with a FOLDER, which shows what was deleted.

Fields of json and yaml: against; risk, the greatest; summary, the number of each risk;
changes, each with risk, action, object, gitOnly (not for the cluster), fields {path,
action, old, new} and reasons {risk, field, reason}; findings, as in vet. These formats
and markdown are printed even if there are errors.

Several DIRs are compared one after the other, all of them, even if one has errors; the exit
code is that of the worst. -o json then prints a document for each.

Exit codes: 0 no change, 2 changes, 1 errors, bad usage among them (unlike other verbs).
With --fail-on, a change of that risk is an error (1), and any other change is 0.`

const planRoles = `--against live needs two roles of deploy/rbac: poolwright-inventory, to read, and
poolwright-plan, to get, list, patch and create the rendered kinds, as a dry run needs
these permissions although it stores nothing. Copies of your own manifests, Deployments, and the objects
that make an engine apply something are only compared, as far as they may be read. All namespaces are read. %s`

const planExample = `  # Show what your last edit would do
  poolwright plan

  # In a pull request: write a comment, also if this fails because data can be lost
  git worktree add ../base origin/main
  poolwright plan storage --against ../base/storage/rendered --fail-on destructive -o markdown > comment.md

  # With a picture of the planned volumes, which the pipeline has uploaded
  poolwright preview storage -o svg > volumes.svg
  poolwright plan storage -o markdown --picture https://ci.example.com/42/volumes.svg > comment.md

  # For a large cluster: only the counts
  poolwright plan --summary

  # Show what the cluster would accept
  poolwright plan storage --against live --context prod`

// Values of --against that are no folder.
const (
	againstRendered = fn.RenderedFolder
	againstLive     = "live"
)

type planFlags struct {
	against string
	output  format
	summary bool
	failOn  change.Risk
	prune   *bool // nil if nobody said
	manager string
	picture string
	cluster clusterFlags
}

// asMarkdown is a value of -o beside those of all verbs.
const asMarkdown format = "markdown"

func newPlan(s program) *cobra.Command {
	var f planFlags
	var prune bool
	cmd := &cobra.Command{
		Use:               "plan [DIR]",
		Short:             "Show what would change, and the risk",
		Long:              fmt.Sprintf(planLong, wrap(fmt.Sprintf(planRoles, strings.Join(s.function.Kinds().DryRuns(), " ")))),
		Example:           planExample,
		Args:              atMost(1, "plan takes one DIR"),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.against != againstLive {
				for _, name := range []string{"kubeconfig", "context", "field-manager", "prune"} {
					if cmd.Flags().Changed(name) {
						return usage("--%s is for --against live only", name)
					}
				}
			}
			if cmd.Flags().Changed("prune") {
				f.prune = &prune
			}
			if f.summary && f.output != asText {
				return usage("-o %s has a summary: leave out --summary", f.output)
			}
			if f.picture != "" {
				if f.output != asMarkdown {
					return usage("--picture is for -o markdown only")
				}
				if _, err := plan.PictureLink(f.picture); err != nil {
					return usage("%v", err)
				}
			}
			return runPlan(cmd.Context(), s, dirArg(args), &f)
		},
	}
	cmd.Flags().StringVar(&f.against, "against", againstRendered, "what to compare with: rendered, live, or a folder")
	addOneOf(s, cmd, &f.output, "output", "o", "print as json or yaml instead of as text, or as markdown for a comment", asJSON, asYAML, asMarkdown)
	cmd.Flags().BoolVar(&f.summary, "summary", false, "print only how many objects change, by risk, and why the risky ones change")
	addOneOf(s, cmd, &f.failOn, "fail-on", "", "exit with 1 if a change has at least this risk, otherwise with 0", change.Disruptive, change.Destructive)
	cmd.Flags().BoolVar(&prune, "prune", false, "with --against live: whether running objects of specs that are not in DIR count as removed (default: no, with a warning)")
	cmd.Flags().StringVar(&f.manager, "field-manager", "", "with --against live: apply as this manager (default: the one that applied each object before)")
	cmd.Flags().StringVar(&f.picture, "picture", "", "with -o markdown: the URL of a picture to show; preview and tree draw one with -o svg")
	complete(s, cmd, "picture")
	completeOrPath(s, cmd, "against", cobra.ShellCompDirectiveFilterDirs, againstRendered, againstLive)
	complete(s, cmd, "field-manager")
	// No namespace: what a plan does not look at, it would call unchanged.
	addClusterFlags(s, cmd, &f.cluster)
	return cmd
}

// planning is a plan, and what its risks are judged with.
type planning struct {
	plan.Plan
	function *fn.Function
	pkg      fn.Package       // who holds which disk
	facts    *inventory.Facts // for the risks
}

func runPlan(ctx context.Context, s program, dir string, f *planFlags) error {
	base, err := againstFolder(dir, f.against)
	if err != nil {
		return err
	}
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	result := l.render(s)
	p := planning{
		Plan: plan.Plan{
			Against: f.against, Findings: result.Findings, Transitions: result.Transitions, Verbose: *s.verbose, Picture: f.picture,
		},
		function: s.function, pkg: l.Input(), facts: result.Facts,
	}
	if !finding.Failed(result.Findings) {
		if err := p.compare(ctx, s, f, base, l, result.Output()); err != nil {
			return err
		}
		if f.against == againstRendered {
			if err := p.output(l, result.Objects); err != nil {
				return err
			}
		}
		p.Changes = p.function.Assess(p.pkg, p.facts, p.Changes)
	}
	if f.against == againstRendered {
		p.Findings = l.WithoutSpec(s.function, l.input.Dir, p.Findings, finding.Warning) // elsewhere a spec that was deleted is seen
	}
	p.Findings = finding.Sort(p.Findings)
	failed := report(s.streams, p.Findings)
	if failed != nil && len(p.Changes) == 0 && f.output == asText {
		return failed // there is no table to print
	}
	show := func() error { return p.print(s.out, f.output) }
	if f.summary {
		show = func() error { return p.printSummary(s.out) }
	}
	if err := show(); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failed
	case f.failOn != "":
		return verdict(report(s.streams, p.reaching(f.failOn)))
	case len(p.Changes) > 0 || p.Files > 0:
		return errChanges
	}
	return nil
}

// compare finds what would change. The error says that it could not be found out.
func (p *planning) compare(ctx context.Context, s program, f *planFlags, base string, l loaded, wanted []*krm.Object) error {
	switch f.against {
	case againstRendered:
		p.Changes = plan.Between(p.function, l.Ours(), wanted)
	case againstLive:
		return p.live(ctx, s, f, l, wanted)
	default:
		return p.folder(base, wanted)
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
	switch info, err := os.Stat(against); {
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(against) == fn.RenderedFolder:
		return against, nil
	case err != nil || !info.IsDir():
		return "", usage("--against %s: no such folder; write rendered, live, or a folder with rendered manifests; only a folder called rendered may be missing", against)
	}
	if inner := filepath.Join(against, fn.RenderedFolder); isDir(inner) {
		return inner, nil
	}
	return against, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// folder compares with another output folder. The error is one of usage: a folder
// that is no output folder would make all of this look new, and safe.
func (p *planning) folder(dir string, wanted []*krm.Object) error {
	old, findings := folder.ReadRendered(dir, dir)
	if refused := p.function.RefuseNested(old, dir); len(refused) > 0 {
		p.Findings = append(p.Findings, refused...)
		return nil
	}
	p.Findings = append(p.Findings, findings...)
	old = folder.Ours(old)
	switch {
	case len(old) > 0 || finding.Failed(findings):
	case folder.HoldsFiles(dir):
		return usage("--against %s: nothing in this folder was rendered by Poolwright; name the folder rendered of the other tree: one that is not there, or empty, means that nothing was rendered before", dir)
	default:
		p.Findings = append(p.Findings, finding.Finding{
			Severity: finding.Info, Rule: "nothing-before",
			Message: dir + " is not there or empty, so all of this counts as new; is that right?",
		})
	}
	seen := map[krm.ID]bool{}
	for _, o := range old {
		if seen[o.ID()] {
			p.Findings = append(p.Findings, finding.Finding{
				Severity: finding.Error, Rule: "duplicate", Object: o.Ref, Pos: o.At(),
				Message: "is twice in " + dir + "; name the output folder of one package",
			})
		}
		seen[o.ID()] = true
	}
	if !finding.Failed(p.Findings) {
		p.pkg.Output = old
		p.Changes = plan.Between(p.function, old, wanted)
	}
	return nil
}

// reaching lists why changes are as risky as the limit, as errors.
func (p *planning) reaching(limit change.Risk) []finding.Finding {
	var fs []finding.Finding
	for _, c := range p.Changes {
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
