package hypercloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// annotationReplace is, on a spec, the disks that a person wants to replace, by serial number or by-id link.
const annotationReplace = "poolwright.io/replace"

// Annotations of the Deployment of an OSD: what a person asks for, and what Rook answers once the disk may go.
//
// Source: Rook, Storage-Configuration/Advanced/ceph-osd-mgmt.md (Replace an OSD), 1.21.
const (
	osdReplace = "osd.rook.io/replace"
	osdReady   = "osd.rook.io/replace-ready-for-swap"
)

// withReplacement is the release of Rook from which on that annotation replaces an OSD.
//
// Source: Rook, Storage-Configuration/Advanced/ceph-osd-mgmt.md (Replace an OSD), 1.21.
const withReplacement release = 21

// osd is an OSD that Rook replaces.
type osd struct {
	deployment, id, host string
	ready                bool // its disk may be taken out
}

// replacedOSDs lists the OSDs of a namespace that Rook replaces, by name.
func replacedOSDs(facts *inventory.Facts, namespace string) (all []osd) {
	for _, o := range facts.Objects(appsGroup, deploymentKind) {
		id := o.Label("ceph-osd-id")
		if o.Namespace == namespace && id != "" && o.Annotation(osdReplace) == "yes-really-replace-osd-"+id {
			all = append(all, osd{o.Name, id, cmp.Or(o.Label("topology-location-host"), "?"), o.Annotation(osdReady) == "true"})
		}
	}
	return all
}

// said is how far the replacement is, and what to do.
func (d osd) said() string {
	if d.ready {
		return fmt.Sprintf("OSD %s of host %s is ready for its new disk: take the old one out, put the new one into the same host, and list it in spec.storage; Rook makes OSD %s on it at its next look at the cluster", d.id, d.host, d.id)
	}
	return fmt.Sprintf("OSD %s of host %s is being replaced, and its data moves to others, which may take days: leave its disk in until Deployment %s has the annotation %s", d.id, d.host, d.deployment, osdReady)
}

// moving are the health checks that are raised while data is not where it is to be.
//
// Source: Ceph, Health checks (Data health), 20.2.
func moving() []string {
	return []string{"OBJECT_MISPLACED", "OBJECT_UNFOUND", "PG_AVAILABILITY", "PG_BACKFILL_FULL", "PG_DAMAGED", "PG_DEGRADED", "PG_DEGRADED_FULL", "PG_RECOVERY_FULL"}
}

// replacement says how the disks are replaced that a person has named: one at a time, by a person, since nobody
// but Rook owns the Deployment of an OSD, and an engine that did would delete it in the end.
type replacement struct {
	*input
	members *members
}

func (r *replacement) report() {
	under := replacedOSDs(r.Facts, r.Object.Namespace)
	for _, o := range under {
		r.Report(finding.Info, "osd-replaced", "", "%s", o.said())
	}
	turn := ""
	for _, name := range r.Object.AnnotationList(annotationReplace) {
		h, v := r.named(name)
		switch {
		case v == nil:
			r.Collect(r.AnnotationFinding(finding.Warning, "replace-unmatched", annotationReplace, name, "which is no disk of the cluster (any more); correct it, or remove it"))
		case turn != "":
			r.Collect(r.AnnotationFinding(finding.Info, "replace-waits", annotationReplace, name, "which waits until "+turn+" is replaced: one disk at a time"))
		default:
			turn = name
			r.guide(name, h, v, under)
		}
	}
}

// named finds the disk that a person means, or nil.
func (r *replacement) named(name string) (*host, *device) {
	for _, h := range r.members.hosts {
		for _, v := range h.devices {
			if v.isCalled(name) {
				return h, v
			}
		}
	}
	return nil, nil
}

func (v *device) isCalled(name string) bool {
	return v.Name == name || v.last() == name || v.disk.IsCalled(name)
}

// guide says what replaces a disk, or why it cannot be replaced now.
func (r *replacement) guide(name string, h *host, v *device, under []osd) {
	if why := r.refuse(h, v, under); why != "" {
		r.Collect(r.AnnotationFinding(finding.Warning, "replace-waits", annotationReplace, name, "whose OSD is not to be replaced now: "+why))
		return
	}
	if len(under) > 0 {
		return // which is said
	}
	serial := v.disk.Known().Serial
	r.Collect(r.AnnotationFinding(finding.Info, "replace-osd", annotationReplace, name, fmt.Sprintf(
		"a disk of host %s, which can be replaced now: kubectl exec -n %s deploy/%s -- ceph device ls-by-host %s shows its OSD%s; with the number of that for ID, run kubectl annotate -n %s deployment rook-ceph-osd-ID %s=yes-really-replace-osd-ID; leave the disk in until the Deployment has the annotation %s",
		h.name, r.Object.Namespace, toolboxName, h.nodeName(), orElse(serial != "", " beside the serial number "+serial, ""), r.Object.Namespace, osdReplace, osdReady)))
}

// refuse says why the OSD of a disk is not to be replaced now, or "".
func (r *replacement) refuse(h *host, v *device, under []osd) string {
	if r.cfg.release < withReplacement {
		return fmt.Sprintf("Rook %s replaces no OSD by an annotation, which came with %s; docs/hypercloud.md has the steps by hand", r.cfg.release, withReplacement)
	}
	if v.OSDsPerDevice > 1 {
		return fmt.Sprintf("it has %d OSDs, and Rook replaces one; docs/hypercloud.md has the steps by hand", v.OSDsPerDevice)
	}
	if i := slices.IndexFunc(under, func(o osd) bool { return strings.ReplaceAll(o.host, ".", "-") != strings.ReplaceAll(h.name, ".", "-") }); i >= 0 {
		return fmt.Sprintf("OSD %s of host %s is being replaced, and one goes at a time", under[i].id, under[i].host)
	}
	if r.live == nil {
		return "the inventory does not contain the running CephCluster; run poolwright inventory"
	}
	if !v.running {
		return "the live CephCluster does not have the disk"
	}
	if len(under) > 0 {
		return "" // data moves for one of this host
	}
	c := readCluster(r.live)
	if c.health != "HEALTH_OK" && c.health != "HEALTH_WARN" {
		return "ceph health is " + cmp.Or(c.health, "not known")
	}
	for _, check := range c.checks {
		if slices.Contains(moving(), check.name) {
			return "data is not where it is to be (" + check.name + "): wait until all placement groups are active+clean"
		}
	}
	return ""
}

// isReplaced reports whether a person has named a disk to be replaced.
func (in *input) isReplaced(v *device) bool {
	return slices.ContainsFunc(in.Object.AnnotationList(annotationReplace), v.isCalled)
}

// replaced reports the OSDs that Rook replaces.
func (s *survey) replaced(clusters []*krm.Object) {
	step := s.report.Step("OSD")
	for _, c := range clusters {
		for _, o := range replacedOSDs(s.facts, c.Namespace) {
			step.Count()
			step.Add(health.Problem{Phase: health.Progressing, Made: true, Reason: "ReplacingOSD", Message: o.said()})
		}
	}
}

// isReplacing reports whether Rook replaces all OSDs of a cluster that do not run.
func (s *survey) isReplacing(cluster *krm.Object) bool {
	c := readCluster(cluster)
	return c.declared-c.running <= len(replacedOSDs(s.facts, cluster.Namespace))
}
