package disk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/quantity"
)

// Want is what somebody asks of a disk.
type Want struct {
	Mine        func(Holder) bool            // whose hold is the asker's own; nil for nobody's
	Namespace   string                       // of the BlockDevice; "" for any, also for none
	Node        *inventory.Node              // that the disk must be on; nil for any
	MinCapacity int64                        // bytes
	AllowedTags []string                     // values of the block device tag that do not exclude it
	PoolCluster string                       // the cStor cluster whose claim makes a BlockDevice the asker's own
	Volumes     func(*inventory.Volume) bool // which PersistentVolumes it may be; nil for none
	Owner       string                       // <Kind>/<name> of the asker, as a mark on a disk calls it; "" for none
	Own         bool                         // what is on the disk, and what uses it, is the asker's, also without a mark
}

// Rule is a reason why a disk may not be used.
type Rule string

// The rules, in the order in which they are asked.
const (
	WrongNode        Rule = "wrong-node"
	PersistentVolume Rule = "persistent-volume"
	Held             Rule = "held"
	WrongNamespace   Rule = "wrong-namespace"
	Ambiguous        Rule = "ambiguous" // another report has its identity
	Uncertain        Rule = "uncertain" // another report may be of the same disk
	Faulty           Rule = "faulty"    // what is said of it cannot be trusted
	Part             Rule = "part"      // of another disk
	Partitioned      Rule = "partitioned"
	NotActive        Rule = "not-active"
	ForeignData      Rule = "foreign-data"
	Mounted          Rule = "mounted"
	Tagged           Rule = "tagged"
	NoCapacity       Rule = "no-capacity"
	TooSmall         Rule = "too-small"
	Claimed          Rule = "claimed"   // by somebody else, or nobody knows by whom
	Replacing        Rule = "replacing" // claimed by the asker to take the place of another disk
	Unusable         Rule = "unusable"  // the node agent says so
)

// Objection is one rule that speaks against a use, and the reason in words that follow
// the name of the disk: "it has partitions".
type Objection struct {
	Rule   Rule
	Reason string
}

// Verdict is everything that speaks against a use of a disk, in the order of the rules;
// empty if it may be used.
type Verdict []Objection

// Reason is the first objection in words, or "".
func (v Verdict) Reason() string {
	if len(v) == 0 {
		return ""
	}
	return v[0].Reason
}

// Of returns the first of the objections by one of the rules, in words, or "".
func (v Verdict) Of(rules ...Rule) string {
	for _, o := range v {
		if slices.Contains(rules, o.Rule) {
			return o.Reason
		}
	}
	return ""
}

// Doubt says why a disk that is in use should perhaps not be, or "": what is on it may be
// somebody else's.
func (v Verdict) Doubt() string {
	return v.Of(PersistentVolume, Held, Ambiguous, ForeignData, Mounted, Claimed, Faulty)
}

// Occupied says what a new use of the disk could destroy, or "".
func (v Verdict) Occupied() string {
	return v.Of(PersistentVolume, Held, Ambiguous, Uncertain, ForeignData, Mounted, Claimed, Faulty, Part, Partitioned)
}

// Verdict says whether a disk may be used. It is the only place that does.
func (l *Ledger) Verdict(d *Disk, want Want) Verdict {
	v := l.judge(d, &want)
	l.judgeSuspects(d, &want, &v)
	return v
}

func (v *Verdict) object(rule Rule, format string, args ...any) {
	*v = append(*v, Objection{rule, fmt.Sprintf(format, args...)})
}

// judge is the verdict on what is known to be the disk.
func (l *Ledger) judge(d *Disk, want *Want) Verdict {
	var v Verdict
	if d.Missing() {
		v.object(NotActive, "it is missing from the inventory")
		judgeHolders(d, want, &v)
		return v
	}
	if d.Device != nil {
		l.judgeNode(d.Device, want, &v)
	}
	judgeVolumes(d, want, &v)
	judgeHolders(d, want, &v)
	if d.Device != nil && want.Namespace != "" && d.Device.Namespace != want.Namespace {
		v.object(WrongNamespace, "it is in namespace %s", d.Device.Namespace)
	}
	if twin := d.Twin(); twin != nil && !want.marked(d) {
		v.object(Ambiguous, "it has the same serial number or by-id link as %s", twin.called())
	}
	own := want.owns(d)
	if d.Device != nil {
		l.judgeDevice(d.Device, want, own, &v)
	}
	if size := d.Size(); size <= 0 {
		v.object(NoCapacity, "its capacity cannot be read")
	} else if size < want.MinCapacity {
		have, wanted := quantity.Size(size), quantity.Size(want.MinCapacity)
		if have == wanted {
			have, wanted = fmt.Sprintf("%d bytes", size), fmt.Sprintf("%d", want.MinCapacity)
		}
		v.object(TooSmall, "it is too small: %s, wanted %s", have, wanted)
	}
	if d.Device != nil {
		l.judgeClaim(d.Device, want, &v)
	}
	if d.Entry != nil && !own {
		judgeEntry(d.Entry, l.ours(d.Device, want), &v)
	}
	return v
}

// owns reports whether what is on a disk, and what uses it, is the asker's.
func (w *Want) owns(d *Disk) bool {
	if e := d.Entry; e != nil && w.Owner != "" {
		if e.Owner != "" && e.Owner != w.Owner {
			return false // whatever the asker was once
		}
		if e.Owner == w.Owner || e.Holder == w.Owner {
			return true
		}
	}
	return w.Own
}

