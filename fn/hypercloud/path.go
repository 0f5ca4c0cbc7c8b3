package hypercloud

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// written is where the value at a path stands, or the nearest thing around it; found is
// false for what is not written.
func written(o *krm.Object, path []any) (off int32, found bool) {
	n := o.Node
	for _, step := range path {
		switch step := step.(type) {
		case string:
			f := n.Field(step)
			if f == nil {
				return off, n.Kind() == document.Scalar // it stands for its name
			}
			n, off = &f.Value, f.Off
		case int:
			if n.Kind() == document.Map {
				continue // one item in the place of a list
			}
			if step >= len(n.Items()) {
				return off, false
			}
			n = &n.Items()[step]
			off = n.Off
		}
		if n.Kind() == document.Scalar {
			off = n.Off
		}
	}
	return off, true
}

// fieldOf is a path as messages have it.
func fieldOf(o *krm.Object, path []any) string {
	field := ""
	n := o.Node
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if n.Kind() == document.Scalar {
				return field // it stands for its name
			}
			field += orElse(field == "", "", ".") + step
			n = n.Get(step)
		case int:
			if n.Kind() == document.Map {
				continue // one item in the place of a list
			}
			field += fmt.Sprintf("[%d]", step)
			items := n.Items()
			if n = nil; step < len(items) {
				n = &items[step]
			}
		}
	}
	return field
}
