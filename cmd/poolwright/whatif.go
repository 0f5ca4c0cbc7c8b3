package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/snapshot"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/terminal"
)

const whatIfLong = `Show what changes do to volumes and pools, before anything happens. The changes are
applied in order, and in memory:

  lose node/NAME, zone/NAME, nodes/KEY=VALUE     gone for good, with their local disks
  lose disk/ID, lose pool/NAME                   failed: the data on it are gone
  stop node/NAME, zone/NAME, nodes/KEY=VALUE,
       pool/NAME                                 down for now: all data survive
  drain node/NAME                                with consent, until no render changes anything
  add N nodes --like node/NAME                   empty nodes with the same labels and disks
  add N disks --like disk/ID --node NAME         empty disks
  set FILE:PATH=VALUE                            a field of a spec

A change is several arguments, or one in quotes. ID is a serial number, a WWN, a /dev link or
a BlockDevice. A zone is the label topology.kubernetes.io/zone. The first word is the package DIR
unless it is one of these verbs. Without changes, the answer is about today.

The state of each volume and pool is right after the changes, before anything is rebuilt:

  safe      all copies
  degraded  it serves with fewer
  stops     no I/O, a copy survives
  lost      no copy left
  unknown   the facts allow several; worst is the worst of them

Then follow what the next render changes, each further node, zone or disk whose loss makes
more volumes lost or stop, and what no verdict takes into account. --every shows the volumes
without each node, zone or disk in use; with -o svg as a map.

--require makes a check of it, for pipelines: "any one node", zone or disk, or node/NAME,
with :no-loss (the default), :no-stop or :no-degraded behind it. It judges the worst that the facts
allow, after the changes.

Nothing is written. Exit codes: 1 if a requirement does not hold, if the facts cannot be read, or if
an object is unknown; 2 bad usage.`

const whatIfExample = `  # Which loss hurts today?
  poolwright what-if storage

  # A node fails while another one is down for maintenance
  poolwright what-if storage stop node/worker-3 lose node/worker-1

  # Two more nodes: what would the next render do?
  poolwright what-if storage add 2 nodes --like node/worker-1

  # In a pipeline: fail unless any node may fail
  poolwright what-if storage --require "any one node:no-stop"

  # A map of all nodes, by zone
  poolwright what-if storage --every node -o svg > nodes.svg`

type whatIfFlags struct {
	clusterFlags
	format  format
	from    string
	every   format
	require []string
	like    []string
	node    []string
}

func newWhatIf(s program) *cobra.Command {
	f := whatIfFlags{format: asTable}
	cmd := &cobra.Command{
		Use:               "what-if [DIR] [CHANGE]...",
		Short:             "Show what survives a loss, before it happens",
		Long:              whatIfLong,
		Example:           whatIfExample,
		ValidArgsFunction: s.changeWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlyLive(cmd, f.from); err != nil {
				return err
			}
			dir, words := ".", args
			if len(args) > 0 && !resilience.IsChange(args[0]) {
				dir, words = args[0], args[1:]
			}
			return runWhatIf(cmd.Context(), s, dir, words, &f)
		},
	}
	addClusterFlags(s, cmd, &f.clusterFlags)
	addOneOf(s, cmd, &f.format, "output", "o", "print as a table, as json or yaml, as markdown for a comment, or as an svg map of what --every names (by default nodes)", asTable, asJSON, asYAML, asMarkdown, asSVG)
	addFromOr(s, cmd, &f.from, fromInventory)
	addOneOf(s, cmd, &f.every, "every", "", "show the volumes without each of them, after the changes", "node", "zone", "disk")
	flags := cmd.Flags()
	flags.StringArrayVar(&f.require, "require", nil, `exit with 1 unless this holds, such as "any one node:no-stop" (repeatable)`)
	complete(s, cmd, "require", "any one node", "any one zone", "any one disk", "any one node:no-stop", "any one node:no-degraded")
	flags.StringArrayVar(&f.like, "like", nil, "with add: the node/NAME or disk/ID to copy (once for each add)")
	flags.StringArrayVar(&f.node, "node", nil, "with add N disks: the node that gets them (once for each)")
	complete(s, cmd, "like")
	complete(s, cmd, "node")
	return cmd
}

