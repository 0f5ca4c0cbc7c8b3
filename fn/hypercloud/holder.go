package hypercloud

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Holds implements system.Holder: the disks that a CephCluster names, and each that one
// of its filters can match.
func (System) Holds(o *krm.Object) []disk.Hold {
	storage := o.Node.Get("spec", "storage")
	external, _ := o.Node.Get("spec", "external", "enable").Bool()
	if o.Group() != cephGroup || o.Kind != clusterKind || external {
		return nil
	}
	all := choiceOf(storage)
	if everywhere, _ := storage.Get("useAllNodes").Bool(); everywhere {
		return all.holds("")
	}
	nodes := storage.Seq("nodes")
	var holds []disk.Hold
	for i := range nodes {
		if name := nodes[i].Str("name"); name != "" {
			holds = append(holds, choiceOf(&nodes[i]).or(all).holds(name)...)
		}
	}
	return holds
}

// choice is which disks are meant: those that are named, or else those that a filter
// matches, or else all.
type choice struct {
	devices    []string
	metadata   []string
	nameFilter string // a regular expression of kernel names
	pathFilter string // one of paths and links
	all        *bool
}

// choiceOf reads the choice for all nodes or for one.
func choiceOf(n *document.Node) choice {
	c := choice{nameFilter: n.Str("deviceFilter"), pathFilter: n.Str("devicePathFilter")}
	if all, said := n.Get("useAllDevices").Bool(); said {
		c.all = &all
	}
	addMetadata := func(n *document.Node) {
		if name := n.Str("config", "metadataDevice"); name != "" {
			c.metadata = append(c.metadata, name)
		}
	}
	addMetadata(n)
	devices := n.Seq("devices")
	for i := range devices {
		if name := cmp.Or(devices[i].Str("fullpath"), devices[i].Str("name")); name != "" {
			c.devices = append(c.devices, name)
		}
		addMetadata(&devices[i])
	}
	return c
}

// or is the choice of a node, which says for itself what is not to be as for all.
func (c choice) or(all choice) choice {
	if len(c.devices) == 0 {
		c.devices = all.devices
	}
	if c.all == nil {
		c.all = all.all
	}
	c.nameFilter = cmp.Or(c.nameFilter, all.nameFilter)
	c.pathFilter = cmp.Or(c.pathFilter, all.pathFilter)
	c.metadata = append(c.metadata, all.metadata...)
	return c
}

// holds are the disks of a node that are meant; of every node if it has no name.
func (c choice) holds(node string) []disk.Hold {
	var holds []disk.Hold
	for _, name := range c.metadata {
		holds = append(holds, named(node, name, "metadata"))
	}
	for _, name := range c.devices {
		holds = append(holds, named(node, name, "osd"))
	}
	if len(c.devices) > 0 {
		return holds
	}
	filter := func(matches func(*disk.Disk) bool) {
		holds = append(holds, disk.Hold{Role: "osd", Matches: matches, Node: node})
	}
	if c.nameFilter != "" {
		filter(matching(c.nameFilter, kernelName))
	}
	if c.pathFilter != "" {
		matches := matching(c.pathFilter, func(path string) (string, bool) { return path, true })
		filter(func(d *disk.Disk) bool { return matches(d) || mayHave(d, c.pathFilter) })
	}
	if c.nameFilter == "" && c.pathFilter == "" && c.all != nil && *c.all {
		filter(func(*disk.Disk) bool { return true })
	}
	return holds
}

func kernelName(path string) (name string, found bool) {
	name, found = strings.CutPrefix(path, "/dev/")
	return name, found && !strings.Contains(name, "/")
}

// matching finds the disks of which the expression matches one of the names that count.
// A disk of which no such name is known may be any, and an expression that cannot be read
// may mean any.
func matching(expression string, counts func(path string) (name string, found bool)) func(*disk.Disk) bool {
	re, err := regexp.Compile(expression)
	if err != nil {
		return func(*disk.Disk) bool { return true }
	}
	return func(d *disk.Disk) bool {
		known := false
		matches := d.HasPath(func(path string) bool {
			name, found := counts(path)
			known = known || found
			return found && re.MatchString(name)
		})
		return matches || !known
	}
}

// mayHave reports whether an expression asks for links of a folder of which none is reported of
// the disk, so that it may match one.
func mayHave(d *disk.Disk, expression string) bool {
	for _, folder := range []string{"by-path", "by-id", "by-diskseq"} {
		if strings.Contains(expression, folder) && !d.HasLinks(folder) {
			return true
		}
	}
	return false
}

// named is a disk by its kernel name or a link, on one node or on each.
func named(node, name, role string) disk.Hold {
	if !strings.HasPrefix(name, "/") {
		name = "/dev/" + name
	}
	if node != "" || strings.Contains(name, "/by-id/") {
		return disk.Hold{Identity: disk.ByPath(node, name), Role: role}
	}
	return disk.Hold{Role: role, Matches: func(d *disk.Disk) bool {
		return d.HasPath(func(path string) bool { return path == name })
	}}
}
