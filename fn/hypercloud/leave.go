package hypercloud

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/schema/document"
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

// leave decides about the disks that are no longer wanted: they are held until a person
// allows it, and then go one host a render, while Ceph is healthy.
func (s *storage) leave(all []leaving) {
	var names []string
	by := map[string][]leaving{}
	for _, l := range all {
		if by[l.host.name] == nil {
			names = append(names, l.host.name)
		}
		by[l.host.name] = append(by[l.host.name], l)
	}
	slices.Sort(names)
	left := s.left(names, by)
	for _, name := range names {
		here := by[name]
		allowed, held := s.allowed(here)
		s.hold(here[0].host, held)
		switch why := s.mayLeave(name, left); {
		case s.unused:
			s.drop(held)
			s.drop(allowed)
			s.Report(finding.Info, "device-removed", "spec.storage", "%s of host %s, of which nothing lives: given up, since %s", links(here), name, here[0].why)
		case len(allowed) == 0:
		case !slices.ContainsFunc(allowed, func(l leaving) bool { return l.locked }):
			s.drop(allowed) // it left before; the live cluster has yet to follow
			s.purge(name, allowed)
		case why != "":
			s.stay(allowed, why)
			s.Report(finding.Warning, "removal-waits", "spec.storage", "%s of host %s may leave the CephCluster, and stays for now: %s", links(allowed), name, why)
		default:
			s.drop(allowed)
			s.purge(name, allowed)
			left = append(left, name)
		}
	}
}

// left lists the hosts that have left what is rendered, and that the live cluster still
// has.
func (s *storage) left(names []string, by map[string][]leaving) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		allowed, _ := s.allowed(by[name])
		return !slices.ContainsFunc(allowed, func(l leaving) bool { return !l.locked })
	})
}

// allowed tells the disks of a host that a person lets go from those that are held.
func (s *storage) allowed(here []leaving) (allowed, held []leaving) {
	for _, l := range here {
		if s.lets(l.host, l.device) || s.whole {
			allowed = append(allowed, l)
		} else {
			held = append(held, l)
		}
	}
	return allowed, held
}

// lets reports whether a person lets a disk of a host go, or all of them.
func (s *storage) lets(h *host, v *device) bool {
	name := s.Object.Name + "/" + h.name
	all, one := s.Consent.Covers(clusterKind, name), s.Consent.Covers(clusterKind, name+"/"+v.last())
	return all || one // both are asked, so that neither is called in vain
}

// hold keeps disks that nobody has let go.
func (s *storage) hold(h *host, held []leaving) {
	if len(held) == 0 || s.unused {
		return
	}
	s.stay(held, held[0].why)
	entry := clusterKind + "/" + s.Object.Name + "/" + h.name
	if len(held) < len(h.devices) && len(held) == 1 {
		entry += "/" + held[0].last()
	}
	s.Report(finding.Warning, "held", "spec.storage", "%s of host %s: held, since %s and removing it loses what is on it; to let it go, annotate the spec with %s: %s; %s says how",
		links(held), h.name, held[0].why, krm.AnnotationAllowRemoval, entry, guide)
}

