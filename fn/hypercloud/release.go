package hypercloud

import (
	"cmp"
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
//
// Source: Rook, PendingReleaseNotes and deploy/examples, 1.14 to 1.20.
const (
	withCSIOperator release = 18 // the CSI drivers have an operator of their own
	withDrivers     release = 20 // Rook makes no CSI drivers any more
	newestRelease   release = 20
)

// runs says which Ceph releases a release of Rook runs, from and to which major number;
// found is false for a release that is not known.
//
// Source: Rook, Documentation/CRDs/Cluster/ceph-cluster-crd.md (cephVersion), 1.14 to 1.20.
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
//
// Source: Rook, deploy/examples/cluster.yaml, 1.14 to 1.20.
func (r release) image() string {
	switch {
	case r < 16:
		return "quay.io/ceph/ceph:v18.2.4"
	case r < 20:
		return "quay.io/ceph/ceph:v19.2.3"
	}
	return "quay.io/ceph/ceph:v20.2.4"
}

// fits reports whether the release of Rook runs a Ceph; one that is not known runs any.
func (r release) fits(v version) bool {
	from, to, known := r.runs()
	return !known || v.major >= from && v.major <= to
}

// version is that of a Ceph.
type version struct {
	major, minor, patch int
	exact               bool // all three are said
}

// versionOf reads the version of a Ceph from the tag of its image: v20.2.4, or
// v18.2.4-20240724; found is false where the tag says none.
func versionOf(image string) (v version, found bool) {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, found = strings.Cut(tag, ":")
	tag, _, _ = strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	parts := strings.Split(tag, ".")
	for i, to := range []*int{&v.major, &v.minor, &v.patch} {
		if i >= len(parts) {
			return v, found
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return version{}, false
		}
		*to = n
	}
	v.exact = true
	return v, found
}

func (v version) less(other version) bool {
	return cmp.Or(v.major-other.major, v.minor-other.minor, v.patch-other.patch) < 0
}
