package cstor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Answers of the API server for a webhook that panics, and for one that is late.
var (
	errPanic = errors.New("failed calling webhook: EOF")
	errLate  = errors.New("failed calling webhook: context deadline exceeded")
)

// webhook is the admission webhook of cStor.
type webhook struct {
	api  *API
	send func(path string) // hears of each request to the API server; nil for nobody
}

// timeout is how long the API server waits for it.
func (w webhook) timeout() time.Duration {
	return time.Duration(sorted(w.api.Webhooks)[0].Webhooks[0].TimeoutSeconds) * time.Second
}

// Paths of requests to the API server.
const (
	pathClusters  = "/apis/cstor.openebs.io/v1/cstorpoolclusters"
	pathInstances = "/apis/cstor.openebs.io/v1/cstorpoolinstances"
	pathReplicas  = "/apis/cstor.openebs.io/v1/cstorvolumereplicas"
	pathDevices   = "/apis/openebs.io/v1alpha1/blockdevices"
	pathClaims    = "/apis/openebs.io/v1alpha1/blockdeviceclaims"
	pathNodes     = "/api/v1/nodes"
)

// reviewPools judges a CStorPoolCluster; old is nil for a new one. It may claim disks, also if it
// refuses.
func (w webhook) reviewPools(old, wanted *PoolCluster) error {
	r := newPoolReview(w, old, wanted)
	err := r.review()
	if r.took() >= w.timeout() {
		return errLate
	}
	return err
}

// poolReview is one request to the webhook. Its clients have rested.
type poolReview struct {
	webhook
	old, wanted *PoolCluster
	clock       *slept
	objects     flowcontrol.RateLimiter // of the client of cStor's own objects
	core        flowcontrol.RateLimiter // of the client of nodes
}

// slept is a clock on which time passes only while somebody sleeps.
type slept struct{ start, now time.Time }

func (c *slept) Now() time.Time                  { return c.now }
func (c *slept) Since(t time.Time) time.Duration { return c.now.Sub(t) }
func (c *slept) Sleep(d time.Duration)           { c.now = c.now.Add(max(0, d)) }

func newPoolReview(w webhook, old, wanted *PoolCluster) *poolReview {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := &slept{start, start}
	limit := func() flowcontrol.RateLimiter {
		return flowcontrol.NewTokenBucketRateLimiterWithClock(rest.DefaultQPS, rest.DefaultBurst, clock)
	}
	return &poolReview{webhook: w, old: old, wanted: wanted, clock: clock, objects: limit(), core: limit()}
}

// took is how long its clients had to wait.
func (r *poolReview) took() time.Duration { return r.clock.now.Sub(r.clock.start) }

func (r *poolReview) review() error {
	if r.old != nil {
		r.ask(pathClusters)
	}
	if err := r.asItStands(); err != nil {
		return fmt.Errorf("invalid cspc specification: %w", err)
	}
	if r.old == nil {
		return nil
	}
	if err := r.removed(); err != nil {
		return err
	}
	return r.changed()
}

// ask makes a request to the API server, once its client may.
func (r *poolReview) ask(path string) {
	if path == pathNodes {
		r.core.Accept()
	} else {
		r.objects.Accept()
	}
	if r.send != nil {
		r.send(path)
	}
}

// nodes lists those that a selector matches.
func (r *poolReview) nodes(selector map[string]string) []*Node {
	r.ask(pathNodes)
	return slices.DeleteFunc(sorted(r.api.Nodes), func(n *Node) bool {
		for key, value := range selector {
			if n.Labels[key] != value {
				return true
			}
		}
		return false
	})
}

// asItStands judges a CStorPoolCluster as a whole, old pools and new.
func (r *poolReview) asItStands() error {
	spec := &r.wanted.Spec
	if len(spec.Pools) == 0 {
		return errors.New("pools in cspc should have at least one item")
	}
	disks := spec.disks()
	slices.Sort(disks)
	if len(slices.Compact(slices.Clone(disks))) != len(disks) {
		return fmt.Errorf("invalid cspc: cspc {%s} has duplicate blockdevices entries", r.wanted.Name)
	}
	seen := map[string]bool{}
	for i := range spec.Pools {
		p := &spec.Pools[i]
		if len(p.NodeSelector) == 0 {
			return errPanic
		}
		nodes := r.nodes(p.NodeSelector)
		if len(nodes) != 1 {
			return fmt.Errorf("failed to get node from pool nodeSelector: {%v} error: {invalid no.of nodes %d from the given node selectors}", p.NodeSelector, len(nodes))
		}
		if seen[nodes[0].Name] {
			return fmt.Errorf("invalid cspc: duplicate node %s entry", nodes[0].Name)
		}
		seen[nodes[0].Name] = true
		if err := r.pool(p, nodes[0].Labels[labelHostname]); err != nil {
			return fmt.Errorf("invalid pool spec: %w", err)
		}
	}
	return nil
}

