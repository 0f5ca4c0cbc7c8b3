package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/cstor/drain"
	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/cstor/volume"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
)

// Drain implements system.Drainer: the annotations that a person writes to drain a node, with the consent.
func (System) Drain(spec *system.Spec, node string) *krm.Object {
	at := slices.IndexFunc(spec.Before, func(o *krm.Object) bool {
		return o.Kind == storageSetKind && o.Node.Str("spec", "node", "name") == node
	})
	if at < 0 {
		return nil
	}
	return spec.Object.Edited(func(n *document.Node) {
		for key, entry := range map[string]string{pool.AnnotationDrain: node, krm.AnnotationAllowRemoval: storageSetKind + "/" + spec.Before[at].Name} {
			entries := spec.Object.AnnotationList(key)
			if !slices.Contains(entries, entry) {
				entries = append(entries, entry)
			}
			krm.SetPath(n, document.Text(strings.Join(entries, ",")), "metadata", "annotations", key)
		}
	})
}

// Settle implements system.Drainer: pools come and go, and replicas with them, as the operators do it.
//
// Source: cstor-operators, observed: claims, instances and replicas follow the CStorPoolCluster and replicaPoolInfo, 3.6.0.
func (System) Settle(facts, _, rendered []*krm.Object) []*krm.Object {
	s := &settling{facts: slices.Clone(facts), live: pool.LiveOf(inventory.New(facts))}
	for _, o := range rendered {
		switch o.GroupKind() {
		case krm.GroupKind{Group: cstorGroup, Kind: poolClusterKind}:
			s.cluster(o)
		case krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeConfigKind}:
			s.volume(o)
		}
	}
	return s.facts
}

// settling is facts on their way.
type settling struct {
	facts []*krm.Object
	live  *pool.Live
}

// replace puts an object in the place of the one of its identity, or adds it; nil takes that away.
func (s *settling) replace(id krm.ID, o *krm.Object) {
	at := slices.IndexFunc(s.facts, func(f *krm.Object) bool { return f.ID() == id })
	switch {
	case o == nil && at >= 0:
		s.facts = slices.Delete(s.facts, at, at+1)
	case o != nil && at >= 0:
		s.facts[at] = o
	case o != nil:
		s.facts = append(s.facts, o)
	}
}

func (s *settling) find(id krm.ID) *krm.Object {
	if at := slices.IndexFunc(s.facts, func(o *krm.Object) bool { return o.ID() == id }); at >= 0 {
		return s.facts[at]
	}
	return nil
}

// cluster has the pools of a CStorPoolCluster follow it.
func (s *settling) cluster(o *krm.Object) {
	wanted := pool.DecodeCluster(o)
	next := o
	if was := s.find(o.ID()); was != nil {
		next = was.Edited(func(n *document.Node) { n.Set("spec", *o.Node.Get("spec")) })
	}
	s.replace(o.ID(), next)
	for _, i := range s.live.Instances(o.Namespace, o.Name) {
		now := wanted.Host(i.Hostname)
		kept := []string(nil)
		if now == nil {
			s.replace(i.Object.ID(), nil)
		} else {
			kept = now.Disks()
			item := document.Object()
			for _, p := range o.Node.Seq("spec", "pools") {
				if p.Str("nodeSelector", inventory.LabelHostname) == i.Hostname {
					item = p
				}
			}
			s.replace(i.Object.ID(), i.Object.Edited(func(n *document.Node) {
				for _, field := range []string{"dataRaidGroups", "writeCacheRaidGroups", "poolConfig"} {
					if part := item.Get(field); part != nil {
						krm.SetPath(n, *part, "spec", field)
					}
				}
			}))
		}
		for _, name := range pool.Without(i.Pool.Disks(), kept) {
			s.claim(o, name, false)
		}
	}
	for at, p := range wanted.Pools {
		if !slices.ContainsFunc(s.live.Instances(o.Namespace, o.Name), func(i *pool.Instance) bool { return i.Hostname == p.Hostname }) {
			s.replace(krm.ID{}, newInstance(o, at, p.Hostname))
		}
		for _, name := range p.Disks() {
			s.claim(o, name, true)
		}
	}
}

