// Package quantity writes amounts of bytes for people.
package quantity

import "fmt"

// Size writes bytes for people: whole binary units where they fit.
func Size(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.4g%s", value, units[unit])
}
