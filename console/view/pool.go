package view

import (
	"cmp"
	"slices"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/picture"
)

// Pool is a pool, or all that one system has on a node.
type Pool struct {
	System    Text         `json:"system"`
	Kind      string       `json:"kind"`
	Namespace Text         `json:"namespace"`
	Name      string       `json:"name"`
	Node      Text         `json:"node"`
	Zone      Text         `json:"zone"`
	State     health.Phase `json:"state"`
	Condition Text         `json:"condition"` // in the words of its system
	Size      Bytes        `json:"size"`
	Used      Bytes        `json:"used"`
	Volumes   []string     `json:"volumes"` // with a copy on it
	Disks     []string     `json:"disks"`
}

// Pools are those of all systems, by system, node and name.
func (v *View) Pools() []Pool { return v.pools() }

func (v *View) readPools() []Pool {
	zones := map[string]string{}
	for _, n := range v.index().Nodes {
		zones[n.Name] = n.Zone
	}
	var all []Pool
	for _, p := range picture.FromTrees(v.trees(), func(node string) string { return zones[node] }) {
		row := Pool{
			System: Text(v.function.Kinds().SystemOf(p.Object.GroupKind())), Kind: p.Object.Kind, Namespace: Text(p.Object.Namespace), Name: p.Object.Name,
			Node: Text(p.Node), Zone: Text(p.Zone), State: p.Phase, Condition: Text(p.State), Size: known(p.Total), Used: -1, Volumes: []string{}, Disks: []string{},
		}
		if p.Total > 0 {
			row.Used = Bytes(p.Used)
		}
		for _, part := range p.Parts {
			if part.Kind == picture.Disk {
				row.Disks = append(row.Disks, part.Name)
			} else {
				row.Volumes = append(row.Volumes, part.Name)
			}
		}
		all = append(all, row)
	}
	slices.SortStableFunc(all, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Picture is the pools drawn as SVG.
func (v *View) Picture() []byte {
	zones := map[string]string{}
	for _, n := range v.index().Nodes {
		zones[n.Name] = n.Zone
	}
	p := picture.Picture{Title: "Storage", Pools: picture.FromTrees(v.trees(), func(node string) string { return zones[node] })}
	return p.SVG()
}