// question reads what is asked. The error is one of usage.
func (f *whatIfFlags) question(words []string) (fn.Question, error) {
	q := fn.Question{Every: string(f.every)}
	var err error
	if words, err = f.rejoin(words); err != nil {
		return q, err
	}
	if q.Changes, err = resilience.ParseChanges(words); err != nil {
		return q, err
	}
	for _, text := range f.require {
		r, err := resilience.ParseRequirement(text)
		if err != nil {
			return q, err
		}
		q.Requirements = append(q.Requirements, r)
	}
	if q.Every == "" && f.format == asSVG {
		q.Every = "node"
	}
	return q, nil
}

// rejoin gives each add that is several arguments its flags back, which the shell's words lose: they are in the same order.
func (f *whatIfFlags) rejoin(words []string) ([]string, error) {
	var all []string
	like, node := f.like, f.node
	for at, word := range words {
		all = append(all, word)
		ends := at+1 == len(words) || resilience.IsChange(words[at+1])
		begun := at >= 2 && words[at-2] == string(resilience.Add)
		if !begun || !ends {
			continue
		}
		if len(like) > 0 {
			all, like = append(all, "--like", like[0]), like[1:]
		}
		if strings.HasPrefix(word, "disk") && len(node) > 0 {
			all, node = append(all, "--node", node[0]), node[1:]
		}
	}
	for name, left := range map[string][]string{"like": like, "node": node} {
		if len(left) > 0 {
			return nil, usage("--%s %s belongs to no change: it is for add", name, left[0])
		}
	}
	return all, nil
}

func runWhatIf(ctx context.Context, s program, dir string, words []string, f *whatIfFlags) error {
	q, err := f.question(words)
	if err != nil {
		return asUsage(err)
	}
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	if finding.Failed(l.findings) {
		return report(s.streams, l.findings) // half an inventory would give half an answer
	}
	q.Package = l.Input()
	if err := f.look(ctx, s, l, &q); err != nil {
		return err
	}
	stop := terminal.Progress(s.err, "judging")
	w, err := s.function.WhatIf(q)
	stop()
	if err != nil {
		return asUsage(err)
	}
	next := planning{
		Plan:     plan.Plan{Against: againstRendered, Findings: w.Next.Findings, Transitions: w.Next.Transitions, Verbose: *s.verbose},
		function: s.function, pkg: w.Package, facts: w.Next.Facts,
	}
	if w.Next.Facts != nil && !finding.Failed(w.Next.Findings) {
		if changes := plan.Between(s.function, folder.Ours(w.Package.Output), w.Next.Output()); len(changes) > 0 {
			next.Changes = s.function.Assess(next.pkg, next.facts, changes)
		}
	}
	if err := printWhatIf(s.out, f, q, &w, &next); err != nil {
		return err
	}
	return verdict(report(s.streams, append(l.findings, w.Failures()...)))
}

// asUsage makes a mistake in a change or a requirement one of usage.
func asUsage(err error) error {
	var misused resilience.UsageError
	if errors.As(err, &misused) {
		return usage("%v", err)
	}
	return err
}

// look reads the facts that --from names, if they are not those of the package.
func (f *whatIfFlags) look(ctx context.Context, s program, l loaded, q *fn.Question) error {
	if f.from != fromLive {
		objects, err := snapshotAt(s, f.from)
		q.Facts = objects
		return err
	}
	c, err := f.connectOrFrom()
	if err != nil {
		return err
	}
	taken, err := f.take(ctx, s, c, l)
	if err != nil {
		return err
	}
	q.Facts, q.Live, q.Unread = append([]*krm.Object{}, taken.Objects()...), true, taken.Denied
	return nil
}

// take reads what a snapshot has of a cluster, as far as it may be read.
func (f *whatIfFlags) take(ctx context.Context, s program, c *cluster.Cluster, l loaded) (*snapshot.Snapshot, error) {
	defer terminal.Progress(s.err, "reading "+c.String())()
	served, err := c.Served(ctx)
	if err != nil {
		return nil, err
	}
	options := snapshot.Options{Kinds: s.function.Kinds().Read(), Served: served, Readable: true}
	options.Keep(s.function.Kinds().Specs(l.Objects))
	return snapshot.Take(ctx, c, options)
}

// machineWhatIf is what -o json prints.
type machineWhatIf struct {
	From string `json:"from"`
	resilience.Answer
	Next machineNext `json:"next"`
}

// machineNext is the next render, as plan prints it; the risk is "" without changes.
type machineNext struct {
	Risk     change.Risk         `json:"risk"`
	Changes  []plan.ChangeRecord `json:"changes"`
	Findings []machineFinding    `json:"findings"`
}
