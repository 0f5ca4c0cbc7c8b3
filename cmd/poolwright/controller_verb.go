package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/cmd/internal/hydrationflags"
	"github.com/poolwright/poolwright/controller/loop"
	gittree "github.com/poolwright/poolwright/controller/tree"
	"github.com/poolwright/poolwright/controller/worktree"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const controllerLong = `Watch a cluster, and keep a package in Git up to date with it: refresh DIR/inventory,
render, and commit both to the current branch of the work tree. It never pushes.

A commit is made when the output changes, or when the committed inventory differs and
was last changed --max-age ago. Nothing is committed while a finding is an error, while
a file that a render reads has uncommitted changes, or while a watch is lost. The message
is the plan: its summary, its table, and its risk. Only the inventory and the output are
committed. What is staged stays staged. No hook, filter or attribute of Git is run.

Changes are judged --debounce after the first of them, however many follow.

For each judgement a line is printed: "committed SHA SUBJECT", or "no change". With
--no-commit the files are written and not committed, and the line is "written SUBJECT".

Exit codes: 0 after SIGTERM or SIGINT, and with --once if it committed or there was
nothing to do; 1 findings of severity error or a failure, and nothing was changed; 2 bad
usage: DIR is not in a work tree, HEAD is detached, or a merge or rebase is under way.

Without DIR, the controller keeps the packages of all Hydrations in the cluster rendered
(poolwright schema Hydration). It fetches the branch of each into memory, pushes a commit
when there is one to make, and writes the state into the status of the Hydration. Several
may run: the one that holds the lease works. It connects to no loopback, link-local or
multicast address and not to the API server, unless --allow-host names the host. This is
the program poolwright-controller, which must be beside this one or on the PATH. Exit
codes: 0 after SIGTERM; 1 a lost lease or a failure, and with --once a Hydration that is
not ready, each of which is printed.`

const controllerExample = `  # Follow the current context of the kubeconfig
  poolwright controller clusters/prod

  # One pass, for example from cron; then push
  poolwright controller clusters/prod --once && git push

  # Show what would be committed
  poolwright controller clusters/prod --once --no-commit && git diff

  # Keep the Hydrations of one namespace, outside of a pod
  poolwright controller --namespace storage --leader-elect=false`

type controllerFlags struct {
	clusterFlags
	once, noCommit   bool
	debounce, maxAge time.Duration
	author           string
	hydrations       hydrationflags.Flags
}

func newController(s program) *cobra.Command {
	var f controllerFlags
	cmd := &cobra.Command{
		Use:               "controller [DIR]",
		Short:             "Watch a cluster, and commit what its changes make of packages",
		Long:              controllerLong,
		Example:           controllerExample,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fitting(cmd, len(args) > 0); err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				return runHydrations(cmd)
			case len(args) > 1:
				return usage("too many arguments: controller takes one DIR; %q is one too many", args[1])
			case f.debounce < 0 || f.maxAge < 0:
				return usage("--debounce and --max-age cannot be negative")
			}
			return runController(cmd.Context(), s, args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "judge once, and exit")
	cmd.Flags().BoolVar(&f.noCommit, "no-commit", false, "with DIR: write the files, and do not commit; uncommitted changes are read, too")
	cmd.Flags().DurationVar(&f.debounce, "debounce", 30*time.Second, "with DIR: how long after a first change it is judged")
	cmd.Flags().DurationVar(&f.maxAge, "max-age", 24*time.Hour, "with DIR: commit an inventory that differs if the last one is this old; 0 for never")
	cmd.Flags().StringVar(&f.author, "author", "", `with DIR: "NAME <EMAIL>" of the commits (default user.name and user.email of Git, or Poolwright)`)
	complete(s, cmd, "author")
	f.hydrations.Add(cmd.Flags())
	for _, name := range hydrationflags.Names() {
		complete(s, cmd, name)
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	return cmd
}

// fitting refuses flags of the other form of the command.
func fitting(cmd *cobra.Command, dir bool) error {
	others, form := []string{"no-commit", "debounce", "max-age", "author"}, "is for controller DIR; name the DIR, or remove the flag"
	if dir {
		others, form = hydrationflags.Names(), "is for the controller without DIR; remove the flag, or the DIR"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return usage("--%s %s", name, form)
		}
	}
	return nil
}

func runController(ctx context.Context, s program, dir string, f controllerFlags) error {
	author, err := authorOf(f.author)
	if err != nil {
		return err
	}
	work, err := worktree.Open(dir)
	if err != nil {
		return err
	}
	defer work.Close()
	if author == nil {
		a := work.Author(gittree.Author{Name: "Poolwright", Email: "poolwright@localhost"})
		author = &a
	}
	cluster, err := f.connect()
	if err != nil {
		return err
	}
	p := controllerPrinter{program: s, once: f.once}
	l := &loop.Loop{
		Function: s.function, Cluster: cluster, Work: work, Author: *author,
		Debounce: f.debounce, MaxAge: f.maxAge, NoCommit: f.noCommit,
		Notice: func(text string) { terminal.Println(s.err, text) },
		Report: func(o loop.Outcome) error {
			if err := p.print(o); err != nil && o.Err == nil && !errors.Is(err, errFindings) {
				return err // nobody reads the output any more
			}
			return nil // the next judgement may succeed
		},
	}
	if !f.once {
		return l.Run(ctx)
	}
	stop := terminal.Progress(s.err, "reading "+cluster.String())
	o := l.Once(ctx)
	stop()
	if ctx.Err() != nil && o.Err != nil {
		return errors.New("interrupted; nothing was changed")
	}
	return p.print(o)
}

// authorOf is the author that a flag names, nil for none.
func authorOf(text string) (*gittree.Author, error) {
	if text == "" {
		return nil, nil
	}
	parts := regexp.MustCompile(`^([^<>\n]*[^<>\n ]) <([^<>\n ]+)>$`).FindStringSubmatch(text)
	if parts == nil {
		return nil, usage(`--author %q: write it as "NAME <EMAIL>"`, text)
	}
	return &gittree.Author{Name: parts[1], Email: parts[2]}, nil
}

// controllerPrinter prints what comes of judgements.
type controllerPrinter struct {
	program
	once bool              // the caller prints a failure
	said string            // the last failure
	last []finding.Finding // those of the last judgement
}

// print prints an outcome. The error says that it is one; in a row of the same it is printed once.
func (p *controllerPrinter) print(o loop.Outcome) error {
	if o.Err != nil {
		if text := o.Err.Error(); text != p.said && !p.once {
			complain(p.err, o.Err)
			p.said = text
		}
		return o.Err
	}
	p.said = ""
	j := o.Judgement
	news := !slices.Equal(j.Findings, p.last)
	p.last = j.Findings
	if news {
		_ = report(p.streams, j.Findings) // the error says that one is an error
	}
	if j.Failed() {
		return errFindings
	}
	switch {
	case !o.Commit.IsZero():
		_, err := terminal.Println(p.out, "committed", o.Commit.String(), j.Subject())
		return err
	case o.Written > 0:
		_, err := terminal.Println(p.out, "written", j.Subject())
		return err
	}
	_, err := terminal.Println(p.out, "no change")
	return err
}
