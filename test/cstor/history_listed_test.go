package cstor

import (
	"fmt"
	"slices"
	"testing"
)

// TestListedHistories goes through histories of configs that list pools node by node: entries
// come, grow and go, also those of pools that live.
func TestListedHistories(t *testing.T) {
	t.Parallel()
	liveThrough(t, newListedHistory)
}

// newListedHistory begins with a few nodes that are listed; in some, no others are allowed.
func newListedHistory(seed uint64) *history {
	h := newHistory(seed)
	h.lists = true
	for i, c := range h.configs {
		c.onlyListed = (int(seed)+i)%3 == 0
		for j, node := range h.cluster.Machines() {
			if j <= c.minimum && c.onlyListed || j == i {
				c.listed = append(c.listed, listedPool{node: node, groups: 1 + (int(seed)+j)%2})
			}
		}
	}
	return h
}

// listedPool is an entry of spec.pools.
type listedPool struct {
	node   string
	groups int
}

// entries are what the spec says of the pools that are listed.
func (c *config) entries() []any {
	all := make([]any, len(c.listed))
	for i, l := range c.listed {
		all[i] = map[string]any{"node": l.node, "minCount": c.disksIn(l.groups)}
	}
	return all
}

// fewest is how many pools there are to be.
func (c *config) fewest() int {
	if c.onlyListed && len(c.listed) > 0 {
		return min(c.minimum, len(c.listed))
	}
	return c.minimum
}

// poolsEdited adds an entry, mostly for a node with a pool; or lets one grow, or takes it out.
func poolsEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	var nodes []string
	for _, n := range sorted(h.cluster.Nodes) {
		if e.c%4 == 0 || h.instanceOn(c, n.Name) != nil {
			nodes = append(nodes, n.Name)
		}
	}
	for _, l := range c.listed {
		if h.cluster.Nodes[l.node] == nil {
			nodes = append(nodes, l.node) // which is no node any more
		}
	}
	node, found := pick(nodes, e.b)
	at := slices.IndexFunc(c.listed, func(l listedPool) bool { return l.node == node })
	c.listed = slices.Clone(c.listed)
	switch {
	case !found:
		return "", nil
	case at < 0:
		c.listed = append(c.listed, listedPool{node: node, groups: 1 + e.c%3})
		return fmt.Sprintf("%s lists node %s with %d groups", c.name, node, 1+e.c%3), nil
	case e.c%3 > 0 && c.listed[at].groups < 3:
		c.listed[at].groups++
		return fmt.Sprintf("%s wants %d groups on node %s, which it lists", c.name, c.listed[at].groups, node), nil
	}
	c.listed = slices.Delete(c.listed, at, at+1)
	return fmt.Sprintf("%s does not list node %s any more", c.name, node), nil
}

// instanceOn is the pool of a config on a node, or nil.
func (h *history) instanceOn(c *config, node string) *Instance {
	for _, i := range sorted(h.cluster.Instances) {
		if n := h.cluster.Nodes[node]; n != nil && configOf(i.Labels[labelCluster]) == c.name && i.Labels[labelHostname] == n.Labels[labelHostname] {
			return i
		}
	}
	return nil
}

// listedAtRest holds that a node that is listed has a pool of as many disks as its entry says.
func (h *history) listedAtRest(warned func(string) bool) error {
	for _, c := range h.configs {
		for _, l := range c.listed {
			if h.cluster.Nodes[l.node] == nil || warned(c.name) {
				continue
			}
			disks, wanted := 0, c.disksIn(l.groups)
			if i := h.instanceOn(c, l.node); i != nil {
				disks = len(i.Spec.disks())
			}
			if disks < wanted {
				return broken{"listed", fmt.Sprintf("the pool of %s on node %s has %d disks of %d, and no warning says why", c.name, l.node, disks, wanted)}
			}
		}
	}
	return nil
}

// largest is how many disks the largest pool has that the spec wants.
func (c *config) largest() int {
	most := c.groups
	for _, l := range c.listed {
		most = max(most, l.groups)
	}
	return c.disksIn(most)
}
