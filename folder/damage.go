package folder

import (
	"errors"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// emptied says what is wrong with a rendered file without content.
const emptied = "is empty, and no render writes an empty file: restore it from Git, or delete it to render without what it said"

// Damage says why a file must not be used that others read, too, and read otherwise: a merge left
// markers in it, or it was rendered, and has lost its content. nil where it is sound.
func Damage(src *document.Source, rendered bool) *finding.Finding {
	f := finding.Finding{Severity: finding.Error, Rule: "read", Pos: at(src.Name)}
	var conflict *document.SyntaxError
	switch {
	case errors.As(document.CheckMerged(src), &conflict):
		f.Pos, f.Message = conflict.Pos, conflict.Msg
	case rendered && document.Blank(src.Data):
		f.Message = emptied
	default:
		return nil
	}
	return &f
}