func (r *poolReview) pool(p *Pool, host string) error {
	if p.Config.DataRAIDGroupType == "" {
		return errors.New("missing dataRaidGroupType")
	}
	if groupSize(p.Config.DataRAIDGroupType) == nil {
		return fmt.Errorf("unsupported dataRaidGroupType '%s' specified", p.Config.DataRAIDGroupType)
	}
	if !slices.Contains([]string{"", "on", "off", "lzjb", "gzip", "zle", "lz4"}, p.Config.Compression) {
		return fmt.Errorf("unsupported compression '%s' specified", p.Config.Compression)
	}
	if len(p.Cache) > 0 && p.Config.WriteCacheType == "" {
		return errors.New("missing writeCacheGroupType")
	}
	if p.Config.WriteCacheType != "" && groupSize(p.Config.WriteCacheType) == nil {
		return fmt.Errorf("unsupported writeCacheGroupType '%s' specified", p.Config.WriteCacheType)
	}
	if r.old != nil && p.Config.WriteCacheType == "stripe" && len(p.Cache) == 0 {
		return errPanic
	}
	if len(p.Data) == 0 {
		return errors.New("at least one raid group should be present on dataRaidGroups")
	}
	if p.Config.DataRAIDGroupType == "stripe" && len(p.Data) > 1 {
		return errors.New("stripe dataRaidGroups should have exactly one raidGroup")
	}
	if p.Config.WriteCacheType == "stripe" && len(p.Cache) > 1 {
		return errors.New("stripe writeCacheRaidGroups should have exactly one raidGroup")
	}
	for _, group := range p.Data {
		if err := r.group(host, group, p.Config.DataRAIDGroupType); err != nil {
			return err
		}
	}
	for _, group := range p.Cache {
		if err := r.group(host, group, p.Config.WriteCacheType); err != nil {
			return err
		}
	}
	return nil
}

// groupSize says of a RAID type which numbers of disks make a group, and what is said of
// others; nil is not a RAID type.
func groupSize(raidType string) func(disks int) error {
	power := func(n int) bool { return n > 1 && n&(n-1) == 0 }
	rule := func(valid func(int) bool, text string) func(int) error {
		return func(disks int) error {
			if disks == 0 {
				return errors.New("empty raid group: number of block devices honouring raid type should be specified")
			}
			if !valid(disks) {
				return errors.New(text)
			}
			return nil
		}
	}
	switch raidType {
	case "stripe":
		return rule(func(n int) bool { return n > 0 }, "stripe raid group should have atleast one disk")
	case "mirror":
		return rule(func(n int) bool { return n%2 == 0 }, "mirror raid group should have disks in multiple of 2")
	case "raidz":
		return rule(func(n int) bool { return power(n - 1) }, "raidz raid group should have disks of the order 2^n+1, where n>0")
	case "raidz2":
		return rule(func(n int) bool { return n > 4 && power(n-2) }, "raidz raid group should have disks of the order 2^n+2, where n>1")
	}
	return nil
}

func (r *poolReview) group(host string, group RAIDGroup, raidType string) error {
	if err := groupSize(raidType)(len(group.BlockDevices)); err != nil {
		return err
	}
	for _, name := range group.names() {
		if err := r.disk(name, host); err != nil {
			return err
		}
	}
	return nil
}

// disk judges one disk of a pool.
func (r *poolReview) disk(name, host string) error {
	if name == "" {
		return errors.New("block device name cannot be empty")
	}
	r.ask(pathDevices)
	d := r.api.BlockDevices[name]
	if d == nil {
		return fmt.Errorf("failed to get block device: {%s} details error: blockdevices.openebs.io %q not found", name, name)
	}
	if !d.active() {
		return fmt.Errorf("block device %q is in not in active state", name)
	}
	if fs := d.fsType(); fs != "" && fs != zfsMember {
		return fmt.Errorf("block device has file system {%s}", fs)
	}
	if d.Labels[labelHostname] != host {
		return fmt.Errorf("block device %s doesn't belongs to node %s", name, host)
	}
	if tag, tagged := d.Labels[labelTag]; tagged && strings.TrimSpace(tag) == "" {
		return fmt.Errorf("block device %s is tagged with a value %s and cannot be used", name, tag)
	}
	if d.Spec.ClaimRef == nil {
		return nil
	}
	r.ask(pathClaims)
	claim := r.api.BlockDeviceClaims[d.Spec.ClaimRef.Name]
	if claim == nil || claim.Labels[labelCluster] != r.wanted.Name {
		return fmt.Errorf("error: can't use claimed blockdevice %s", name)
	}
	return nil
}

// reviewDeletion judges the deletion of a CStorPoolCluster.
func (w webhook) reviewDeletion(c *PoolCluster) error {
	for _, i := range sorted(w.api.Instances) {
		if i.cluster() == c.Name && len(w.api.replicasOn(i.Name)) > 0 {
			return fmt.Errorf("invalid cspc %s deletion: volume still exists on pool %s", c.Name, i.Name)
		}
	}
	return nil
}

// replicasOn lists the replicas on an instance.
func (a *API) replicasOn(instance string) []*Replica {
	return where(a.Replicas, func(r *Replica) bool { return r.instance() == instance })
}
