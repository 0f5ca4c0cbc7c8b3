package device

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poolwright/poolwright/fn/disk"
)

// Identity is what a disk is declared to be. What is left out is not compared.
type Identity struct {
	WWN    string // in any form that tools write
	Serial string
	Size   string // as written: 200Gi, 4T, or bytes
}

// String is the identity for people.
func (id Identity) String() string {
	var parts []string
	for _, part := range []struct{ name, value string }{{"wwn", id.WWN}, {"serial", id.Serial}, {"size", id.Size}} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	return strings.Join(parts, ", ")
}

// Known reports whether there is enough to know a disk by: a WWN or a serial number.
func (id Identity) Known() bool { return id.WWN != "" || id.Serial != "" }

// Matches is nil if all that is declared is so, else it says what is not.
func (id Identity) Matches(d *Device) error {
	if !id.Known() {
		return errors.New("neither wwn nor serial is declared")
	}
	if want := disk.WWN(id.WWN); want != "" && want != d.WWN {
		return fmt.Errorf("its wwn is %q, and %q is declared", d.WWN, id.WWN)
	}
	if want := strings.TrimSpace(id.Serial); want != "" && want != d.Serial {
		return fmt.Errorf("its serial is %q, and %q is declared", d.Serial, id.Serial)
	}
	if id.Size != "" {
		same, err := SameSize(id.Size, d.Size)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("its size is %d, and %s is declared", d.Size, id.Size)
		}
	}
	return nil
}

var sizeUnit = regexp.MustCompile(`^([0-9]+)([KMGTPE]i|[kMGTPE])$`)

// SameSize reports whether a disk of so many bytes is of the size written: exactly where it
// is written in bytes, else rounded to the unit written (spec-localvolume, "size of an
// identity").
func SameSize(written string, bytes int64) (bool, error) {
	written = strings.TrimSpace(written)
	q, err := resource.ParseQuantity(written)
	if err != nil {
		return false, fmt.Errorf("size %q: %w", written, err)
	}
	m := sizeUnit.FindStringSubmatch(written)
	if m == nil {
		return q.Value() == bytes, nil
	}
	one := resource.MustParse("1" + m[2])
	unit := one.Value()
	return (bytes+unit/2)/unit*unit == q.Value(), nil
}
