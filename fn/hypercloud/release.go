package hypercloud

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/system"
)

// release is a release of Rook 1: its minor number.
type release int

// parseRelease reads 1.20, 1.20.1 or v1.20.1.
func parseRelease(text string) release {
	r, _, _ := parsePatch(text)
	return r
}

// parsePatch reads a release of Rook and its patch; exact is false where the text names none.
func parsePatch(text string) (r release, patch int, exact bool) {
	text, _, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		return 0, 0, false
	}
	n, _ := strconv.Atoi(parts[1]) // the definition has seen to it
	if len(parts) < 3 {
		return release(n), 0, false
	}
	patch, err := strconv.Atoi(parts[2])
	return release(n), patch, err == nil
}

func (r release) String() string { return "1." + strconv.Itoa(int(r)) }

// Releases of Rook from which on something is so. The sources are documents of Rook, each
// of the release that it is about.
//
// Source: Rook, PendingReleaseNotes and deploy/examples, 1.14 to 1.21.
const (
	// The CSI drivers have an operator of their own: Getting-Started/quickstart.md of 1.18 adds csi-operator.yaml.
	withCSIOperator release = 18
	// Rook makes no CSI drivers: Upgrade/rook-upgrade.md of 1.20.
	withDrivers release = 20
	// The images of the CSI drivers are in a ConfigMap that the OperatorConfig names: Storage-Configuration/Ceph-CSI/custom-images.md of 1.20.
	withImageSet release = 20
	// Clients use the second version of Ceph's protocol by default: Upgrade/rook-upgrade.md of 1.21, breaking changes.
	withMsgr2 release = 21

	oldestRelease release = 14
	newestRelease release = 21
)

// newestRook is the newest release of Rook that is known.
func newestRook() system.Newest {
	return system.Newest{Product: "Rook", Release: newestRelease.String()}
}

// supported is what Rook documents of one of its releases.
type supported struct {
	release  release
	from, to int    // major numbers of the Ceph releases that it runs
	image    string // of Ceph, if the spec names none
}

// releases lists the releases that are known, oldest first. The table of the document ends with 1.20; 1.21
// has that of its own cluster.yaml.
//
// Source: Rook, Documentation/Getting-Started/maintenance-and-support.md (Supported Versions), 1.20.
// Source: Rook, deploy/examples/cluster.yaml, 1.21.
func releases() []supported {
	const reef, squid, tentacle = "quay.io/ceph/ceph:v18.2.4", "quay.io/ceph/ceph:v19.2.3", "quay.io/ceph/ceph:v20.2.4"
	return []supported{
		{14, 17, 18, reef},
		{15, 17, 19, reef},
		{16, 18, 19, squid},
		{17, 18, 19, squid},
		{18, 18, 20, squid},
		{19, 19, 20, squid},
		{20, 19, 20, tentacle},
		{21, 19, 20, tentacle},
	}
}

// documented is what is known of a release: of a newer one, what is known of the newest.
func (r release) documented() supported {
	all := releases()
	return all[min(max(int(r-all[0].release), 0), len(all)-1)]
}

// known reports whether a release is one of those that are known.
func (r release) known() bool { return r >= oldestRelease && r <= newestRelease }

// image is the image of Ceph where the spec names none.
func (r release) image() string { return r.documented().image }

// fits reports whether the release of Rook runs a Ceph; one that is not known runs any.
func (r release) fits(v version) bool {
	d := r.documented()
	return !r.known() || v.major >= d.from && v.major <= d.to
}

// since is from which patch on each release of Rook has something. Those between the first
// and the last that are not listed have it from the start, as have all newer ones.
type since []struct {
	release release
	patch   int
}

// withKeyType are the releases of Rook that have security.cephx.csi.keyType in the
// CephCluster.
//
// Source: Rook, Storage-Configuration/Advanced/cephx-key-rotation.md, 1.20.7.
func withKeyType() since { return since{{19, 9}, {20, 5}} }

// in reports whether a release has it. One without an exact patch counts as its newest.
func (s since) in(r release, patch int, exact bool) bool {
	for _, first := range s {
		if r == first.release {
			return !exact || patch >= first.patch
		}
	}
	return r > s[len(s)-1].release
}

// String names the first releases that have it.
func (s since) String() string {
	names := make([]string, len(s))
	for i, first := range s {
		names[i] = first.release.String() + "." + strconv.Itoa(first.patch)
	}
	return strings.Join(names, " and ")
}

// version is that of a Ceph.
type version struct {
	major, minor, patch int
	exact               bool // all three are said
}

// tagOf is the tag of an image, which may come before a digest, and after a registry with a port.
func tagOf(image string) (tag string, found bool) {
	image, _, _ = strings.Cut(image, "@")
	_, tag, found = strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return tag, found
}

// versionOf reads the version of a Ceph from the tag of its image: v20.2.4, or
// v18.2.4-20240724; found is false where the tag says none.
func versionOf(image string) (v version, found bool) {
	tag, found := tagOf(image)
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
