package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const treeLong = `Show dependencies, with the health of each part: from claims to volumes, replicas, pools
and disks.

%s

If nothing is applied yet, the tree shows the planned state from the inventory; with
--planned it always does: the zones, their nodes and disks, with the role that the specs of
DIR (by default the current folder) give each disk, or why it is free or refused.

An object that others refer to and that does not exist is shown as Missing, also a node,
with the objects on it. All namespaces are read, because a volume and its claim are in
different ones. -n only selects among objects of the same name.`

const treeRoots = `Without an argument everything is shown, with counts at the end; --unhealthy hides
what is OK. KIND/NAME or KIND/NAMESPACE/NAME starts at one object: %s.
A disk is named by its serial number, WWN, link or BlockDevice.
From a disk, a pool or a node the tree also goes up, to every volume that its failure would
affect, and says which volumes would stay online.`

const treeExample = `  poolwright tree
  poolwright tree pvc/default/data

  # In a large cluster: only what is unhealthy
  poolwright tree --unhealthy

  # Which volumes would fail with this disk, or with this node?
  poolwright tree bd/blockdevice-1c10eb1bb14c94f02a00373f2fa09b93
  poolwright tree node/worker-1

  # Without a cluster, from the inventory of a package
  poolwright tree storage --from inventory

  # Where will the pools of the package in the current folder be?
  poolwright tree --planned

  # A picture: pools by zone and node, with replicas, disks, fill level and health
  poolwright tree -o svg > storage.svg`

func newTree(s program) *cobra.Command {
	var f treeFlags
	cmd := &cobra.Command{
		Use:     "tree [DIR] [KIND/NAME]",
		Short:   "Show dependencies and health, from claims to disks",
		Long:    fmt.Sprintf(treeLong, wrap(fmt.Sprintf(treeRoots, rootNames(s.function.Kinds())))),
		Example: treeExample,
		Args:    atMost(2, "tree takes one DIR and one KIND/NAME"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 || len(args) == 1 && !isDir(args[0]) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.offerRoots(begun, f.from, f.namespace)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, wanted, err := explainArgs(args)
			if err != nil {
				return err
			}
			if err := f.plannedOnly(cmd, wanted); err != nil {
				return err
			}
			if err := onlyLive(cmd, f.from); err != nil {
				return err
			}
			if dir != "." && f.from != fromInventory {
				return usage("%s is a package: add --from inventory or --planned; or did you mean an object? That is KIND/NAME, such as Node/worker-1", dir)
			}
			return runTree(cmd.Context(), s, dir, wanted, f)
		},
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "the namespace of KIND/NAME (default any)")
	completeWith(s, cmd, "namespace", func([]string) []string { return namespacesOf(s.knownFacts(f.from)) })
	addPictureFormat(s, cmd, &f.format, "print as json or yaml instead of as text", asJSON, asYAML)
	addFrom(s, cmd, &f.from)
	cmd.Flags().BoolVar(&f.unhealthy, "unhealthy", false, "show only what is not OK, and the path to it")
	cmd.Flags().BoolVar(&f.planned, "planned", false, "show where a render would put the pools of the package")
	return cmd
}

type treeFlags struct {
	clusterFlags
	planned   bool
	unhealthy bool
	format    format
	from      string
	namespace string // of the root; facts are of all namespaces
}

func runTree(ctx context.Context, s program, dir string, wanted *ref, f treeFlags) error {
	var kind system.Kind
	if wanted != nil {
		var err error
		if kind, err = s.function.Kinds().Root(wanted.kind); err != nil {
			return usage("%v", err)
		}
	}
	if f.planned {
		return runPlanned(s, dir, f)
	}
	facts, err := treeFacts(ctx, s, dir, f)
	if err != nil {
		return err
	}
	var root krm.ID
	if wanted != nil {
		if root, err = s.function.TreeRoot(facts, kind.GroupKind, cmp.Or(wanted.namespace, f.namespace), wanted.name); err != nil {
			return err
		}
	}
	trees := s.function.Tree(facts, root)
	if len(trees) == 0 && f.from == fromInventory {
		return runPlanned(s, dir, f)
	}
	shown := trees
	if f.unhealthy {
		shown = health.Unhealthy(trees)
	}
	if f.format.isPicture() {
		title := "Storage"
		if wanted != nil {
			title += " of " + wanted.String()
		}
		return printPicture(s.out, f.format, title, poolsOf(shown, inventory.New(facts)))
	}
	if f.format != asText {
		return printAs(s.out, f.format, health.TreeRecords(shown))
	}
	if len(trees) == 0 {
		terminal.Println(s.err, "there are no pools and no volumes; poolwright tree --planned shows where those of a package will go")
		return nil
	}
	if len(shown) == 0 {
		terminal.Println(s.err, "all that there is is healthy")
	} else if err := printTrees(s.out, shown, false); err != nil {
		return err
	}
	if wanted == nil {
		return printTallies(s.out, trees, len(shown) > 0)
	}
	return nil
}

