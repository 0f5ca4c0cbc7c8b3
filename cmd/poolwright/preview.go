package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/cstorvolume/preview"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/terminal"
)

const previewLong = `Preview the objects that the operators of cStor will create for claims: from the
PersistentVolumeClaim to the volume, its replicas, the target and its budget, and the
pools before and after. Nothing is written, and no cluster is contacted.

Without KIND/NAME, preview shows every claim of every CStorVolumeClass of the package in
DIR. KIND/NAME limits it to one class, one PersistentVolumeClaim of the package or its
inventory, or the claim of a CStorVolumeConfig. Values that only the cluster can know are
shown as <what it is>. If the operator chooses pools at random, the candidates are listed.

Anything the operators would reject is an error with their reason, and objects that they
create anyway are still shown. A picture shows the pools by zone and node, with their
disks and fill level, and the replicas that they have, get and may get.`

const previewExample = `  poolwright preview
  poolwright preview storage CStorVolumeClass/db
  poolwright preview storage PersistentVolumeClaim/shop/pg-0 -o yaml

  # A picture for the pull request
  poolwright preview storage -o svg > volumes.svg`

func newPreview(s program) *cobra.Command {
	var f format
	cmd := &cobra.Command{
		Use:               "preview [DIR] [KIND/NAME]",
		Short:             "Preview the objects that the operators of cStor will create for claims",
		Long:              previewLong,
		Example:           previewExample,
		Args:              atMost(2, "preview takes one DIR and one KIND/NAME"),
		ValidArgsFunction: s.explainWords,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, subject, err := explainArgs(args)
			if err != nil {
				return err
			}
			return runPreview(s, dir, subject, f)
		},
	}
	addPictureFormat(s, cmd, &f, "print as table, yaml (the objects) or json", "table", asYAML, asJSON)
	return cmd
}

func runPreview(s program, dir string, subject *ref, f format) error {
	l, err := load(s, dir, "")
	if err != nil {
		return err
	}
	result := l.render(s)
	if finding.Failed(result.Findings) {
		return report(s.streams, result.Findings)
	}
	var rendered []*krm.Object
	for _, o := range result.Objects {
		rendered = append(rendered, o.Object)
	}
	var about *preview.Subject
	if subject != nil {
		about = &preview.Subject{Kind: subject.kind, Namespace: subject.namespace, Name: subject.name}
	}
	claims, err := preview.Claims(result.Facts, rendered, about)
	if err != nil {
		return err
	}
	shown, findings := preview.Of(result.Facts, rendered, claims)
	if f.isPicture() {
		err = drawPreview(s, f, &shown, l, result.Facts)
	} else {
		err = printPreview(s.out, f, shown)
	}
	if err != nil {
		return err
	}
	if len(shown.Chains) == 0 {
		terminal.Printf(s.err, "%s: there is no claim of cStor to preview\n", dir)
	}
	for i := range findings {
		findings[i].Pos = positionOf(rendered, findings[i].Object)
	}
	return verdict(report(s.streams, finding.Sort(append(result.Findings, findings...))))
}

// drawPreview draws the pools as they are, with what comes to them.
func drawPreview(s program, f format, shown *preview.Preview, l loaded, facts *inventory.Facts) error {
	objects, _ := s.function.Facts(l.Objects, false) // its findings are those of the render
	title := "Volumes to come: " + finding.Count(len(shown.Chains), "claim")
	if len(shown.Chains) == 1 && shown.Chains[0].Claim.Name != "" {
		title = "Volume to come: " + shown.Chains[0].Claim.String()
	}
	return printPicture(s.out, f, title, shown.Draw(poolsOf(s.function.Tree(objects, krm.ID{}), facts)))
}

// positionOf is where an object is written, if it is.
func positionOf(objects []*krm.Object, ref finding.Ref) document.Position {
	for _, o := range objects {
		if o.Ref == ref && o.Source != nil {
			return o.At()
		}
	}
	return document.Position{}
}