// marked reports whether of several disks of one identity this one alone has the mark of the
// asker.
func (w *Want) marked(d *Disk) bool {
	has := func(d *Disk) bool { return d.Entry != nil && w.Owner != "" && d.Entry.Owner == w.Owner }
	return has(d) && !slices.ContainsFunc(d.Others(), has)
}

// judgeNode holds the two statements that a BlockDevice makes of its node together.
func (l *Ledger) judgeNode(b *inventory.BlockDevice, want *Want, v *Verdict) {
	n := want.Node
	if n == nil || b.NodeName == "" || b.NodeName == n.Name || b.NodeName == n.Hostname {
		return
	}
	v.object(WrongNode, "its hostname label says node %s and spec.nodeAttributes.nodeName says %s", n.Name, b.NodeName)
}

// judgeHolders names the first holder that is not the asker.
func judgeHolders(d *Disk, want *Want, v *Verdict) {
	for _, h := range d.Holders() {
		if want.Mine == nil || !want.Mine(*h) {
			v.object(Held, "it is taken by %s", h)
			return
		}
	}
}

// judgeVolumes looks for a PersistentVolume that the disk is: what is on it is
// somebody's, or will be. Of several, the first is named.
func judgeVolumes(d *Disk, want *Want, v *Verdict) {
	for _, volume := range d.Volumes() {
		switch {
		case want.Volumes != nil && want.Volumes(volume):
			continue
		case volume.Claim.Name == "":
			v.object(PersistentVolume, "it is PersistentVolume %s", volume.Name)
		default:
			v.object(PersistentVolume, "it is PersistentVolume %s of claim %s/%s", volume.Name, volume.Claim.Namespace, volume.Claim.Name)
		}
		return
	}
}

// judgeDevice asks what the node disk manager says of the disk.
func (l *Ledger) judgeDevice(b *inventory.BlockDevice, want *Want, own bool, v *Verdict) {
	if b.Fault != "" {
		v.object(Faulty, "%s", b.Fault)
	}
	if !b.Whole() {
		v.object(Part, "it is a part of %s", cmp.Or(b.Parent, "another disk"))
	}
	if b.Partitioned && !own {
		v.object(Partitioned, "it has partitions")
	}
	if b.State != "Active" {
		v.object(NotActive, "it is %s, not Active", cmp.Or(b.State, "in an unknown state"))
	}
	if b.Filesystem != "" && !own && !(b.Filesystem == zfs && l.ours(b, want)) {
		v.object(ForeignData, "it has a filesystem: %s", b.Filesystem)
	}
	if b.MountPoint != "" && !own {
		v.object(Mounted, "it is mounted at %s", b.MountPoint)
	}
	if b.Tagged && !slices.Contains(want.AllowedTags, b.Tag) {
		v.object(Tagged, "it is tagged %q", b.Tag)
	}
}

// zfs is what is on a disk of a cStor pool.
const zfs = "zfs_member"

// judgeClaim asks who has claimed a BlockDevice.
func (l *Ledger) judgeClaim(b *inventory.BlockDevice, want *Want, v *Verdict) {
	claim := l.facts.ClaimOf(b)
	switch {
	case b.ClaimState != "Unclaimed" && b.ClaimState != "Claimed":
		v.object(NotActive, "it is %s, not Unclaimed", cmp.Or(b.ClaimState, "in an unknown claim state"))
	case claim == nil && b.ClaimState == "Claimed":
		v.object(Claimed, "it is claimed, and the claim is not in the inventory")
	// A claim that is not answered yet names a device that is still Unclaimed.
	case claim != nil && (want.PoolCluster == "" || claim.PoolCluster != want.PoolCluster):
		v.object(Claimed, "it is claimed by %s", cmp.Or(claim.PoolCluster, claim.Name))
	case claim != nil && claim.Predecessor != "":
		v.object(Replacing, "it is claimed to replace block device %s", claim.Predecessor)
	}
}

// ours reports whether a device is claimed by the very cluster that asks.
func (l *Ledger) ours(b *inventory.BlockDevice, want *Want) bool {
	if b == nil || want.PoolCluster == "" || b.ClaimState != "Claimed" {
		return false
	}
	claim := l.facts.ClaimOf(b)
	return claim != nil && claim.PoolCluster == want.PoolCluster
}

// judgeEntry asks what the node agent says of the disk. What is on a disk of the asker's
// own pool is the asker's.
func judgeEntry(e *Entry, ours bool, v *Verdict) {
	if e.Owner != "" && !ours {
		v.object(ForeignData, "node %s reports the mark of %s on it", e.Object.Name, e.Owner)
	}
	foreign := slices.DeleteFunc(slices.Clone(e.Content), func(c string) bool {
		return ours && slices.Contains([]string{"zfs", zfs, "gpt"}, c)
	})
	if len(foreign) > 0 {
		v.object(ForeignData, "node %s reports content on it: %s", e.Object.Name, strings.Join(foreign, ", "))
	}
	if len(e.Partitions) > 0 && !ours {
		v.object(Partitioned, "node %s reports partitions on it", e.Object.Name)
	}
	if len(e.Mounts) > 0 {
		v.object(Mounted, "it is mounted at %s", strings.Join(e.Mounts, ", "))
	}
	if e.Holder != "" && !ours {
		v.object(Held, "node %s reports that %s holds it", e.Object.Name, e.Holder)
	}
	if !e.Usable && !ours {
		v.object(Unusable, "node %s reports it as not usable: %s", e.Object.Name, cmp.Or(e.Reason, "without a reason"))
	}
}
