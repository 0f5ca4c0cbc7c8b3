package applyset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/follow"
	"github.com/poolwright/poolwright/schema/document"
)

// atOnce is how many requests are under way at the same time.
const atOnce = 4

// List reads the members of some kinds, sorted. Kinds that the cluster does not have have none. optional
// leaves out those that may not be listed: nobody says that there are members.
func (s Set) List(ctx context.Context, c *cluster.Cluster, served *cluster.Served, kinds []krm.GroupKind, optional bool) ([]*Member, error) {
	resources, err := resources(served, kinds)
	if err != nil {
		return nil, err
	}
	listed := make([][]*Member, len(resources))
	errs := make([]error, len(resources))
	var readers sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, r := range resources {
		readers.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = c.List(ctx, r, cluster.Selectors{Labels: labelPartOf + "=" + s.ID}, func(items []document.Node) error {
				for j := range items {
					listed[i] = append(listed[i], newMember(r, &items[j]))
				}
				return nil
			}, func() { listed[i] = nil })
		})
	}
	readers.Wait()
	for _, err := range errs {
		if err != nil && !(optional && cluster.IsDenied(err)) {
			return nil, err
		}
	}
	all := slices.Concat(listed...)
	slices.SortFunc(all, func(a, b *Member) int { return a.Live.ID().Compare(b.Live.ID()) })
	return all, nil
}

// resources are those of some kinds that are served.
func resources(served *cluster.Served, kinds []krm.GroupKind) ([]cluster.Resource, error) {
	var found []cluster.Resource
	for _, kind := range kinds {
		r, there, err := served.Find(kind.Group, kind.Kind)
		if err != nil {
			return nil, err
		}
		if there && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b cluster.Resource) int { return cmp.Compare(a.String(), b.String()) })
	return found, nil
}

// Queries are for a Follower of members of some kinds, as far as the cluster has them.
func (s Set) Queries(served *cluster.Served, kinds []krm.GroupKind) ([]follow.Query, error) {
	found, err := resources(served, kinds)
	var queries []follow.Query
	for _, r := range found {
		queries = append(queries, follow.Query{Resource: r, Labels: labelPartOf + "=" + s.ID})
	}
	return queries, err
}

// Digester gives a Follower the digest of a live object. awaits says what one waits for.
func Digester(awaits func(*krm.Object) string) func(cluster.Resource, *document.Node) string {
	return func(r cluster.Resource, n *document.Node) string { return newMember(r, n).digest(awaits) }
}

// digest is the same for members of which the same was applied and which wait for the same.
func (m *Member) digest(awaits func(*krm.Object) string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%t\n", m.Live.Node.Str("metadata", "uid"), awaits(m.Live), m.Live.Deleting())
	sum.Write(document.AppendJSON(nil, m.Applied.Node))
	id := m.Live.ID()
	return fmt.Sprintf("%s/%s/%s/%s %x", id.Group, id.Kind, id.Namespace, id.Name, sum.Sum(nil))
}

// Digest is that of all members.
func Digest(members []*Member, awaits func(*krm.Object) string) string {
	lines := make([]string, len(members))
	for i, m := range members {
		lines[i] = m.digest(awaits)
	}
	return follow.Digest(lines)
}
