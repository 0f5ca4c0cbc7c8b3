package cstor

import (
	"fmt"
	"maps"
	"slices"
)

// Hardware is the nodes and disks as they are, whatever the API server says of them.
type Hardware struct {
	api      *API
	machines map[string]*machine
	disks    map[string]*disk // by the name of the BlockDevice
	pulled   map[string]pulled
}

// machine is what a node runs on.
type machine struct {
	name, host string
	up         bool
}

// disk is a disk in a machine. What is broken is seen as Inactive.
type disk struct {
	name, machine string
	bytes         int64
	broken        bool
	handle        string // of the cloud volume that it is
}

func (h *Hardware) hosting(host string) *machine {
	var first *machine
	for _, m := range h.machines {
		if m.host == host && (first == nil || m.name < first.name) {
			first = m
		}
	}
	return first
}

// runs reports whether pods run on a host.
func (h *Hardware) runs(host string) bool {
	m := h.hosting(host)
	return m != nil && m.up && h.api.Nodes[m.name] != nil
}

// works reports whether a pool on a host can read a disk.
func (h *Hardware) works(name, host string) bool {
	d := h.disks[name]
	return d != nil && !d.broken && h.machines[d.machine] != nil && h.machines[d.machine].host == host && h.runs(host)
}

// AddNode adds a node. host is the value of its hostname label, "" for its name.
func (h *Hardware) AddNode(name, host string, labels map[string]string) {
	if host == "" {
		host = name
	}
	h.machines[name] = &machine{name: name, host: host, up: true}
	n := &Node{header: newHeader("v1", "Node", "", name)}
	maps.Copy(n.Labels, labels)
	n.Labels[labelHostname] = host
	n.Status.Conditions = []condition{{Type: "Ready", Status: "True"}}
	h.api.born(&n.header)
	h.api.Nodes[name] = n
}

// AddDisk puts a disk of so many bytes into a node.
func (h *Hardware) AddDisk(node, name string, bytes int64) {
	h.disks[name] = &disk{name: name, machine: node, bytes: bytes}
}

// Disks lists the disks in a node by name; "" is all.
func (h *Hardware) Disks(node string) []string {
	var names []string
	for _, d := range sorted(h.disks) {
		if node == "" || d.machine == node {
			names = append(names, d.name)
		}
	}
	return names
}

// Machines lists the nodes by name, also those that are down or lost.
func (h *Hardware) Machines() []string { return slices.Sorted(maps.Keys(h.machines)) }

// Crash stops a node: its objects in the API stay as they were last written.
func (h *Hardware) Crash(node string) error {
	m := h.machines[node]
	if m == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	m.up = false
	h.setReady(node, "Unknown")
	return nil
}

// Lose stops a node and takes its Node object away.
func (h *Hardware) Lose(node string) error {
	if err := h.Crash(node); err != nil {
		return err
	}
	delete(h.api.Nodes, node)
	return nil
}

// Return starts a node that is down. One whose Node was gone gets another uid.
func (h *Hardware) Return(node string) error {
	m := h.machines[node]
	if m == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	if h.api.Nodes[node] == nil {
		h.AddNode(node, m.host, nil)
	}
	m.up = true
	h.setReady(node, "True")
	return nil
}

// Recreate makes the Node object again, with another uid and the labels that it had.
func (h *Hardware) Recreate(node string) error {
	old := h.api.Nodes[node]
	if old == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	h.AddNode(node, h.machines[node].host, old.Labels)
	return nil
}

func (h *Hardware) setReady(node, status string) {
	if n := h.api.Nodes[node]; n != nil {
		n.Status.Conditions = []condition{{Type: "Ready", Status: status}}
	}
}

// Label sets a label of a node; an empty value takes it away.
func (h *Hardware) Label(node, key, value string) error {
	n := h.api.Nodes[node]
	if n == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	if n.Labels[key] = value; value == "" {
		delete(n.Labels, key)
	}
	return nil
}

// Break has a disk fail, or work again.
func (h *Hardware) Break(name string, broken bool) error {
	d := h.disks[name]
	if d == nil {
		return fmt.Errorf("there is no disk %s", name)
	}
	d.broken = broken
	return nil
}

// Pull takes a disk away, with its BlockDevice.
func (h *Hardware) Pull(name string) error {
	if h.disks[name] == nil {
		return fmt.Errorf("there is no disk %s", name)
	}
	h.pulled[name] = pulled{h.disks[name], h.api.BlockDevices[name]}
	delete(h.disks, name)
	delete(h.api.BlockDevices, name)
	return nil
}

// pulled is a disk that was taken away, as it was.
type pulled struct {
	*disk
	device *BlockDevice
}

// Insert puts a disk back that was taken away.
func (h *Hardware) Insert(name string) error {
	was, found := h.pulled[name]
	if !found {
		return fmt.Errorf("disk %s was not taken away", name)
	}
	h.disks[name] = was.disk
	if was.device != nil {
		h.api.BlockDevices[name] = was.device
	}
	delete(h.pulled, name)
	return nil
}

// Move puts all disks of a node into another.
func (h *Hardware) Move(from, to string) error {
	if h.machines[to] == nil {
		return fmt.Errorf("there is no node %s", to)
	}
	for _, name := range h.Disks(from) {
		h.disks[name].machine = to
	}
	return nil
}
