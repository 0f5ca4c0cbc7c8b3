package main

import (
	"bufio"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/poolwright/poolwright/terminal"
)

const rootLong = `Poolwright generates all manifests for your Kubernetes storage from a short spec
and a cluster snapshot, both kept in Git. To render, it never contacts a cluster,
and it never touches a disk.

Without a verb it is a KRM function: it renders a ResourceList from stdin to stdout,
like "poolwright fn".

Manifests and tables go to stdout, everything else to stderr. Exit codes: 0 success;
1 findings of severity error, or a failure; 2 bad usage, or for plan: changes.`

const rootExample = `  # Create a package, with a snapshot of the cluster
  poolwright inventory -O mycluster/inventory
  poolwright init cstor-local mycluster

  # Show which nodes and disks would be chosen, and why; then write mycluster/rendered
  poolwright explain mycluster
  poolwright render mycluster

  # In a pipeline: fail if somebody forgot to render
  poolwright render mycluster --check`

// newRoot builds the whole command tree. There is no state outside of it.
func newRoot(s program) *cobra.Command {
	s.verbose = new(bool)
	root := &cobra.Command{
		Use:           "poolwright",
		Short:         "Render storage intent in Git into manifests",
		Long:          rootLong,
		Example:       rootExample,
		Version:       thisBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			if in := bufio.NewReaderSize(s.in, 64<<10); !terminal.Is(s.in) && isResourceList(in) {
				s.in = in
				collectLate()
				return runFunction(s)
			}
			cmd.SetOut(s.err)
			if err := cmd.Help(); err != nil {
				return err
			}
			return usage("no verb given, and no ResourceList on the standard input")
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SuggestionsMinimumDistance = 2
	addVerbose(root.PersistentFlags(), s.verbose)
	root.SetVersionTemplate("poolwright {{.Version}}\n")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	for _, v := range verbs() {
		cmd := v.make(s)
		for _, w := range v.wraps {
			cmd = w(cmd)
		}
		root.AddCommand(cmd)
	}
	root.InitDefaultCompletionCmd("completion")
	refuseUnknownShells(root)
	return root
}

// addVerbose adds the flag of all verbs.
func addVerbose(flags *pflag.FlagSet, verbose *bool) {
	flags.BoolVarP(verbose, "verbose", "v", false, "print every finding; do not group")
}

// isResourceList looks at the head of a stream without taking anything from it.
// Either mark is enough: where keys are sorted, kind comes after all items.
func isResourceList(in *bufio.Reader) bool {
	head, _ := in.Peek(4 << 10)
	return regexp.MustCompile(`(?m)^["'{\s]*(apiVersion["']?\s*:\s*["']?config\.kubernetes\.io/|kind["']?\s*:\s*["']?ResourceList\b)`).Match(head)
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	if ours := elsewhere(verb); ours != "" {
		return usage("unknown verb %q (did you mean %q?)", verb, ours)
	}
	near := cmd.SuggestionsFor(verb)
	if len(near) == 0 {
		return usage("unknown verb %q", verb)
	}
	return usage("unknown verb %q (did you mean %q?)", verb, near[0])
}

// elsewhere is the verb for what other tools call by this name: kubectl, kustomize, terraform, helm and
// linters. "" if there is none.
func elsewhere(verb string) string {
	switch strings.ToLower(verb) {
	case "apply", "template", "generate", "hydrate", "sync":
		return "render"
	case "diff", "dry-run":
		return "plan"
	case "validate", "lint", "check", "test":
		return "vet"
	case "get", "list", "ls", "health":
		return "status"
	case "describe", "why":
		return "explain"
	case "graph", "show":
		return "tree"
	case "snapshot", "dump", "discover":
		return "inventory"
	case "new", "create":
		return "init"
	case "import", "adopt", "migrate":
		return "convert"
	}
	return ""
}

// refuseUnknownShells makes "completion foo" a mistake; cobra prints its help
// and is content.
func refuseUnknownShells(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return usage("which shell? bash, zsh, fish or powershell")
				}
				return usage("unknown shell %q: bash, zsh, fish or powershell", args[0])
			}
		}
	}
}

// atMost limits the arguments of a verb.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("too many arguments: %s; %q is one too many", what, args[n])
		}
		return nil
	}
}

// format is the value of -o where a table is printed.
type format string

const (
	asText format = ""
	asJSON format = "json"
	asYAML format = "yaml"
)

// addFormat adds -o json|yaml to a verb.
func addFormat(s program, cmd *cobra.Command, f *format) {
	addOneOf(s, cmd, f, "output", "o", "print as json or yaml instead of as text", asJSON, asYAML)
}

// folders completes the argument DIR.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
