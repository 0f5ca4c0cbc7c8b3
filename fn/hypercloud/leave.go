package hypercloud

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/finding"
)

// leaving is a disk of the cluster that is no longer wanted.
type leaving struct {
	host *host
	*device
	why string
}

// guide is where the removal of what holds data is described.
const guide = "docs/removal.md"

// wipe is what a person who removes a whole cluster has to know.
const wipe = guide + " says how; the disks keep their content unless a person sets spec.cleanupPolicy.confirmation: yes-really-destroy-data on the live CephCluster before it is deleted"

// departure decides about the disks that leave the cluster.
type departure struct {
	*input
	members *members
}

// leave decides about the disks that are no longer wanted: they are held until a person
// allows it, and then go one host a render, while Ceph is healthy.
func (d *departure) leave(all []leaving) {
	var names []string
	by := map[string][]leaving{}
	for _, l := range all {
		if by[l.host.name] == nil {
			names = append(names, l.host.name)
		}
		by[l.host.name] = append(by[l.host.name], l)
	}
	slices.Sort(names)
	left := d.left(names, by)
	for _, name := range names {
		here := by[name]
		allowed, held := d.allowed(here)
		d.hold(here[0].host, held)
		switch why := d.mayLeave(name, left); {
		case d.unused:
			d.drop(held)
			d.drop(allowed)
			d.Report(finding.Info, "device-removed", "spec.storage", "%s of host %s: has no OSD yet, and is given up, since %s", links(here), name, here[0].why)
		case len(allowed) == 0:
		case !slices.ContainsFunc(allowed, func(l leaving) bool { return l.locked && l.running }):
			d.drop(allowed) // it left before; the live cluster, or what is rendered, has yet to follow
			d.purge(name, allowed)
		case why != "":
			d.stay(allowed, why)
			d.Report(finding.Warning, "removal-waits", "spec.storage", "%s of host %s may leave the CephCluster, and stays for now: %s", links(allowed), name, why)
		default:
			d.drop(allowed)
			d.purge(name, allowed)
			left = append(left, name)
		}
	}
}

// left lists the hosts that have left what is rendered, and that the live cluster still
// has.
func (d *departure) left(names []string, by map[string][]leaving) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		allowed, _ := d.allowed(by[name])
		return !slices.ContainsFunc(allowed, func(l leaving) bool { return !l.locked })
	})
}

// allowed separates the disks of a host that a person releases from those that are held.
func (d *departure) allowed(here []leaving) (allowed, held []leaving) {
	for _, l := range here {
		if d.lets(l.host, l.device) || d.whole {
			allowed = append(allowed, l)
		} else {
			held = append(held, l)
		}
	}
	return allowed, held
}

// hold keeps disks that nobody has released.
func (d *departure) hold(h *host, held []leaving) {
	if len(held) == 0 || d.unused {
		return
	}
	d.stay(held, held[0].why)
	entry := clusterKind + "/" + d.Object.Name + "/" + h.name
	if len(held) < len(h.devices) && len(held) == 1 {
		entry += "/" + held[0].last()
	}
	d.Report(finding.Warning, "held", "spec.storage", "%s of host %s: held, since %s and removing it loses its data; to release it, annotate the spec with %s: %s; %s explains how",
		links(held), h.name, held[0].why, krm.AnnotationAllowRemoval, entry, guide)
}

// stay keeps disks in the cluster.
func (d *departure) stay(all []leaving, why string) {
	for _, l := range all {
		h := hostOf(d.members.hosts, l.host.name)
		if h == nil {
			h = &host{name: l.host.name, node: l.host.node}
			d.members.hosts = append(d.members.hosts, h)
		}
		h.devices = append(h.devices, l.device)
		d.choosing(diskRef(l.device, l.host), l.host.nodeName(), place.Held, why)
		d.members.checkKept(h, l.device)
	}
}

// nodeName is the name of the node of a host.
func (h *host) nodeName() string {
	if h.node == nil {
		return h.name
	}
	return h.node.Name
}

// drop lets disks go.
func (d *departure) drop(all []leaving) {
	for _, l := range all {
		d.Disks.Release(l.disk, d.owner)
		if !d.unused {
			d.members.givenUp[l.disk] = "it left the cluster; remove the consent for it from the spec to get it again"
			d.choosing(diskRef(l.device, l.host), l.host.nodeName(), place.Refused, "it left the cluster, as the spec allows")
		}
	}
}

// purge says what is left to do for the disks of a host that leaves.
func (d *departure) purge(host string, all []leaving) {
	all = slices.DeleteFunc(slices.Clone(all), func(l leaving) bool {
		if !d.isReplaced(l.device) {
			return false
		}
		d.Report(finding.Warning, "replaced-disk", "spec.storage", "%s of host %s: no longer rendered, as the spec allows; it is named in %s, so that its OSD has another disk, or is to get one: do not purge that OSD", l.Name, host, annotationReplace)
		return true
	})
	if len(all) == 0 {
		return
	}
	d.Report(finding.Warning, "purge-osds", "spec.storage", "%s of host %s: no longer rendered, as the spec allows; %s on it %s on until a person has purged %s: wait until Ceph has moved the data away, and then run ceph osd purge ID --yes-i-really-mean-it in %s; %s says how",
		links(all), host, finding.Agree(len(all), "the OSD", "the OSDs"), finding.Agree(len(all), "runs", "run"), finding.Agree(len(all), "it", "them"), toolboxName, guide)
}

func links(all []leaving) string {
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return finding.Names(names)
}

// mayLeave says why disks of a host cannot leave now, or "".
func (d *departure) mayLeave(name string, left []string) string {
	if i := slices.IndexFunc(left, func(other string) bool { return other != name }); i >= 0 {
		return fmt.Sprintf("one host leaves at a time, and host %s must be gone from the live cluster first; apply what is rendered, purge its OSDs, and refresh the inventory", left[i])
	}
	if d.live == nil {
		return "the inventory does not contain the live CephCluster, and it leaves only while ceph health is HEALTH_OK"
	}
	if health := d.live.Node.Str("status", "ceph", "health"); health != "HEALTH_OK" {
		return "ceph health is " + cmp.Or(health, "not known") + ", and it leaves only while that is HEALTH_OK"
	}
	if c := readCluster(d.live); c.running > c.declared {
		return fmt.Sprintf("%s %s, and the live CephCluster has disks for %d; purge the OSDs of the disks that left before, and refresh the inventory", finding.Count(c.running, "OSD"), finding.Agree(c.running, "runs", "run"), c.declared)
	}
	return ""
}
