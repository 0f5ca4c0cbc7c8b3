package pool

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// Groups are RAID groups, in order.
type Groups []Group

// Group is one RAID group: the names of its block devices, in order.
type Group []string

// Disks lists the block devices of all groups, in order.
func (g Groups) Disks() []string {
	return slices.Concat(g...)
}

// String lists the groups for people: [a b] [c d].
func (g Groups) String() string {
	groups := make([]string, len(g))
	for i, group := range g {
		groups[i] = "[" + strings.Join(group, " ") + "]"
	}
	return strings.Join(groups, " ")
}

// SameNames compares names in any order.
func SameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Without lists the names that are not among others, in their order.
func Without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// Equal reports whether two are the same groups in the same order, with their disks in the same order.
func (g Groups) Equal(other Groups) bool {
	return slices.EqualFunc(g, other, func(a, b Group) bool { return slices.Equal(a, b) })
}

// Same reports whether two have the same disks in the same groups, in any order.
func (g Groups) Same(other Groups) bool { return slices.Equal(g.sorted(), other.sorted()) }

func (g Groups) sorted() []string {
	groups := make([]string, len(g))
	for i, group := range g {
		groups[i] = strings.Join(slices.Sorted(slices.Values(group)), ",")
	}
	slices.Sort(groups)
	return groups
}

func decodeGroups(items []document.Node) Groups {
	var groups Groups
	for i := range items {
		groups = append(groups, DecodeGroup(&items[i]))
	}
	return groups
}

// DecodeGroup reads one RAID group.
func DecodeGroup(n *document.Node) Group {
	var group Group
	for _, d := range n.Seq("blockDevices") {
		group = append(group, d.Str("blockDeviceName"))
	}
	return group
}

func (g Groups) encode() document.Node {
	items := make([]document.Node, len(g))
	for i, group := range g {
		devices := make([]document.Node, len(group))
		for j, name := range group {
			devices[j] = document.Object(document.F("blockDeviceName", document.Text(name)))
		}
		items[i] = document.Object(document.F("blockDevices", document.List(devices...)))
	}
	return document.List(items...)
}
