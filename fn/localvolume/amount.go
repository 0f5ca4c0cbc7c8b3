package localvolume

import (
	"math"

	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
)

// amount is a size as a person wrote it. It is 0 bytes where none is written.
type amount struct {
	text  string
	bytes int64
}

// readAmount reads a Kubernetes quantity. What is too large for bytes is as large as can be.
func readAmount(n *document.Node, path ...string) amount {
	text := n.Str(path...)
	q, err := quantity.Parse(text)
	if err != nil {
		return amount{text: text}
	}
	return amount{text, q.Value()}
}

// is reports whether a disk of so many bytes is as large as the amount says.
func (a amount) is(bytes int64) bool {
	same, err := quantity.IsDisk(bytes, a.text)
	return err == nil && same
}

// roundUp rounds bytes up to whole extents.
func roundUp(bytes, extent int64) int64 {
	if extent <= 0 || bytes <= 0 {
		return max(bytes, 0)
	}
	if rest := bytes % extent; rest > 0 && bytes <= math.MaxInt64-extent {
		return bytes - rest + extent
	}
	return bytes
}

// roundDown rounds bytes down to whole extents.
func roundDown(bytes, extent int64) int64 {
	if extent <= 0 || bytes <= 0 {
		return max(bytes, 0)
	}
	return bytes - bytes%extent
}
