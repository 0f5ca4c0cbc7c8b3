package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const explainLong = `Show why each node and each disk was chosen or refused, and what Poolwright waits for.
Nothing is written. KIND/NAME or KIND/NAMESPACE/NAME limits the output to one spec,
block device or storage, or to a node and its disks.

A change that takes several renders comes first, step by step: what is done, what is
under way and until when, what comes next, and why in this order.

Each spec ends with counts: how many nodes and disks are kept, chosen, held, awaited,
free or refused, and the refusals by reason. For a large cluster, --summary prints
only the counts, and --chosen leaves out free and refused nodes and disks.`

const explainExample = `  poolwright explain
  poolwright explain storage --summary
  poolwright explain storage Node/worker-1
  poolwright explain BlockDevice/blockdevice-1c10eb1bb14c94f02a00373f2fa09b93
  poolwright explain storage -o json`

func newExplain(s program) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:               "explain [DIR] [KIND/NAME]",
		Short:             "Show why each node and disk was chosen or refused",
		Long:              explainLong,
		Example:           explainExample,
		Args:              atMost(2, "explain takes one DIR and one KIND/NAME"),
		ValidArgsFunction: s.explainWords,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.chosen && f.summary {
				return usage("--chosen lists choices, and --summary lists none: leave one out")
			}
			dir, subject, err := explainArgs(args)
			if err != nil {
				return err
			}
			return runExplain(s, dir, subject, f)
		},
	}
	addFormat(s, cmd, &f.format)
	cmd.Flags().BoolVar(&f.chosen, "chosen", false, "leave out free and refused nodes and disks")
	cmd.Flags().BoolVar(&f.summary, "summary", false, "print only the counts")
	return cmd
}

type explainFlags struct {
	format  format
	chosen  bool // only what is in use, or will be
	summary bool // only the counts
}

// explainArgs distinguishes DIR from KIND/NAME: what exists as a file is DIR.
func explainArgs(args []string) (dir string, subject *ref, err error) {
	dir = "."
	if len(args) == 1 {
		_, missing := os.Stat(args[0])
		if args[0] == "-" || missing == nil || !strings.Contains(args[0], "/") {
			return args[0], nil, nil
		}
		args = []string{".", args[0]}
	}
	if len(args) == 2 {
		dir = args[0]
		subject, err = parseRef(args[1])
	}
	return dir, subject, err
}

// ref is KIND/NAME or KIND/NAMESPACE/NAME as a person writes it.
type ref struct{ kind, namespace, name string }

func parseRef(s string) (*ref, error) {
	if kind, name, found := strings.Cut(s, "/"); found && isDisk(kind) && name != "" {
		return diskRef(kind, name), nil
	}
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if p == "" {
			parts = nil
		}
	}
	switch len(parts) {
	case 2:
		return &ref{kind: parts[0], name: parts[1]}, nil
	case 3:
		return &ref{kind: parts[0], namespace: parts[1], name: parts[2]}, nil
	}
	return nil, usage("%q is not of the form KIND/NAME or KIND/NAMESPACE/NAME, such as Node/worker-1", s)
}

func isDisk(kind string) bool { return strings.EqualFold(kind, disk.Kind().Kind) }

// diskRef reads what a person calls a disk: by the name of its BlockDevice with or without
// the namespace, by serial number, WWN or link, or by its node and path, as they are printed.
func diskRef(kind, name string) *ref {
	place, path, isPath := strings.Cut(name, "//")
	switch {
	case isPath && place != "":
		return &ref{kind: kind, namespace: place, name: "/" + path}
	case strings.HasPrefix(name, "dev/"):
		return &ref{kind: kind, name: "/" + name}
	case !strings.HasPrefix(name, "/"):
		if namespace, rest, found := strings.Cut(name, "/"); found {
			return &ref{kind: kind, namespace: namespace, name: rest}
		}
	}
	return &ref{kind: kind, name: name}
}

// settle finds the kind that a short name means, and the disk that is called so: the error says what disks there
// are instead.
func (r *ref) settle(f *fn.Function, facts *inventory.Facts) error {
	if r == nil || facts == nil {
		return nil
	}
	if kind, err := f.Kinds().Root(r.kind); err == nil {
		r.kind = kind.Kind
	}
	if !isDisk(r.kind) {
		return nil
	}
	id, err := fn.DiskRoot(facts, r.namespace, r.name)
	if err == nil {
		*r = ref{id.Kind, id.Namespace, id.Name}
	}
	return err
}

func (r *ref) matches(o finding.Ref) bool {
	return r == nil || strings.EqualFold(r.kind, o.Kind) && r.name == o.Name && (r.namespace == "" || r.namespace == o.Namespace)
}

func (r *ref) String() string {
	if r.namespace == "" {
		return r.kind + "/" + r.name
	}
	return r.kind + "/" + r.namespace + "/" + r.name
}

// isAbout reports whether a choice is for the spec or of the subject that is meant. A
// node stands for its disks, too.
func (r *ref) isAbout(c *place.Choice) bool {
	return r.matches(c.Spec) || r.matches(c.Subject) || strings.EqualFold(r.kind, "Node") && r.name == c.Node
}

