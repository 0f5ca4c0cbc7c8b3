package quantity

import (
	"math"
	"strings"
)

// IsDisk reports whether a disk of so many bytes is of the size that is written: exactly where that is in
// bytes, else rounded to the unit that is written, of which a decimal fraction is a finer one: 1.8T is
// known to a tenth. The error is that of Parse.
func IsDisk(bytes int64, written string) (bool, error) {
	q, err := Parse(written)
	if err != nil {
		return false, err
	}
	size := q.Value()
	suffix := strings.TrimLeft(written, "+0123456789.")
	exponent := len(suffix) > 1 && strings.ContainsAny(suffix[:1], "eE")
	if suffix == "" || exponent || size == bytes {
		return size == bytes, nil
	}
	unit, err := Parse("1" + suffix)
	if err != nil || unit.Value() <= 0 {
		return false, err
	}
	one := float64(unit.Value())
	if _, fraction, found := strings.Cut(strings.TrimSuffix(written, suffix), "."); found {
		one /= math.Pow10(len(fraction))
	}
	return math.Round(float64(bytes)/one) == math.Round(float64(size)/one), nil
}
