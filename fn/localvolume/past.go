package localvolume

import (
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// past is what an object was before this render: as the lock has it, else as it is in the cluster.
type past struct {
	declared
	lock *lock       // of the last render; nil for none
	live *krm.Object // nil for none
}

func newPast(l *lock, live *krm.Object) past {
	if l == nil {
		return past{declared: readDeclared(live), live: live}
	}
	return past{declared: l.declared, lock: l, live: live}
}

// exists reports whether the object was rendered before, or is in the cluster.
func (p *past) exists() bool { return p.lock != nil || p.live != nil }

// severity is that of what must not be new: what is there already is held.
func (p *past) severity() finding.Severity {
	if p.exists() {
		return finding.Warning
	}
	return finding.Error
}

// disks are those that the object named, and by what the lock knew them.
func (p *past) disks() []device {
	if p.lock == nil {
		return p.named()
	}
	return slices.Concat(p.named(), p.lock.disks)
}

// known is what the lock knows of a disk that the object named in these words.
func (p *past) known(of device) (device, bool) {
	if p.lock == nil {
		return device{}, false
	}
	i := slices.IndexFunc(p.named(), of.sameWords)
	if i < 0 || i >= len(p.lock.disks) {
		return device{}, false
	}
	return p.lock.disks[i], true
}

// remembered is what the lock knows of a disk: of the one that the object named in the same words, or else
// that shares a name with what is known of it now.
func (p *past) remembered(of, now device) []device {
	if before, found := p.known(of); found {
		return []device{before}
	}
	if p.lock == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.lock.disks), func(before device) bool { return !now.shares(before) })
}