// explanation is what explain has to say about one spec.
type explanation struct {
	Spec        machineRef          `json:"spec"`
	Transitions []transition.Record `json:"transitions,omitempty"`
	Choices     []choice            `json:"choices,omitempty"`
	Notes       []machineFinding    `json:"notes,omitempty"`
	Summary     []place.Tally       `json:"summary,omitempty"`

	choices []place.Choice
	notes   []finding.Finding
	lines   []string
}

// choice is a place.Choice without its spec.
type choice struct {
	Subject machineRef    `json:"subject"`
	Node    string        `json:"node,omitempty"`
	Role    string        `json:"role,omitempty"`
	Verdict place.Verdict `json:"verdict"`
	Reason  string        `json:"reason"`
}

func runExplain(s program, dir string, subject *ref, f explainFlags) error {
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	result := l.render(s)
	unknown := subject.settle(s.function, result.Facts)
	told := explain(result.Choices, result.Findings, result.Transitions, subject)
	for i := range told {
		told[i].lines = s.lines(told[i].notes)
		told[i].limit(f, result.Facts)
	}
	if f.format == asText {
		err = printExplanations(s.out, told)
	} else {
		err = printAs(s.out, f.format, told)
	}
	if err != nil {
		return err
	}
	if finding.Failed(result.Findings) {
		return report(s.streams, result.Findings)
	}
	_ = report(s.streams, l.findings) // of files, and so of no spec
	if len(told) == 0 && unknown != nil {
		return unknown
	}
	if len(told) == 0 && subject != nil && slices.ContainsFunc(result.Objects, func(o fn.Rendered) bool { return subject.matches(o.Object.Ref) }) {
		terminal.Printf(s.err, "%s: it is rendered, and no step of it is under way or comes next\n", subject)
		return nil
	}
	if len(told) == 0 && subject != nil {
		return fmt.Errorf("nothing was decided about %s: it is not among the specs, nodes and disks of %s", subject, dir)
	}
	if len(told) == 0 {
		terminal.Printf(s.err, "%s: there is no spec, so nothing was decided\n", dir)
	}
	return nil
}

// explain sorts choices, findings and transitions by the spec that they are about.
func explain(choices []place.Choice, fs []finding.Finding, transitions []transition.Transition, subject *ref) []explanation {
	told := []explanation{}
	of := map[finding.Ref]int{}
	about := func(spec finding.Ref) *explanation {
		i, known := of[spec]
		if !known {
			i = len(told)
			of[spec] = i
			told = append(told, explanation{Spec: machineRef(spec)})
		}
		return &told[i]
	}
	for _, c := range choices {
		if subject == nil || subject.isAbout(&c) {
			e := about(c.Spec)
			e.choices = append(e.choices, c)
		}
	}
	for _, f := range fs {
		if f.Severity != finding.Error && f.Object != (finding.Ref{}) && subject.matches(f.Object) {
			e := about(f.Object)
			e.Notes = append(e.Notes, finding.Records([]finding.Finding{f})...)
			e.notes = append(e.notes, f)
		}
	}
	for _, t := range transition.Records(transitions) {
		if spec := finding.Ref(t.Spec); subject.matches(spec) || subject.matches(finding.Ref(t.Object)) {
			e := about(spec)
			e.Transitions = append(e.Transitions, t)
		}
	}
	return told
}

// limit counts the choices, and leaves those that are to be shown.
func (e *explanation) limit(f explainFlags, facts *inventory.Facts) {
	choices := place.InOrder(e.choices)
	if len(choices) > 1 || f.summary {
		e.Summary = place.Tallies(choices, func(subject finding.Ref) int64 {
			if d := facts.Device(subject.Namespace, subject.Name); d != nil {
				return d.Capacity
			}
			return 0
		})
	}
	if f.summary {
		e.Notes, e.lines, e.Transitions = nil, nil, nil
		return
	}
	for _, c := range choices {
		if !f.chosen || c.Verdict != place.Free && c.Verdict != place.Refused {
			e.Choices = append(e.Choices, choice{machineRef(c.Subject), c.Node, c.Role, c.Verdict, c.Reason})
		}
	}
}

// lines are findings as text, many of one kind folded.
func (p program) lines(fs []finding.Finding) []string {
	var lines []string
	kept, more := p.fold(fs)
	for _, f := range kept {
		lines = append(lines, f.String())
	}
	for _, m := range more {
		lines = append(lines, m.Line("-v prints all"))
	}
	return lines
}

func printExplanations(w io.Writer, told []explanation) error {
	for i, e := range told {
		if i > 0 {
			terminal.Println(w)
		}
		terminal.Println(w, finding.Ref(e.Spec))
		for i := range e.Transitions {
			printTransition(w, &e.Transitions[i])
		}
		if len(e.Transitions) > 0 && len(e.Choices)+len(e.lines)+len(e.Summary) > 0 {
			terminal.Println(w)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if len(e.Choices) > 0 {
			terminal.Printf(t, "  VERDICT\tSUBJECT\tNODE\tROLE\tREASON\n")
		}
		for _, c := range e.Choices {
			terminal.Printf(t, "  %s\t%s\t%s\t%s\t%s\n", c.Verdict, finding.Ref(c.Subject), dash(c.Node), dash(c.Role), c.Reason)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, line := range e.lines {
			terminal.Println(w, "  "+line)
		}
		if len(e.Summary) > 0 && len(e.Choices)+len(e.lines) > 0 {
			terminal.Println(w)
		}
		for _, t := range e.Summary {
			terminal.Println(w, "  "+t.String())
		}
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
