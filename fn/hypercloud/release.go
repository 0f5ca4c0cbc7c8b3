package hypercloud

import (
	"strconv"
	"strings"
)

// release is a release of Rook 1: its minor number.
type release int

// parseRelease reads 1.20, 1.20.1 or v1.20.1.
func parseRelease(text string) release {
	_, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor, _, _ = strings.Cut(minor, "-")
	n, _ := strconv.Atoi(minor) // the definition has seen to it
	return release(n)
}

func (r release) String() string { return "1." + strconv.Itoa(int(r)) }

// Releases of Rook from which on something is so.
const (
	withCSIOperator release = 18 // the CSI drivers have an operator of their own
	withDrivers     release = 20 // Rook makes no CSI drivers any more
	newestRelease   release = 20
)

// runs says which Ceph releases a release of Rook runs, from and to which major number;
// found is false for a release that is not known.
func (r release) runs() (from, to int, found bool) {
	for _, row := range []struct {
		first, last release
		from, to    int
	}{{14, 15, 17, 18}, {16, 17, 18, 19}, {18, 19, 18, 20}, {20, 20, 19, 20}} {
		if r >= row.first && r <= row.last {
			return row.from, row.to, true
		}
	}
	return 0, 0, false
}

// image is the image of Ceph where the spec names none.
func (r release) image() string {
	switch {
	case r < 16:
		return "quay.io/ceph/ceph:v18.2.4"
	case r < 20:
		return "quay.io/ceph/ceph:v19.2.3"
	}
	return "quay.io/ceph/ceph:v20.2.4"
}