// newInstance is the pool of a CStorPoolCluster on a host.
func newInstance(cluster *krm.Object, at int, hostname string) *krm.Object {
	item := cluster.Node.Seq("spec", "pools")[at]
	spec := item.Copy()
	spec.Set("hostName", document.Text(hostname))
	status := document.Object(document.F("phase", document.Text("ONLINE")))
	o := krm.Make(cstorVersion, poolInstanceKind, cluster.Namespace, fmt.Sprintf("%s-added-%s", cluster.Name, hostname), document.F("spec", spec), document.F("status", status))
	o.SetLabel(inventory.LabelHostname, hostname)
	o.SetLabel(inventory.LabelPoolCluster, cluster.Name)
	return o
}

// claim claims a block device for a CStorPoolCluster, or gives it free.
func (s *settling) claim(cluster *krm.Object, name string, claims bool) {
	id := krm.ID{Group: deviceGroup, Kind: blockDeviceKind, Namespace: cluster.Namespace, Name: name}
	device := s.find(id)
	if device == nil {
		return
	}
	called := device.Node.Str("spec", "claimRef", "name")
	if claims == (called != "") {
		return
	}
	claim := krm.ID{Group: deviceGroup, Kind: blockDeviceClaimKind, Namespace: cluster.Namespace, Name: called}
	if !claims {
		s.replace(claim, nil)
		s.replace(id, device.Edited(func(n *document.Node) {
			krm.SetPath(n, document.Text("Unclaimed"), "status", "claimState")
			n.Get("spec").Delete("claimRef")
			n.Get("spec").Delete("filesystem")
		}))
		return
	}
	claim.Name = "bdc-added-" + name
	o := krm.Make(deviceVersion, blockDeviceClaimKind, claim.Namespace, claim.Name,
		document.F("spec", document.Object(document.F("blockDeviceName", document.Text(name)))),
		document.F("status", document.Object(document.F("phase", document.Text("Bound")))))
	o.SetLabel(inventory.LabelPoolCluster, cluster.Name)
	s.replace(claim, o)
	s.replace(id, device.Edited(func(n *document.Node) {
		krm.SetPath(n, document.Text(claim.Name), "spec", "claimRef", "name")
		krm.SetPath(n, document.Text("zfs_member"), "spec", "filesystem", "fsType")
		krm.SetPath(n, document.Text("Claimed"), "status", "claimState")
	}))
}

// volume has the replicas of a CStorVolumeConfig follow its list of pools.
func (s *settling) volume(o *krm.Object) {
	was := s.find(o.ID())
	if was == nil {
		return
	}
	pools := drain.PoolsOf(o)
	names := make([]document.Node, len(pools))
	for i, name := range pools {
		names[i] = document.Text(name)
	}
	s.replace(o.ID(), was.Edited(func(n *document.Node) {
		krm.SetPath(n, *o.Node.Get("spec", "policy", "replicaPoolInfo"), "spec", "policy", "replicaPoolInfo")
		krm.SetPath(n, document.List(names...), "status", "poolInfo")
		for _, part := range []string{"labels", "annotations"} {
			for _, f := range o.Node.Get("metadata", part).Fields() {
				krm.SetPath(n, f.Value, "metadata", part, f.Key)
			}
		}
	}))
	target := krm.ID{Group: cstorGroup, Kind: cstorVolumeKind, Namespace: o.Namespace, Name: o.Name}
	if cv := s.find(target); cv != nil {
		s.replace(target, cv.Edited(func(n *document.Node) {
			for _, f := range []struct {
				field string
				n     int
			}{{"replicationFactor", len(pools)}, {"desiredReplicationFactor", len(pools)}, {"consistencyFactor", len(pools)/2 + 1}} {
				krm.SetPath(n, document.Int(int64(f.n)), "spec", f.field)
			}
			n.Get("status").Delete("replicaStatuses")
		}))
	}
	has := map[string]bool{}
	for _, r := range slices.Clone(s.facts) {
		if r.GroupKind() != (krm.GroupKind{Group: cstorGroup, Kind: cstorVolumeReplicaKind}) || r.Namespace != o.Namespace || volume.Of(r) != o.Name {
			continue
		}
		if has[volume.InstanceOf(r)] = true; !slices.Contains(pools, volume.InstanceOf(r)) {
			s.replace(r.ID(), nil)
		}
	}
	for _, name := range pools {
		if !has[name] {
			r := krm.Make(cstorVersion, cstorVolumeReplicaKind, o.Namespace, o.Name+"-"+name, document.F("status", document.Object(document.F("phase", document.Text("Healthy")))))
			r.SetLabel(volume.LabelVolume, o.Name)
			r.SetLabel(pool.LabelInstance, name)
			s.replace(r.ID(), r)
		}
	}
}
