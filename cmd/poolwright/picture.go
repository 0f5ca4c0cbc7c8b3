package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/picture"
)

// Values of -o where pools are shown.
const (
	asSVG format = "svg"
	asDOT format = "dot"
)

func (f format) isPicture() bool { return f == asSVG || f == asDOT }

// addPictureFormat adds -o with pictures to a verb, beside the formats that it has.
func addPictureFormat(s program, cmd *cobra.Command, f *format, help string, formats ...format) {
	addOneOf(s, cmd, f, "output", "o", help+"; svg is a picture, light or dark as the reader has it, dot is for Graphviz", append(formats, asSVG, asDOT)...)
}

// printPicture draws pools.
func printPicture(w io.Writer, f format, title string, pools []picture.Pool) error {
	p := picture.Picture{Title: title, Pools: pools}
	drawn := p.SVG()
	if f == asDOT {
		drawn = p.DOT()
	}
	_, err := w.Write(drawn)
	return err
}

// poolsOf are the pools in trees, in the zones of their nodes.
func poolsOf(trees []*health.Tree, facts *inventory.Facts) []picture.Pool {
	return picture.FromTrees(trees, func(node string) string {
		if n := facts.Node(node); n != nil {
			return n.Zone
		}
		return ""
	})
}
