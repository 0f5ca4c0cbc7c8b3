package fn

import (
	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
)

// asRendered ends what is said of a part of the lock that no render has written.
const asRendered = "; no render writes this: restore the file from Git"

// checkLock refuses parts of the lock that were damaged: what they no longer say would be
// forgotten without a word.
func (pkg *prepared) checkLock() {
	for _, owner := range pkg.owners {
		for _, o := range pkg.lock[owner] {
			if !pkg.remembers(o) {
				continue
			}
			for _, f := range pkg.function.schemas.Check(o.Position, o.Ref, o.Node) {
				f.Message += asRendered
				pkg.findings = append(pkg.findings, f)
			}
			if spec, _ := krm.ParseOwner(owner); disklock.Is(o) && o.Name != disklock.Name(spec) {
				pkg.report(o, "lock-name", "metadata.name", "is the DiskLock of %s, whose name is %s"+asRendered, pkg.function.specRef(owner), disklock.Name(spec))
			}
		}
	}
}

// remembers reports whether an object is of a kind that Poolwright writes for itself alone.
func (c *classified) remembers(o *krm.Object) bool {
	kind, _ := c.kinds.Find(o.GroupKind())
	return kind.Role == system.RoleLock
}

// checkOwned refuses a part of the lock that has lost its owner.
func (c *classified) checkOwned(o *krm.Object) {
	if c.remembers(o) {
		c.report(o, "no-owner", "metadata", "has no label %s or no annotation %s"+asRendered, krm.LabelManagedBy, krm.AnnotationOwner)
	}
}
