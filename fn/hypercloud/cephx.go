package hypercloud

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// Types of CephX keys.
const (
	keysAES     = "aes"
	keysAES256K = "aes256k"
)

// kernelAES256K is the oldest that mounts volumes with keys of type aes256k.
//
// Source: Rook, Storage-Configuration/Advanced/cephx-key-rotation.md, 1.20.7.
const kernelAES256K kernel = 700

// kernelMsgr2 is the oldest that mounts volumes with the second version of Ceph's protocol.
//
// Source: Rook, Upgrade/rook-upgrade.md, 1.21.
const kernelMsgr2 kernel = 511

// makesAES256K reports whether a Ceph makes keys of type aes256k unless another type
// is set: from 19.2.6 and 20.2.4 on. Every v20 counts, since a cluster gets its patches later.
//
// Source: Rook, Storage-Configuration/Advanced/cephx-key-rotation.md, 1.20.7.
func makesAES256K(v version, read bool) bool {
	return !read || v.major >= 20 || v.major == 19 && v.exact && !v.less(version{major: 19, minor: 2, patch: 6})
}

// checkKeyType settles the type of the keys that the CSI drivers get. The kernel mounts
// volumes with them, so that one that is too old fails all mounts of its node.
//
// Source: Rook, Storage-Configuration/Advanced/cephx-key-rotation.md, 1.20.7.
func (k *checking) checkKeyType() {
	path, wanted := []any{"spec", "rook", "cephx"}, k.cfg.Spec.Rook.CephX
	r, patch, exact := k.rook()
	v, read := versionOf(k.cfg.Spec.Ceph.Image)
	switch {
	case !withKeyType().in(r, patch, exact):
		if wanted != "" {
			k.reportAt(finding.Error, "no-key-type", path, "Rook %s has no types of keys, which came with %s; remove cephx, or write a newer rook.version", k.rookText(), withKeyType())
		}
		return
	case wanted != keysAES && !makesAES256K(v, read):
		if wanted != "" {
			k.reportAt(finding.Error, "no-key-type", path, "%s makes no keys of type aes256k, which came with v19.2.6 and v20.2.4; remove cephx, or write a newer ceph.image", k.cfg.Spec.Ceph.Image)
		}
		return
	}
	k.cfg.keyType = cmp.Or(wanted, keysAES)
	old, unknown := k.kernelsBelow(kernelAES256K)
	known := len(unknown) < len(k.Facts.Nodes)
	if len(unknown) > 0 {
		old = append(old, "the inventory does not name the kernel of "+finding.Names(unknown))
	}
	if k.cfg.keyType == keysAES256K && len(old) > 0 {
		k.reportAt(finding.Warning, "key-type", path, "aes256k needs Linux 7.0 or later on every node, but %s; volumes could not be mounted there, so aes is rendered: update the kernels, or write cephx: aes", strings.Join(old, ", and "))
		k.cfg.keyType = keysAES
		return
	}
	for _, before := range k.befores() {
		if before.Node.Str("spec", "security", "cephx", "csi", "keyType") == k.cfg.keyType {
			return
		}
	}
	switch {
	case k.cfg.keyType == keysAES256K:
		k.reportAt(finding.Info, "key-type", path, "the CSI drivers get keys of type aes256k, which the kernel of every node can use; keys that exist already stay as they are until a person rotates them")
	case known && wanted == "":
		k.reportAt(finding.Info, "key-type", path, "the CSI drivers get keys of type aes, since %s; for stronger keys, which need Linux 7.0 or later on every node, write rook.cephx: aes256k",
			orElse(len(old) == 0, "every kernel can use them", strings.Join(old, ", and ")))
	}
}

// checkKernels warns of nodes that cannot mount volumes because of the protocol that the
// release of Rook uses by default.
func (k *checking) checkKernels() {
	required, said := k.Object.Node.Get("spec", "ceph", "network", "connections", "requireMsgr2").Bool()
	if k.cfg.release < withMsgr2 || said && !required {
		return
	}
	if old, _ := k.kernelsBelow(kernelMsgr2); len(old) > 0 {
		k.reportAt(finding.Warning, "kernel-too-old", []any{"spec", "ceph", "network", "connections", "requireMsgr2"}, "Rook %s requires the second version of Ceph's protocol, which needs Linux 5.11 or later, but %s; volumes cannot be mounted there: update the kernels, or write network: {connections: {requireMsgr2: false}}", k.cfg.release, strings.Join(old, ", and "))
	}
}

// kernel is a version of Linux: 100 times its major number and its minor number.
type kernel int

// kernelOf is the kernel of a node; found is false where the snapshot does not say it.
func kernelOf(n *inventory.Node) (k kernel, text string, found bool) {
	text = n.Object.Node.Str("status", "nodeInfo", "kernelVersion")
	var major, minor int
	if count, _ := fmt.Sscanf(text, "%d.%d", &major, &minor); count < 2 {
		return 0, text, false
	}
	return kernel(100*major + min(minor, 99)), text, true
}

// kernelsBelow says of each kernel that is older than one which nodes run it, and lists the
// nodes whose kernel is unknown.
func (in *input) kernelsBelow(least kernel) (old, unknown []string) {
	byText := map[string][]string{}
	for _, n := range in.Facts.Nodes {
		switch k, text, found := kernelOf(n); {
		case !found:
			unknown = append(unknown, n.Name)
		case k < least:
			byText[text] = append(byText[text], n.Name)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		nodes := byText[text]
		old = append(old, finding.Names(nodes)+finding.Agree(len(nodes), " runs Linux ", " run Linux ")+text)
	}
	return old, unknown
}

// rook is the release of the operator: its patch is that of the spec, else that of the
// operator in the package. Without either exact is false, and the newest patch is assumed.
func (in *input) rook() (r release, patch int, exact bool) {
	spec := &in.cfg.Spec.Rook
	r, patch, exact = parsePatch(spec.Version)
	texts := []string{spec.Chart.Version}
	for _, o := range in.Manifests {
		if !in.cfg.charted() && isOperator(o) {
			texts = append(texts, operatorTag(o))
		}
	}
	for _, text := range texts {
		if of, p, found := parsePatch(text); !exact && found && of == r {
			patch, exact = p, true
		}
	}
	return r, patch, exact
}

// rookText is the release of the operator for people.
func (in *input) rookText() string {
	r, patch, exact := in.rook()
	if !exact {
		return r.String()
	}
	return fmt.Sprintf("%s.%d", r, patch)
}

func isOperator(o *krm.Object) bool {
	return o.GroupKind() == gk(appsGroup, deploymentKind) && o.Name == rookOperator
}

// operatorTag is the tag of the image of an operator, without v, "" where it has none.
func operatorTag(o *krm.Object) string {
	containers := o.Node.Seq("spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return ""
	}
	tag, _ := tagOf(containers[0].Str("image"))
	return strings.TrimPrefix(tag, "v")
}
