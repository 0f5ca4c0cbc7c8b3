package admission

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/inventory"
)

// Resolve gives pools that select their node by other labels than that of the hostname the
// host of the node that they select, as the webhook does. One that selects no node, or
// several, has its labels in the place of the host.
func (s State) Resolve(c *pool.Cluster) *pool.Cluster {
	other := func(p *pool.Pool) bool { return p.Hostname == "" && len(p.Labels) > 0 }
	if c == nil || !slices.ContainsFunc(c.Pools, other) {
		return c
	}
	c = c.Clone()
	for _, p := range c.Pools {
		if !other(p) {
			continue
		}
		p.Hostname = p.Labels.String()
		if nodes := s.Nodes(p); len(nodes) == 1 {
			p.Hostname = nodes[0].Hostname
		}
	}
	return c
}

// Nodes lists those that a pool selects.
func (s State) Nodes(p *pool.Pool) []*inventory.Node {
	if len(p.Labels) == 0 {
		return s.Facts.Host(p.Hostname)
	}
	var nodes []*inventory.Node
	for _, n := range s.Facts.Nodes {
		selected := p.Hostname == n.Hostname || p.Hostname == p.Labels.String()
		for key, value := range p.Labels {
			selected = selected && n.Object.Label(key) == value
		}
		if selected {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// nodeGone reports whether a pool selects no node. Of a cluster without any node nothing is known.
func (s State) nodeGone(p *pool.Pool) bool { return len(s.Facts.Nodes) > 0 && len(s.Nodes(p)) == 0 }
