package hypercloud

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/schema/finding"
)

// checking holds the spec against what can never change and against itself.
type checking struct{ *input }

// checkCluster holds the spec against the release of Rook, and against the cluster as it
// is: some of it can never change.
func (k *checking) checkCluster() {
	c := &k.cfg.Spec.Ceph
	for _, before := range k.befores() {
		if dir := before.Node.Str("spec", "dataDirHostPath"); dir != "" && dir != c.DataDirHostPath {
			k.reportAt(finding.Error, "data-dir-changed", []any{"spec", "ceph", "dataDirHostPath"}, "the cluster has %s, and that never changes: the monitors would begin with nothing; write dataDirHostPath: %s", dir, dir)
			break
		}
	}
	k.checkEngine()
	k.checkImage()
	k.checkKeyType()
	k.checkKernels()
	for _, o := range slices.Concat(k.Facts.Objects(cephGroup, clusterKind), k.Held) {
		if o.GroupKind() == gk(cephGroup, clusterKind) && o.Namespace == k.Object.Namespace && o.Name != k.Object.Name && o.Owner() != k.owner {
			k.reportAt(finding.Error, "namespace-taken", []any{"metadata", "namespace"}, "has %s already, and Rook takes one cluster a namespace; call the spec %s to take that over, or move it to another namespace", o.Ref, o.Name)
		}
	}
	if k.live == nil {
		return
	}
	if mons, said := k.live.Node.Get("spec", "mon", "count").Int(); said && int(mons) > c.Mons {
		k.reportAt(finding.Warning, "fewer-mons", []any{"spec", "ceph", "mons"}, "the live cluster has %d; with fewer, fewer may fail", mons)
	}
}

// checkEngine refuses objects of one engine in output that is protected for another one only.
func (k *checking) checkEngine() {
	if delivery := k.cfg.Spec.Delivery.Type; delivery != deliverManifests && k.Engine != "all" && k.Engine != delivery {
		k.reportAt(finding.Error, "engine-contradicts", []any{"spec", "delivery"}, "is %s, and the RenderConfig says engine: %s, for which nothing in the output is protected from %s; write engine: %s or all in the RenderConfig, or delivery: manifests", delivery, k.Engine, delivery, delivery)
	}
}

// checkImage settles the image of Ceph: what the spec leaves open stays as it was, as far
// as the release of Rook runs it.
func (k *checking) checkImage() {
	c, release := &k.cfg.Spec.Ceph, k.cfg.release
	path := []any{"spec", "ceph", "image"}
	newest := version{}
	from := ""
	for _, before := range k.befores() {
		image := before.Node.Str("spec", "cephVersion", "image")
		v, read := versionOf(image)
		if c.Image == "" && read && release.fits(v) {
			c.Image = image
		}
		if read && newest.less(v) {
			newest, from = v, image
		}
	}
	c.Image = cmp.Or(c.Image, release.image())
	v, read := versionOf(c.Image)
	switch newer := newestRook().Newer(k.cfg.Spec.Rook.Version, fmt.Sprintf("to have the definitions of %s, to make no CSI drivers, and to run %s", newestRelease, c.Image)); {
	case newer != "":
		k.reportAt(finding.Warning, "newer-release", []any{"spec", "rook", "version"}, "%s", newer)
	case !read:
		k.reportAt(finding.Warning, "image-version", path, "%s has no version in its tag, so whether Rook %s runs it is not known; write one such as %s", c.Image, release, release.image())
	case !release.fits(v):
		k.reportAt(finding.Error, "image-not-run", path, "Rook %s runs Ceph v%d to v%d, and not %s; write one such as %s, or another rook.version", release, release.documented().from, release.documented().to, c.Image, release.image())
	case !v.exact:
		k.reportAt(finding.Warning, "image-version", path, "%s is no exact tag, and may be another Ceph tomorrow; write one such as %s", c.Image, release.image())
	}
	if read && v.less(newest) {
		k.reportAt(finding.Error, "ceph-downgrade", path, "the cluster has %s, and Ceph cannot go back to %s; write image: %s or a newer one", from, c.Image, from)
	}
}

// checkNames refuses a name that two classes would have.
func (k *checking) checkNames() {
	seen := map[string]string{}
	check := func(list string, i int, name string) {
		if first, found := seen[name]; found {
			k.reportAt(finding.Error, "name-twice", []any{"spec", list, i, "name"}, "%s is the name of %s, too, and both give their class that name; give one of them another", name, first)
			return
		}
		seen[name] = fmt.Sprintf("spec.%s[%d]", list, i)
	}
	for i := range k.cfg.Spec.Block {
		check("block", i, k.cfg.Spec.Block[i].Name)
	}
	for i := range k.cfg.Spec.Filesystem {
		check("filesystem", i, k.cfg.Spec.Filesystem[i].Name)
	}
	stores := map[string]bool{}
	for i := range k.cfg.Spec.Object {
		name := k.cfg.Spec.Object[i].Name
		if stores[name] {
			k.reportAt(finding.Error, "name-twice", []any{"spec", "object", i, "name"}, "%s is the name of two object stores; give one of them another", name)
		}
		stores[name] = true
	}
}
