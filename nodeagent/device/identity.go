package device

import (
	"errors"
	"fmt"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/schema/quantity"
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
	return id.Differs(d)
}

// Differs is nil if nothing that is declared is otherwise, as of a disk that is named by its path.
func (id Identity) Differs(d *Device) error {
	if want := disk.WWN(id.WWN); want != "" && want != d.WWN {
		return fmt.Errorf("its wwn is %q, and %q is declared", d.WWN, id.WWN)
	}
	if want := strings.TrimSpace(id.Serial); want != "" && want != d.Serial {
		return fmt.Errorf("its serial is %q, and %q is declared", d.Serial, id.Serial)
	}
	if id.Size != "" {
		same, err := quantity.IsDisk(d.Size, id.Size)
		if err != nil {
			return fmt.Errorf("size %q: %w", id.Size, err)
		}
		if !same {
			return fmt.Errorf("its size is %d, and %s is declared", d.Size, id.Size)
		}
	}
	return nil
}
