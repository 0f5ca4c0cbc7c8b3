package admission

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/raid"
)

// asItStands checks the wanted CStorPoolCluster as a whole, old pools and new: one disk
// or one node that is not well, and every edit is refused, whatever it is about.
func (r *review) asItStands() {
	refuse := func(rule, host, text string) { r.add(Problem{Outcome: Refused, Rule: rule, Host: host, Text: text}) }
	if len(r.wanted.Pools) == 0 {
		refuse("no-pools", "", "it has no pools")
	}
	had := r.old.Has()
	hosts, seen := map[string]bool{}, make(map[string]bool, len(r.Facts.Devices))
	for _, p := range r.wanted.Pools {
		if p.Hostname == "" {
			refuse("no-selector", "", "a pool has no node selector")
		} else {
			r.node(p)
		}
		if hosts[p.Hostname] {
			r.add(Problem{Outcome: Refused, Rule: "host-twice", Text: "host " + p.Hostname + " has two pools", Words: "invalid cspc: duplicate node " + p.Hostname + " entry"})
		}
		hosts[p.Hostname] = true
		for _, text := range groupProblems(p.RAIDType, p.Data) {
			refuse("raid-group", p.Hostname, text)
		}
		r.cache(p)
		if !slices.Contains(compressions, p.Compression) {
			refuse("compression", p.Hostname, fmt.Sprintf("%q is not a compression of cStor", p.Compression))
		}
		for _, name := range p.Disks() {
			if seen[name] {
				r.add(Problem{Outcome: Refused, Rule: "disk-twice", Disk: name, Text: "is in two places",
					Words: fmt.Sprintf("invalid cspc: cspc {%s} has duplicate blockdevices entries [%s]", r.wanted.Name, name)})
				continue
			}
			seen[name] = true
			if problem, found := r.Disk(r.wanted, r.hostOf(p), name, !had[name]); found {
				problem.Host = p.Hostname
				r.add(problem)
			}
		}
	}
}

var compressions = []string{"", "on", "off", "lzjb", "gzip", "zle", "lz4"}

// hostOf is the host of a pool, "" where that is not known.
func (r *review) hostOf(p *pool.Pool) string {
	if len(p.Labels) > 0 && len(r.Nodes(p)) != 1 {
		return ""
	}
	return p.Hostname
}

// node checks that the selector of a pool finds one node.
func (r *review) node(wanted *pool.Pool) {
	nodes := len(r.Nodes(wanted))
	if nodes == 1 || len(r.Facts.Nodes) == 0 { // of a cluster without any node nothing is known
		return
	}
	p := Problem{Outcome: Refused, Rule: "node-count", Host: wanted.Hostname, Text: fmt.Sprintf("its node selector finds %d nodes, and must find one", nodes)}
	if nodes == 0 && r.old != nil && r.old.Host(wanted.Hostname) != nil {
		p.Rule, p.Remedy = "node-gone", "until the node is back, or the pool is released, every other change is refused"
	}
	r.add(p)
}

// cache checks a write cache.
func (r *review) cache(p *pool.Pool) {
	if len(p.Cache) > 0 {
		for _, text := range groupProblems(p.CacheType, p.Cache) {
			r.add(Problem{Outcome: Refused, Rule: "write-cache-group", Host: p.Hostname, Cache: true, Text: "write cache: " + text})
		}
		return
	}
	if p.CacheType == "" {
		return
	}
	problem := Problem{Outcome: Broken, Rule: "write-cache-type", Host: p.Hostname, Text: "it has a writeCacheGroupType and no write cache", Remedy: "take writeCacheGroupType out"}
	if p.CacheType == pool.Stripe && r.old != nil {
		problem.Outcome = Refused
		problem.Text += ", on which the webhook fails with every change"
	}
	r.add(problem)
}

// groupProblems checks the number of groups and of disks in them.
func groupProblems(raidType string, groups pool.Groups) []string {
	switch raidType {
	case pool.Stripe, pool.Mirror, pool.RAIDZ, pool.RAIDZ2:
	case "":
		return []string{"a RAID type is missing"}
	default:
		return []string{fmt.Sprintf("%q is not a RAID type of cStor", raidType)}
	}
	var problems []string
	if len(groups) == 0 {
		problems = append(problems, "it has no RAID group")
	}
	if raidType == pool.Stripe && len(groups) > 1 {
		problems = append(problems, "a stripe has exactly one RAID group")
	}
	for _, group := range groups {
		if !raid.IsGroup(raidType, len(group)) {
			problems = append(problems, fmt.Sprintf("%s %s not make a %s group", finding.Count(len(group), "disk"), finding.Agree(len(group), "does", "do"), raidType))
		}
	}
	return problems
}
