package localvolume

import (
	"math"
	"strings"

	"github.com/poolwright/poolwright/schema/quantity"

	"github.com/poolwright/poolwright/schema/document"
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

// is reports whether a disk of so many bytes is as large as the amount says: exactly where
// that is in bytes, else rounded to the unit that is written.
func (a amount) is(bytes int64) bool {
	suffix := strings.TrimLeft(a.text, "+0123456789.")
	exponent := len(suffix) > 1 && strings.ContainsAny(suffix[:1], "eE")
	if suffix == "" || exponent || a.bytes == bytes {
		return a.bytes == bytes
	}
	unit, err := quantity.Parse("1" + suffix)
	if err != nil || unit.Value() <= 0 {
		return false
	}
	one := float64(unit.Value())
	// A decimal fraction is a finer unit: 1.8T is known to a tenth.
	if _, fraction, found := strings.Cut(strings.TrimSuffix(a.text, suffix), "."); found {
		one /= math.Pow10(len(fraction))
	}
	return math.Round(float64(bytes)/one) == math.Round(float64(a.bytes)/one)
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
