package fn

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/test/cluster"
)

// event is something that happens. What its numbers mean depends on what there is when
// it happens, so that a history can be shortened.
type event struct{ Kind, A, B, C int }

func drawEvent(t *rapid.T) event {
	n := rapid.IntRange(0, 23)
	return event{rapid.IntRange(0, len(happenings())-1).Draw(t, "kind"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c")}
}

// happen changes the history and says what happened, "" for nothing.
func (e event) happen(h *history) string {
	return happenings()[e.Kind](h, e)
}

// happenings lists what can happen. What leads on is there more than once. Known exception:
// no node is renamed, since its pools and reservations are then kept under both names.
func happenings() []func(*history, event) string {
	quiet := func(*history, event) string { return "" }
	return []func(*history, event) string{
		quiet,
		applied, applied, applied, operated, operated, operated, refreshed, refreshed, refreshed, refreshed, allAtOnce, allAtOnce, allAtOnce,
		staleSnapshot, kindNotRead, kindNotRead, listCut, listEmpty,
		nodeLost, nodeBack, nodeRecreated, nodeAdded, diskAdded, diskAdded,
		diskInactive, diskActive, diskGone, diskRenamed, diskRenamed, diskMoved, poolMoved, poolMoved, poolMoved, diskTagged, diskPartitioned, diskVolume, diskClaimed, diskHeld,
		claimDeleted, volumeDeleted, volumeDeleted, replicaMade, replicaGone,
		countsEdited, selectorEdited, nodeConsent, moveConsent, clusterConsent, consentWithdrawn, spareEdited, grown,
		repaired, repaired, repaired, repaired, reverted, merged, swappedByHand, poolDroppedByHand, setDroppedByHand, setDroppedByHand,
	}
}

func pick[T any](all []T, i int) *T {
	if len(all) == 0 {
		return nil
	}
	return &all[i%len(all)]
}

func applied(h *history, _ event) string {
	if refused := h.apply(); len(refused) > 0 {
		return "rendered/ is applied, the webhook refuses " + strings.Join(refused, "; ")
	}
	return "rendered/ is applied"
}

func operated(h *history, e event) string {
	if e.A%3 == 0 {
		h.cluster.ClaimDisks()
		return "the operators claim disks"
	}
	h.cluster.ClaimDisks()
	h.cluster.Reconcile()
	return "the operators carry out everything"
}

func refreshed(h *history, _ event) string {
	h.refresh()
	return "the snapshot is refreshed"
}

func allAtOnce(h *history, e event) string {
	told := applied(h, e)
	h.cluster.ClaimDisks()
	h.cluster.Reconcile()
	h.refresh()
	return told + ", carried out, and read"
}

func staleSnapshot(h *history, e event) string {
	old := pick(h.past, e.A)
	if old == nil || len(old.Nodes) == 0 {
		return ""
	}
	h.snapshot = *old
	return fmt.Sprintf("an old snapshot is put back (%d)", e.A%len(h.past))
}

func kindNotRead(h *history, e event) string {
	kind := *pick(cluster.Kinds(), e.A)
	h.refresh()
	h.snapshot = h.snapshot.Without(kind)
	return "a snapshot without " + kind
}

func cut[T any](list []T, n int) []T { return slices.Clone(list[:min(n, len(list))]) }

func listCut(h *history, e event) string {
	h.refresh()
	s := &h.snapshot
	switch e.A % 5 {
	case 0:
		s.Nodes = cut(s.Nodes, e.B%3)
	case 1:
		s.Devices = cut(s.Devices, e.B)
	case 2:
		s.Claims = cut(s.Claims, e.B%5)
	case 3:
		s.Pools = cut(s.Pools, e.B%2)
	case 4:
		s.Instances = cut(s.Instances, e.B%3)
	}
	return fmt.Sprintf("a snapshot with the first %d of a list (%d)", e.B, e.A%5)
}

func listEmpty(h *history, e event) string {
	h.refresh()
	s := &h.snapshot
	switch e.A % 4 {
	case 0:
		s.Devices = nil
		return "a snapshot with no block devices"
	case 1:
		s.Claims = nil
		return "a snapshot with no claims"
	case 2:
		s.Pools = nil
		return "a snapshot with no pool clusters"
	default:
		s.Instances = nil
		return "a snapshot with no instances"
	}
}

func nodeLost(h *history, e event) string {
	n := pick(h.cluster.Nodes, e.A)
	if n == nil {
		return ""
	}
	lost := *n
	h.lost = append(h.lost, lost)
	h.cluster.Nodes = slices.DeleteFunc(h.cluster.Nodes, func(n cluster.Node) bool { return n.Name == lost.Name })
	for i := range h.cluster.Devices {
		if d := &h.cluster.Devices[i]; d.Host == lost.Hostname {
			d.Inactive = true
		}
	}
	return "node " + lost.Name + " is lost"
}

func nodeBack(h *history, e event) string {
	n := pick(h.lost, e.A)
	if n == nil || h.cluster.Node(n.Name) != nil || h.cluster.Host(n.Hostname) != nil {
		return ""
	}
	back := *n
	if e.B%3 == 0 {
		back.UID += "-new"
	}
	h.cluster.Nodes = append(h.cluster.Nodes, back)
	for i := range h.cluster.Devices {
		if d := &h.cluster.Devices[i]; d.Host == back.Hostname {
			d.Inactive = false
		}
	}
	return fmt.Sprintf("node %s is back, uid %s", back.Name, back.UID)
}

func nodeRecreated(h *history, e event) string {
	n := pick(h.cluster.Nodes, e.A)
	if n == nil {
		return ""
	}
	n.UID += "-new"
	return "node " + n.Name + " is recreated"
}

func nodeAdded(h *history, e event) string {
	if len(h.cluster.Nodes) > 6 {
		return ""
	}
	h.made++
	h.addNode(h.made, 2+e.A%4)
	return fmt.Sprintf("node n%d is new", h.made)
}

func diskAdded(h *history, e event) string {
	n := pick(h.cluster.Nodes, e.A)
	if n == nil {
		return ""
	}
	return "disk " + h.addDisk(n.Hostname) + " is new on " + n.Name
}

// device picks a disk, of a pool mostly.
func (h *history) device(e event) *cluster.Device {
	pooled := slices.DeleteFunc(slices.Clone(h.cluster.Devices), func(d cluster.Device) bool { return h.cluster.Claim(d.Name) == nil })
	if d := pick(pooled, e.A); d != nil && e.B%3 > 0 {
		return h.cluster.Device(d.Name)
	}
	return pick(h.cluster.Devices, e.A)
}

func (h *history) changeDisk(e event, what string, change func(*cluster.Device)) string {
	d := h.device(e)
	if d == nil {
		return ""
	}
	change(d)
	return fmt.Sprintf("disk %s %s", d.Name, what)
}

func diskInactive(h *history, e event) string {
	return h.changeDisk(e, "is Inactive", func(d *cluster.Device) { d.Inactive = true })
}

func diskActive(h *history, _ event) string {
	for i := range h.cluster.Devices {
		d := &h.cluster.Devices[i]
		if d.Inactive && h.cluster.Host(d.Host) != nil && !h.twin(d) {
			d.Inactive = false
			return "disk " + d.Name + " is Active again"
		}
	}
	return ""
}

// twin reports whether a disk has another, active name.
func (h *history) twin(d *cluster.Device) bool {
	return slices.ContainsFunc(h.cluster.Devices, func(other cluster.Device) bool {
		return other.Serial == d.Serial && other.Name != d.Name && !other.Inactive
	})
}

func diskTagged(h *history, e event) string {
	return h.changeDisk(e, "is tagged", func(d *cluster.Device) { d.Tagged = true })
}

func diskPartitioned(h *history, e event) string {
	return h.changeDisk(e, "has partitions", func(d *cluster.Device) { d.Partitioned = true })
}

func diskGone(h *history, e event) string {
	d := h.device(e)
	if d == nil {
		return ""
	}
	name := d.Name
	h.cluster.Devices = slices.DeleteFunc(h.cluster.Devices, func(d cluster.Device) bool { return d.Name == name })
	return "disk " + name + " is gone"
}

func diskRenamed(h *history, e event) string {
	d := h.device(e)
	if d == nil || d.Handle != "" || h.twin(d) {
		return ""
	}
	h.made++
	again := *d
	again.Name, again.Inactive, again.Filesystem = fmt.Sprintf("bd-%d-again", h.made), false, ""
	old := d.Name
	if d.Inactive = true; e.C%2 == 0 {
		h.cluster.Devices = slices.DeleteFunc(h.cluster.Devices, func(d cluster.Device) bool { return d.Name == old })
	}
	h.cluster.Devices = append(h.cluster.Devices, again)
	return fmt.Sprintf("disk %s is back as %s", old, again.Name)
}

func diskMoved(h *history, e event) string {
	d, n := h.device(e), pick(h.cluster.Nodes, e.C)
	if d == nil || n == nil || d.Host == n.Hostname || d.Handle != "" {
		return ""
	}
	d.Host = n.Hostname
	return fmt.Sprintf("disk %s is in node %s now", d.Name, n.Name)
}

// poolMoved takes all disks of a live pool to another node, from one that is lost by it, or
// made again, or neither.
func poolMoved(h *history, e event) string {
	c := pick(h.cluster.Pools, e.A)
	if c == nil {
		return ""
	}
	p, n := *pick(c.Pools, e.B), pick(h.cluster.Nodes, e.C)
	old := h.cluster.Host(p.Hostname)
	if n == nil || n.Hostname == p.Hostname {
		return ""
	}
	to, how := *n, "which stays"
	switch {
	case old == nil:
		how = "which was lost before"
	case e.C%3 == 0:
		old.UID += "-new"
		how = "which is recreated"
	case e.C%3 == 1:
		gone := *old
		h.lost = append(h.lost, gone)
		h.cluster.Nodes = slices.DeleteFunc(h.cluster.Nodes, func(n cluster.Node) bool { return n.Name == gone.Name })
		how = "which is lost"
	}
	for _, name := range p.Disks() {
		if d := h.cluster.Device(name); d != nil {
			d.Host = to.Hostname
			d.Inactive = d.Inactive && h.twin(d)
			h.cluster.AttachTo(d.Handle, to.Name)
		}
	}
	if e.A%2 == 0 {
		h.refresh()
	}
	return fmt.Sprintf("the disks of the pool of %s on %s, %s, are on %s now", c.Name, p.Hostname, how, to.Hostname)
}

// moveConsent lets a pool leave a node that is still there.
func moveConsent(h *history, e event) string {
	s, n := pick(h.specs, e.A), pick(h.cluster.Nodes, e.B)
	if n == nil {
		return ""
	}
	s.Moves = []string{"CStorClusterStorageSet/" + s.Name + "-" + n.Name}
	return "the pool of " + s.Name + " on " + n.Name + " may move"
}

func diskVolume(h *history, e event) string {
	d := h.device(e)
	if d == nil || d.Serial == "" {
		return ""
	}
	h.made++
	h.cluster.Volumes = append(h.cluster.Volumes, cluster.Volume{Name: fmt.Sprintf("pv-%d", h.made), Host: d.Host, Serial: d.Serial})
	return "disk " + d.Name + " is a PersistentVolume"
}

func diskClaimed(h *history, e event) string {
	d := h.device(e)
	if d == nil || h.cluster.Claim(d.Name) != nil {
		return ""
	}
	h.cluster.Claims = append(h.cluster.Claims, cluster.Claim{Device: d.Name, Cluster: "somebody", Bound: e.C%2 == 0})
	return "disk " + d.Name + " is claimed by somebody"
}

func diskHeld(h *history, e event) string {
	d := h.device(e)
	if d == nil || d.Serial == "" {
		return ""
	}
	n := h.cluster.Host(d.Host)
	if n == nil {
		return ""
	}
	h.made++
	holder := cluster.Holder{Kind: []string{"DiskPool", "CephCluster", "Volume"}[e.C%3], Name: fmt.Sprintf("h%d", h.made), Node: n.Name, Serial: d.Serial}
	h.cluster.Holders = append(h.cluster.Holders, holder)
	return fmt.Sprintf("disk %s is in %s %s", d.Name, holder.Kind, holder.Name)
}

func claimDeleted(h *history, e event) string {
	c := pick(h.cluster.Claims, e.A)
	if c == nil {
		return ""
	}
	gone := *c
	h.cluster.Claims = slices.DeleteFunc(h.cluster.Claims, func(c cluster.Claim) bool { return c == gone })
	return fmt.Sprintf("the claim of %s on %s is deleted", gone.Cluster, gone.Device)
}

// volumeDeleted is what a person does with a claim that is no longer rendered.
func volumeDeleted(h *history, e event) string {
	left := slices.DeleteFunc(slices.Clone(h.cluster.Cloud), func(d cluster.CloudDisk) bool {
		rendered := slices.ContainsFunc(h.rendered, func(o *krm.Object) bool { return o.Kind == "PersistentVolumeClaim" && o.Name == d.Name })
		return rendered || h.cluster.Claim("bd-"+d.Name) != nil
	})
	d := pick(left, e.A)
	if d == nil {
		return ""
	}
	h.cluster.Unprovision(d.Name)
	return "PersistentVolumeClaim " + d.Name + " is deleted"
}

func replicaMade(h *history, e event) string {
	i := pick(h.cluster.Instances, e.A)
	if i == nil || i.Replicas > 1 {
		return ""
	}
	i.Replicas++
	return "a replica is on " + i.Name
}

func replicaGone(h *history, e event) string {
	i := pick(h.cluster.Instances, e.A)
	if i == nil || i.Replicas == 0 {
		return ""
	}
	i.Replicas = 0
	return "no replica is on " + i.Name
}

func countsEdited(h *history, e event) string {
	s := pick(h.specs, e.A)
	s.Min, s.Max = 1+e.B%3, 0
	if e.C%2 == 0 {
		s.Max = s.Min + e.C%3
	}
	return fmt.Sprintf("%s wants %d to %d pools", s.Name, s.Min, s.Max)
}

func selectorEdited(h *history, e event) string {
	s := pick(h.specs, e.A)
	s.Label = []string{"", "a", "b"}[e.B%3]
	return fmt.Sprintf("%s selects %q", s.Name, s.Label)
}

func nodeConsent(h *history, e event) string {
	s := pick(h.specs, e.A)
	n := pick(append(slices.Clone(h.cluster.Nodes), h.lost...), e.B)
	if n == nil {
		return ""
	}
	s.Consent = append(slices.Clone(s.Consent), "CStorClusterStorageSet/"+s.Name+"-"+n.Name)
	return s.Name + " may lose the pool on " + n.Name
}

func clusterConsent(h *history, e event) string {
	s := pick(h.specs, e.A)
	if e.B%2 > 0 {
		return ""
	}
	s.Consent = append(slices.Clone(s.Consent), "CStorPoolCluster/"+s.Name)
	return s.Name + " may be lost"
}

func consentWithdrawn(h *history, e event) string {
	s := pick(h.specs, e.A)
	if len(s.Consent) == 0 {
		return ""
	}
	s.Consent = nil
	return "the consent of " + s.Name + " is withdrawn"
}

func spareEdited(h *history, e event) string {
	s := pick(h.specs, e.A)
	s.Spare = e.B % 2
	return fmt.Sprintf("%s wants %d spares", s.Name, s.Spare)
}

// grown raises minCount.
func grown(h *history, e event) string {
	s := pick(h.specs, e.A)
	if s.Groups > 2 {
		return ""
	}
	s.Groups++
	return fmt.Sprintf("%s wants %d groups", s.Name, s.Groups)
}

func reverted(h *history, e event) string {
	old := pick(h.commits, e.A)
	if old == nil {
		return ""
	}
	h.rendered = *old
	return fmt.Sprintf("rendered/ is that of commit %d", e.A%len(h.commits))
}

// repaired is what a person does where rendering fails: the last content of rendered/ that
// it gave, or a fresh snapshot.
func repaired(h *history, e event) string {
	if len(h.commits) == 0 || !finding.Failed(h.last.Findings) {
		return ""
	}
	if e.A%2 == 0 {
		h.refresh()
	}
	h.rendered = h.commits[len(h.commits)-1]
	return "since it fails, rendered/ is that of the last commit, and the snapshot is " + []string{"refreshed", "as it was"}[e.A%2]
}

// merged takes the files of one spec from an earlier commit.
func merged(h *history, e event) string {
	old, s := pick(h.commits, e.A), pick(h.specs, e.B)
	if old == nil {
		return ""
	}
	theirs := func(o *krm.Object) bool { return strings.HasSuffix(o.Owner(), "/"+s.Name) }
	now := slices.DeleteFunc(slices.Clone(h.rendered), theirs)
	for _, o := range *old {
		if theirs(o) {
			now = append(now, o)
		}
	}
	h.rendered = now
	return fmt.Sprintf("a merge takes %s of commit %d", s.Name, e.A%len(h.commits))
}

// edit replaces a file of rendered/ by what a person makes of it.
func (h *history) edit(old *krm.Object, text string) {
	src := &document.Source{Name: old.Source.Name, Data: []byte(text)}
	docs, err := document.Parse(src)
	if err != nil {
		h.t.Fatal(err)
	}
	edited := krm.NewObject(src, &docs[0].Node)
	edited.Raw = src.Data
	h.rendered = slices.Clone(h.rendered)
	h.rendered[slices.Index(h.rendered, old)] = edited
}

func (h *history) renderedOf(kind string, i int) *krm.Object {
	all := slices.DeleteFunc(slices.Clone(h.rendered), func(o *krm.Object) bool { return o.Kind != kind })
	if o := pick(all, i); o != nil {
		return *o
	}
	return nil
}

// swappedByHand puts a disk into a pool, whosever it is.
func swappedByHand(h *history, e event) string {
	o := h.renderedOf(pool.ClusterKind, e.A)
	if o == nil {
		return ""
	}
	old, now := pick(pool.DecodeCluster(o).Disks(), e.B), pick(h.cluster.Devices, e.C)
	if old == nil || now == nil {
		return ""
	}
	h.edit(o, strings.ReplaceAll(string(o.Raw), "blockDeviceName: "+*old+"\n", "blockDeviceName: "+now.Name+"\n"))
	return fmt.Sprintf("a person puts %s in the place of %s into %s", now.Name, *old, o.Name)
}

func poolDroppedByHand(h *history, e event) string {
	o := h.renderedOf(pool.ClusterKind, e.A)
	if o == nil {
		return ""
	}
	c := pool.DecodeCluster(o)
	if len(c.Pools) < 2 {
		return ""
	}
	at := e.B % len(c.Pools)
	host := c.Pools[at].Hostname
	edited := document.Node{}
	src := &document.Source{Name: "copy.yaml", Data: o.Raw}
	docs, err := document.Parse(src)
	if err != nil {
		h.t.Fatal(err)
	}
	edited = docs[0].Node
	pools := edited.Get("spec", "pools")
	pools.SetItems(slices.Delete(slices.Clone(pools.Items()), at, at+1))
	h.edit(o, string(document.Append(nil, &edited, 0)))
	return fmt.Sprintf("a person takes the pool on %s out of %s", host, o.Name)
}

func setDroppedByHand(h *history, e event) string {
	o := h.renderedOf("CStorClusterStorageSet", e.A)
	if o == nil {
		return ""
	}
	h.rendered = slices.DeleteFunc(slices.Clone(h.rendered), func(other *krm.Object) bool { return other == o })
	return "a person deletes storage set " + o.Name
}
