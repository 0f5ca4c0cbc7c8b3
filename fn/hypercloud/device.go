package hypercloud

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/schema/finding"
)

const byID = "/dev/disk/by-id/"

// host is a node of the CephCluster.
type host struct {
	name    string          // its hostname label
	node    *inventory.Node // nil for one that is missing
	devices []*device
}

// device is a disk of the CephCluster.
type device struct {
	deviceConfig            // with links below /dev/disk/by-id as names
	disk         *disk.Disk // never nil; it may be missing
	written      string     // the kernel name by which the spec names it, or ""
	locked       bool       // by an earlier run
	running      bool       // the live CephCluster has it, or is not known
	path         []any      // where the spec names it; nil if it does not
}

// last is the last part of the link, by which consent names a disk.
func (v *device) last() string { return v.Name[strings.LastIndexByte(v.Name, '/')+1:] }

// find returns the device of a link or a disk, or nil.
func (h *host) find(link string, on *disk.Disk) *device {
	i := slices.IndexFunc(h.devices, func(v *device) bool {
		return v.Name == link || on != nil && (v.disk == on || slices.Contains(on.Others(), v.disk))
	})
	if i < 0 {
		return nil
	}
	return h.devices[i]
}

// has reports whether a host has the very disk.
func (h *host) has(on *disk.Disk) bool {
	return slices.ContainsFunc(h.devices, func(v *device) bool { return v.disk == on })
}

func hostOf(hosts []*host, name string) *host {
	if i := slices.IndexFunc(hosts, func(h *host) bool { return h.name == name }); i >= 0 {
		return hosts[i]
	}
	return nil
}

// diskRef names a disk for people.
func diskRef(v *device, h *host) finding.Ref {
	switch {
	case v.disk.Device != nil:
		return v.disk.Device.Object.Ref
	case v.disk.Path != "" && !v.disk.Missing():
		return finding.Ref{Kind: "Disk", Namespace: h.name, Name: v.disk.Path}
	}
	return finding.Ref{Kind: "Disk", Namespace: h.name, Name: v.last()}
}
