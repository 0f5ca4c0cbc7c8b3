// Package quantity reads amounts of bytes, and writes them for people.
package quantity

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MaxLength is the most characters of a quantity: its digits are kept in full.
const MaxLength = 64

// Parse reads a quantity as Kubernetes does, if it is not absurdly long.
func Parse(text string) (resource.Quantity, error) {
	if len(text) > MaxLength {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}

// Bytes reads a quantity of bytes, rounded up; 0 where text is none.
func Bytes(text string) int64 {
	q, err := Parse(text)
	if err != nil {
		return 0
	}
	return q.Value()
}

// Size writes bytes for people: whole binary units where they fit.
func Size(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.4g%s", value, units[unit])
}
