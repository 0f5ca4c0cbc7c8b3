package admission

import (
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/schema/finding"
)

// removals checks the pools that go.
func (r *review) removals() {
	instances := r.Live.Instances(r.wanted.Namespace, r.wanted.Name)
	known := r.knows(pool.APIGroup, pool.InstanceKind)
	for _, p := range r.Removed {
		i := slices.IndexFunc(instances, func(i *pool.Instance) bool { return i.Hostname == p.Hostname })
		replicas := 0
		if i >= 0 {
			replicas = r.Live.Replicas(r.wanted.Namespace, instances[i].Name)
		}
		moved := slices.IndexFunc(instances, func(i *pool.Instance) bool { return i.Pool.Shares(p) })
		lives := len(instances) > 0 || r.Live.Cluster(r.wanted.Namespace, r.wanted.Name) != nil
		problem := Problem{Outcome: Refused, Host: p.Hostname}
		switch {
		case replicas > 0:
			problem.Rule = "pool-in-use"
			problem.Text = fmt.Sprintf("it cannot go: CStorPoolInstance %s holds %s", instances[i].Name, finding.Count(replicas, "volume replica"))
			problem.Remedy = "move what it holds to other pools first"
			problem.Words = "volume still exists on pool " + instances[i].Name
		case i < 0 && known && moved >= 0:
			m := instances[moved]
			problem.Rule = "instance-elsewhere"
			problem.Text = fmt.Sprintf("it cannot go: the webhook fails, since CStorPoolInstance %s has the hostname label %s", m.Name, m.Hostname)
			problem.Remedy = fmt.Sprintf("set it to the host of the pool first: kubectl label cspi -n %s %s kubernetes.io/hostname=%s --overwrite", r.wanted.Namespace, m.Name, p.Hostname)
		case i < 0 && known && lives:
			problem.Rule = "no-instance"
			problem.Text = "it cannot go yet: it has no CStorPoolInstance, and the webhook fails on that"
			problem.Remedy = "wait for the instance, refresh the inventory, render again"
		case i < 0 && known:
			continue // nothing of the cluster lives
		case !known || !r.knows(pool.APIGroup, pool.ReplicaKind):
			problem.Outcome, problem.Rule = Unknown, "replicas-unknown"
			problem.Text = "it is removed, and the inventory does not show whether it holds volume replicas"
			problem.Remedy = "refresh it with poolwright inventory, and render again before this is applied"
		default:
			continue
		}
		r.add(problem)
	}
}

// Deletion is the problem that a CStorPoolCluster cannot be deleted; found is false where the
// facts show no volume replica on it.
func (s State) Deletion(namespace, name string) (p Problem, found bool) {
	for _, i := range s.Live.Instances(namespace, name) {
		if replicas := s.Live.Replicas(namespace, i.Name); replicas > 0 {
			return Problem{Outcome: Refused, Rule: "cluster-in-use", Text: fmt.Sprintf("it cannot go: CStorPoolInstance %s holds %s", i.Name, finding.Count(replicas, "volume replica")),
				Words: "invalid cspc " + name + " deletion: volume still exists on pool " + i.Name}, true
		}
	}
	return Problem{}, false
}

// additions checks that pools come alone: the operators compare how many pools there are
// with how many instances.
func (r *review) additions() {
	if len(r.Added) == 0 {
		return
	}
	if len(r.Removed) > 0 {
		r.add(Problem{Outcome: Ignored, Rule: "two-changes",
			Text:   fmt.Sprintf("the pool on %s goes and the pool on %s comes in one edit", r.Removed[0].Hostname, r.Added[0].Hostname),
			Remedy: "apply the removal, wait until its CStorPoolInstance is gone, then add",
		})
	}
	all := *r.old // a pool that comes back has its instance
	all.Pools = append(slices.Clone(all.Pools), r.Added...)
	for _, i := range r.Leftover(&all) {
		r.add(Problem{Outcome: Broken, Rule: "removal-unfinished", Host: i.Hostname,
			Text:   fmt.Sprintf("it was removed, and its CStorPoolInstance %s is still there: if a pool comes before that is gone, neither is ever carried out", i.Name),
			Remedy: "wait until the instance is gone, refresh the inventory, render again",
		})
	}
}

// Leftover lists the instances of pools that a CStorPoolCluster does not have any more,
// by name. No pool may be added while there is one. A pool that was moved keeps its
// instance, which is known by its disks.
func (s State) Leftover(cluster *pool.Cluster) []*pool.Instance {
	hosts, disks := map[string]bool{}, map[string]bool{}
	for _, p := range cluster.Pools {
		hosts[p.Hostname] = true
		for _, name := range p.Disks() {
			disks[name] = true
		}
	}
	var left []*pool.Instance
	for _, i := range s.Live.Instances(cluster.Namespace, cluster.Name) {
		if !hosts[i.Hostname] && !slices.ContainsFunc(i.Pool.Disks(), func(name string) bool { return disks[name] }) {
			left = append(left, i)
		}
	}
	return left
}
