package hypercloud

import (
	"strings"

	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// adoptedName is the link of a disk that a live cluster, which others have made, has by its
// kernel name.
func (s *storage) adoptedName(h *host, name string) string {
	if strings.HasPrefix(name, byID) {
		return name
	}
	path := name
	if !strings.HasPrefix(path, "/") {
		path = "/dev/" + path
	}
	link, _, why := s.resolve(h, path)
	if why != "" && (s.whole || s.lets(h, &device{deviceConfig: deviceConfig{Name: name}})) {
		return name // it may go, whatever it is
	}
	if why != "" {
		s.Report(finding.Error, "device-unknown", "spec.storage", "the CephCluster has %s of host %s, which %s; %s; write the link of the one that is meant into the live CephCluster, and take the inventory anew", name, h.name, why, s.disksOf(h))
		return name
	}
	s.Report(finding.Info, "kernel-name-replaced", "spec.storage", "%s of host %s, a disk of the CephCluster by its kernel name, is %s, which is rendered", name, h.name, link)
	return link
}

// checkAdopted tells of disks that a live cluster, which others have made, has without
// naming them: they are not rendered.
func (s *storage) checkAdopted() {
	if s.live == nil {
		return
	}
	var fields []string
	look := func(n *d.Node, of string) {
		for _, field := range []string{"useAllNodes", "useAllDevices", "deviceFilter", "devicePathFilter", "storageClassDeviceSets"} {
			if text := n.Str(field); text != "" && text != "false" || len(n.Seq(field)) > 0 {
				fields = append(fields, field+of)
			}
		}
	}
	look(s.live.Node.Get("spec", "storage"), "")
	nodes := s.live.Node.Seq("spec", "storage", "nodes")
	for i := range nodes {
		look(&nodes[i], " of host "+nodes[i].Str("name"))
	}
	if len(fields) > 0 {
		s.Report(finding.Warning, "disks-unnamed", "spec.storage", "the live %s has disks by %s, which is not rendered: a disk that the spec does not name is no longer declared then; its OSD runs on, and nobody mends it: compare ceph osd tree with the spec before this is applied", s.live.Ref, finding.Names(fields))
	}
}