// printTallies ends the trees of a whole cluster, which may be longer than anybody
// reads.
func printTallies(w io.Writer, trees []*health.Tree, below bool) error {
	var text strings.Builder
	if below {
		text.WriteByte('\n')
	}
	for _, t := range health.Tallies(trees) {
		terminal.Println(&text, t.String())
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// treeFacts reads what a tree is made of.
func treeFacts(ctx context.Context, s program, dir string, f treeFlags) ([]*krm.Object, error) {
	switch f.from {
	case fromInventory:
		defer terminal.Progress(s.err, "reading the inventory")()
		p, fs, err := s.read(folder.Input{Dir: dir})
		if err != nil {
			return nil, err
		}
		facts, more := s.function.Facts(p.Objects, false)
		return facts, reportErrors(s, append(fs, more...))
	case fromLive:
		c, err := f.connectOrFrom()
		if err != nil {
			return nil, err
		}
		defer terminal.Progress(s.err, "reading "+c.String())()
		taken, err := snapshot.Take(ctx, c, snapshot.Options{Kinds: s.function.Kinds().Tree()})
		if err != nil {
			return nil, err
		}
		return taken.Objects(), nil
	}
	return snapshotAt(s, f.from)
}

// reportErrors prints findings where any is an error: of the rest a package says
// enough in other verbs.
func reportErrors(s program, fs []finding.Finding) error {
	if !finding.Failed(fs) {
		return nil
	}
	return report(s.streams, finding.Sort(fs))
}

// branches are the strokes of a tree.
type branches struct{ more, last, through, none string }

// strokes chooses by the locale: box drawing where it is UTF-8.
func strokes() branches {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			if value = strings.ToLower(value); strings.Contains(value, "utf-8") || strings.Contains(value, "utf8") {
				return branches{"├─ ", "└─ ", "│  ", "   "}
			}
			break
		}
	}
	return branches{"|- ", "`- ", "|  ", "   "}
}

// treePrinter writes trees as a table. What hangs on an object is printed once.
type treePrinter struct {
	branches
	planned bool // there is no health yet
	rows    *tabwriter.Writer
	phases  []health.Phase
	printed map[finding.Ref]bool
}

func printTrees(w io.Writer, trees []*health.Tree, planned bool) error {
	var text strings.Builder
	p := &treePrinter{branches: strokes(), planned: planned, rows: tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0), printed: map[finding.Ref]bool{}}
	p.row("OBJECT", "HEALTH", "STATE", "DETAILS")
	for _, t := range trees {
		p.print(t, "", "")
	}
	if err := p.rows.Flush(); err != nil {
		return err
	}
	color := terminal.HasColor(w)
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		if i > 0 && color {
			if c := phaseColor(p.phases[i-1]); c != "" {
				word := string(p.phases[i-1])
				line = strings.Replace(line, "  "+word, "  "+c+word+terminal.Plain, 1)
			}
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (p *treePrinter) row(object, phase, state, details string) {
	if p.planned {
		terminal.Printf(p.rows, "%s\t%s\t%s\n", object, state, details)
		return
	}
	terminal.Printf(p.rows, "%s\t%s\t%s\t%s\n", object, phase, state, details)
}

// print writes one object and what hangs on it. first stands before the object,
// rest before all that follows.
func (p *treePrinter) print(t *health.Tree, first, rest string) {
	details := t.Note
	again := len(t.Children) > 0 && p.printed[t.Object]
	if again {
		details = strings.TrimPrefix(details+", see above", ", ")
	}
	p.row(first+t.Object.String(), dash(string(t.Phase)), dash(t.State), details)
	p.phases = append(p.phases, t.Phase)
	if again {
		return
	}
	p.printed[t.Object] = !t.IsUnnamed()
	for i, c := range t.Children {
		if i == len(t.Children)-1 {
			p.print(c, rest+p.last, rest+p.none)
		} else {
			p.print(c, rest+p.more, rest+p.through)
		}
	}
}