// stay keeps disks in the cluster.
func (s *storage) stay(all []leaving, why string) {
	for _, l := range all {
		h := hostOf(s.hosts, l.host.name)
		if h == nil {
			h = &host{name: l.host.name, node: l.host.node}
			s.hosts = append(s.hosts, h)
		}
		h.devices = append(h.devices, l.device)
		s.choosing(diskRef(l.device, l.host), l.host.nodeName(), place.Held, why)
		s.checkOthers(h, l.device)
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
func (s *storage) drop(all []leaving) {
	for _, l := range all {
		s.in.Disks.Release(l.disk, s.owner)
		if !s.unused {
			s.givenUp[l.disk] = "it left the cluster; take the consent for it out of the spec to have it anew"
			s.choosing(diskRef(l.device, l.host), l.host.nodeName(), place.Refused, "it left the cluster, as the spec allows")
		}
	}
}

// purge says what is left to do for the disks of a host that leaves.
func (s *storage) purge(host string, all []leaving) {
	s.Report(finding.Warning, "purge-osds", "spec.storage", "%s of host %s: no longer rendered, as the spec allows; %s on it %s on until a person has purged %s: wait until Ceph has moved the data away, and then run ceph osd purge ID --yes-i-really-mean-it in %s; %s says how",
		links(all), host, orElse(len(all) == 1, "the OSD", "the OSDs"), orElse(len(all) == 1, "runs", "run"), orElse(len(all) == 1, "it", "them"), toolboxName, guide)
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
func (s *storage) mayLeave(name string, left []string) string {
	if i := slices.IndexFunc(left, func(other string) bool { return other != name }); i >= 0 {
		return fmt.Sprintf("one host leaves at a time, and host %s has to be gone from the live cluster first; apply what is rendered, purge its OSDs, and take the inventory anew", left[i])
	}
	if s.live == nil {
		return "the inventory does not tell of the live CephCluster, and it leaves only while ceph health is HEALTH_OK"
	}
	if health := s.live.Node.Str("status", "ceph", "health"); health != "HEALTH_OK" {
		return "ceph health is " + cmp.Or(health, "not known") + ", and it leaves only while that is HEALTH_OK"
	}
	if c := readCluster(s.live); c.running > c.declared {
		return fmt.Sprintf("%s run, and the live CephCluster has disks for %d; purge those of the disks that left before, and take the inventory anew", finding.Count(c.running, "OSD"), c.declared)
	}
	return ""
}

// leavePools decides about the pools and everything else that holds data and is no longer
// in the spec.
func (s *storage) leavePools() {
	wanted := map[krm.ID]bool{}
	for i := range s.objects {
		wanted[s.objects[i].ID()] = true
	}
	for _, before := range s.Before {
		id := before.ID()
		if wanted[id] {
			continue
		}
		l, file, field := levelPools, "", ""
		name := before.Name
		kind := before.Kind
		switch before.GroupKind() {
		case gk(cephGroup, poolKind):
			file, field = "cephblockpool", "spec.block"
		case gk(cephGroup, filesystemKind):
			file, field = "cephfilesystem", "spec.filesystem"
		case gk(cephGroup, subvolumesKind):
			file, field, kind, name = "cephfilesystemsubvolumegroup", "spec.filesystem", filesystemKind, before.Node.Str("spec", "filesystemName")
		case gk(cephGroup, storeKind):
			file, field = "cephobjectstore", "spec.object"
		case gk(cdiGroup, cdiKind):
			l, file, field = levelCDI, "cdi", "spec.cdi"
		default:
			continue
		}
		live := s.in.Facts.Object(id)
		allowed := s.Consent.Covers(kind, name) || s.whole
		if allowed || live == nil && s.in.Facts.Tells(id.Group, id.Kind, s.Object.Namespace) {
			s.released[id] = true
			continue
		}
		kept := krm.Make(before.APIVersion, before.Kind, before.Namespace, before.Name, document.F("spec", plain(*before.Node.Get("spec"))))
		s.add(l, file, kept, s.needs(l)...)
		if before.Kind == kind {
			s.Report(finding.Warning, "held", field, "%s is no longer in the spec, and is held: removing it loses what is in it; to let it go, annotate the spec with %s: %s/%s; %s says how",
				before.Ref, krm.AnnotationAllowRemoval, kind, name, guide)
		}
	}
	s.reportUnlisted(wanted)
}

// reportUnlisted tells of what holds data, was rendered once, and lives, and that neither
// the spec nor the output has any more. A snapshot does not keep enough of it to render it
// again.
func (s *storage) reportUnlisted(wanted map[krm.ID]bool) {
	for _, of := range []struct{ group, kind, field string }{
		{cephGroup, poolKind, "spec.block"}, {cephGroup, filesystemKind, "spec.filesystem"}, {cephGroup, storeKind, "spec.object"}, {cdiGroup, cdiKind, "spec.cdi"},
	} {
		for _, live := range s.in.Facts.Objects(of.group, of.kind) {
			if live.Owner() != s.owner || live.Deleting() || wanted[live.ID()] || s.before(live.ID()) != nil || s.whole || s.Consent.Covers(of.kind, live.Name) {
				continue
			}
			s.Report(finding.Warning, "unlisted", of.field, "%s lives, and neither the spec nor what is rendered has it; it is not deleted, and nobody looks after it: write it into the spec, restore rendered/ from Git, or, to let it go, annotate the spec with %s: %s/%s; %s says how",
				live.Ref, krm.AnnotationAllowRemoval, of.kind, live.Name, guide)
		}
	}
}
