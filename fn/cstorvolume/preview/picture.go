package preview

import (
	"slices"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/picture"
	"github.com/poolwright/poolwright/schema/finding"
)

// Draw adds what comes to pools as they are drawn without it, and leaves out those that the
// preview is not about.
func (p *Preview) Draw(pools []picture.Pool) []picture.Pool {
	type place struct{ pool, replica finding.Ref }
	without, at, has := map[finding.Ref]*picture.Pool{}, map[finding.Ref]int{}, map[place]bool{}
	for i := range pools {
		without[pools[i].Object] = &pools[i]
	}
	var drawn []picture.Pool
	for _, shown := range p.Pools {
		before := without[shown.Object.Ref]
		if before == nil {
			continue
		}
		one := *before
		one.Parts = slices.Clone(one.Parts)
		one.Sure, one.Most = shown.SureBytes, shown.MostBytes
		for _, part := range one.Parts {
			has[place{one.Object, part.Object}] = true
		}
		at[one.Object] = len(drawn)
		drawn = append(drawn, one)
	}
	for _, c := range p.Chains {
		config := c.config()
		if config == nil {
			continue
		}
		add := func(name string, mark picture.Mark) {
			on := finding.Ref{APIVersion: config.APIVersion, Kind: pool.InstanceKind, Namespace: config.Namespace, Name: name}
			i, found := at[on]
			if replica := c.replica(name); found && !has[place{on, replica}] {
				drawn[i].Parts = append(drawn[i].Parts, picture.Part{Kind: picture.Replica, Object: replica, Name: c.volume(), Mark: mark})
			}
		}
		for _, name := range c.On {
			add(name, picture.ToCome)
		}
		for _, name := range c.Candidates {
			add(name, picture.MayCome)
		}
	}
	return drawn
}

// config is the CStorVolumeConfig of a chain.
func (c *Chain) config() *krm.Object {
	i := slices.IndexFunc(c.Objects, func(o *krm.Object) bool { return o.Group() == pool.APIGroup })
	if i < 0 {
		return nil
	}
	return c.Objects[i]
}

// volume is what people call the volume.
func (c *Chain) volume() string {
	if c.Claim.Name != "" {
		return c.Claim.Namespace + "/" + c.Claim.Name
	}
	return c.config().Name
}

// replica is the replica of the volume on a pool.
func (c *Chain) replica(instance string) finding.Ref {
	ref := c.config().Ref
	ref.Kind, ref.Name = pool.ReplicaKind, ref.Name+"-"+instance
	if c.Claim.Name != "" && !isKnown(ref.Name) {
		ref.Name = c.Claim.Name + ": " + ref.Name // many claims have no uid yet
	}
	return ref
}