func printPreview(w io.Writer, f format, p preview.Preview) error {
	switch f {
	case asYAML:
		return previewYAML(w, p)
	case asJSON:
		return previewJSON(w, p)
	}
	for i, c := range p.Chains {
		if i > 0 {
			terminal.Println(w)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		terminal.Printf(t, "OBJECT\tOWNER\n")
		for _, o := range c.Objects {
			terminal.Printf(t, "%s\t%s\n", o.Ref, dash(ownerOf(o)))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		switch {
		case len(c.Candidates) > 0:
			terminal.Printf(w, "placement: %s, of %s\n", c.Placement, strings.Join(c.Candidates, ", "))
		case c.Placement != "":
			terminal.Printf(w, "placement: %s\n", c.Placement)
		}
	}
	return previewPools(w, p.Pools)
}

// ownerOf names what owns an object.
func ownerOf(o *krm.Object) string {
	for _, owner := range o.Node.Seq("metadata", "ownerReferences") {
		return owner.Str("kind") + " " + owner.Str("name")
	}
	return ""
}

// previewPools prints the pools before and after.
func previewPools(w io.Writer, pools []preview.Pool) error {
	if len(pools) == 0 {
		return nil
	}
	terminal.Println(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	terminal.Printf(t, "POOL\tZONE\tNODE\tPHASE\tREPLICAS\tAFTER\tFREE\tAFTER\n")
	for _, p := range pools {
		after, free, left := fmt.Sprint(p.Replicas+p.Sure), "", ""
		if p.Possible > p.Sure {
			after += fmt.Sprintf(" to %d", p.Replicas+p.Possible)
		}
		if p.Free >= 0 {
			free, left = quantity.Size(p.Free), quantity.Size(max(0, p.Free-p.SureBytes))
			if p.MostBytes > p.SureBytes {
				left = quantity.Size(max(0, p.Free-p.MostBytes)) + " to " + left
			}
		}
		terminal.Printf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", p.Name, dash(p.Zone), dash(p.Node), dash(p.Phase), p.Replicas, after, dash(free), dash(left))
	}
	return t.Flush()
}

// previewYAML prints the objects of the chains as documents.
func previewYAML(w io.Writer, p preview.Preview) error {
	first := true
	for _, c := range p.Chains {
		for _, o := range c.Objects {
			text := document.Append(nil, o.Node, 0)
			if !first {
				text = append([]byte("---\n"), text...)
			}
			first = false
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// machinePreview is a preview as -o json prints it. Sizes are bytes.
type machinePreview struct {
	Chains []machineChain `json:"chains"`
	Pools  []machinePool  `json:"pools"`
}

type machineChain struct {
	Claim      *machineRef       `json:"claim,omitempty"` // not for a CStorVolumeConfig that no claim asked for
	Objects    []json.RawMessage `json:"objects"`
	Placement  string            `json:"placement,omitempty"`
	Candidates []string          `json:"candidates,omitempty"`
}

type machinePool struct {
	Name      string        `json:"name"`
	Namespace string        `json:"namespace"`
	Node      string        `json:"node,omitempty"`
	Zone      string        `json:"zone,omitempty"`
	Phase     string        `json:"phase,omitempty"`
	Replicas  machineCount  `json:"replicas"`
	Free      *machineSpace `json:"free,omitempty"`
}

type machineCount struct {
	Before int `json:"before"`
	After  int `json:"after"`
	AtMost int `json:"atMost"`
}

type machineSpace struct {
	Before  int64 `json:"before"`
	After   int64 `json:"after"`
	AtLeast int64 `json:"atLeast"`
}

func previewJSON(w io.Writer, p preview.Preview) error {
	out := machinePreview{[]machineChain{}, []machinePool{}}
	for _, c := range p.Chains {
		shown := machineChain{Placement: c.Placement, Candidates: c.Candidates}
		if c.Claim.Name != "" {
			claim := machineRef(c.Claim)
			shown.Claim = &claim
		}
		for _, o := range c.Objects {
			shown.Objects = append(shown.Objects, document.AppendJSON(nil, o.Node))
		}
		out.Chains = append(out.Chains, shown)
	}
	for _, p := range p.Pools {
		shown := machinePool{
			Name: p.Name, Namespace: p.Object.Namespace, Node: p.Node, Zone: p.Zone, Phase: p.Phase,
			Replicas: machineCount{p.Replicas, p.Replicas + p.Sure, p.Replicas + p.Possible},
		}
		if p.Free >= 0 {
			shown.Free = &machineSpace{p.Free, max(0, p.Free-p.SureBytes), max(0, p.Free-p.MostBytes)}
		}
		out.Pools = append(out.Pools, shown)
	}
	return printAs(w, asJSON, out)
}
