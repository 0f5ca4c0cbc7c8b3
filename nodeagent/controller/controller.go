// Package controller carries out the Volumes and VolumeGroups of one node, as the API server
// has them, and writes the node's NodeInventory. At rest it makes no requests but its
// watches, and has no timer below ten minutes.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// Resync is how often everything is looked at again: some changes of a node send no message.
const Resync = 10 * time.Minute

const inventoryKey = "inventory"

// Controller is the agent of one node.
type Controller struct {
	Client  dynamic.Interface
	Engine  *source.Engine
	Node    string
	DryRun  bool // plans, and writes neither to disks nor to the API server
	Log     *slog.Logger
	Metrics *Metrics
	// Changed is what the kernel says of the node.
	Changed host.Changes
	// Rest, if not nil, is called whenever nothing is left to be done.
	Rest func()

	writer
	seen
	queue     *queue
	answered  chan struct{} // a device that was stuck
	inventory inventoryWriter
	mounts    mountTable
	// synced says that the stores are there. Before, what they call knows one object alone;
	// after, everything is added once.
	synced atomic.Bool
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	c.begin()
	if err := c.watch(ctx); err != nil {
		return err
	}
	c.Metrics.ready.Store(true)
	c.Metrics.gauges.objects.Store(c)
	c.everything()
	go c.listen(ctx)
	return c.work(ctx)
}

// begin puts together what a Controller is made of.
func (c *Controller) begin() {
	c.queue = newQueue()
	c.answered = make(chan struct{}, 1)
	if pool := c.Engine.Host.Apart; pool != nil {
		pool.Answered = func() {
			select {
			case c.answered <- struct{}{}:
			default:
			}
		}
	}
	c.writer = writer{client: c.Client, node: c.Node, log: c.Log}
	c.seen = seen{client: c.Client, node: c.Node, marks: c.Engine.Cluster}
	c.inventory = inventoryWriter{client: c.Client, engine: c.Engine, node: c.Node, log: c.Log, metrics: c.Metrics, dryRun: c.DryRun, owners: c.owners}
}

func (c *Controller) watch(ctx context.Context) error {
	own := "spec.nodeName=" + c.Node
	c.volumes = observe[api.Volume](ctx, c.Client, selection{resource: volumes, fields: own}, c.volumeChanged)
	c.groups = observe[api.VolumeGroup](ctx, c.Client, selection{resource: groups, fields: own}, c.groupChanged)
	c.persisted = observe[persistentVolume](ctx, c.Client, selection{resource: persistent, labels: nodeLabel + "=" + labelValue(c.Node)}, c.volumeChanged)
	c.classes = observe[storageClass](ctx, c.Client, selection{resource: classes}, func(string) { c.all() })
	c.nodes = observe[plain](ctx, c.Client, selection{resource: nodes, fields: "metadata.name=" + c.Node}, c.nodeChanged())
	c.operators = observe[plain](ctx, c.Client, selection{
		resource: deployments, namespace: "kube-system", fields: "metadata.name=" + metalK8sOperator,
	}, func(string) { c.all() })
	if err := awaitSynced(ctx, c.volumes.synced, c.groups.synced, c.persisted.synced, c.classes.synced, c.nodes.synced, c.operators.synced); err != nil {
		return err
	}
	c.synced.Store(true)
	return nil
}

// volumeChanged adds a Volume, and the group that it is in or that takes its device.
func (c *Controller) volumeChanged(name string) {
	c.queue.Add(api.KindVolume + "/" + name)
	c.queue.Add(inventoryKey)
	if !c.synced.Load() {
		return
	}
	for _, g := range c.groups.All() {
		v := c.volumes.Get(name)
		if v == nil || v.Spec.LVM != nil && v.Spec.LVM.VGName == g.GroupName() || g.Spec.VolumeRef != nil && g.Spec.VolumeRef.Name == name {
			c.queue.Add(api.KindVolumeGroup + "/" + g.Name)
		}
	}
}

// groupChanged adds a group, and what is in it.
func (c *Controller) groupChanged(name string) {
	c.queue.Add(api.KindVolumeGroup + "/" + name)
	c.queue.Add(inventoryKey)
	if !c.synced.Load() {
		return
	}
	for _, v := range c.volumes.All() {
		if v.Spec.LVM != nil {
			c.queue.Add(api.KindVolume + "/" + v.Name)
		}
	}
}

// nodeChanged adds everything when the Node comes or its hostname label changes, and not each
// time that kubelet writes its status.
func (c *Controller) nodeChanged() func(string) {
	last := ""
	return func(string) {
		if !c.synced.Load() {
			return
		}
		now := c.hostname()
		if now != last {
			last = now
			c.all()
		}
	}
}

// all adds everything there is, to be looked at again.
func (c *Controller) all() {
	c.Engine.Forget()
	c.queue.Add(inventoryKey)
	if !c.synced.Load() {
		return
	}
	for _, g := range c.groups.All() {
		c.queue.Add(api.KindVolumeGroup + "/" + g.Name)
	}
	for _, v := range c.volumes.All() {
		c.queue.Add(api.KindVolume + "/" + v.Name)
	}
}

// listen waits for changes of the node. They come in bursts: what is done waits until they
// have been quiet for a second.
func (c *Controller) listen(ctx context.Context) {
	resync := time.NewTimer(Resync)
	defer resync.Stop()
	var quiet, mounted <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.Changed.Devices:
			quiet = soon(quiet)
		case <-c.Changed.Mounts:
			mounted = soon(mounted)
		case <-c.answered:
			quiet = soon(quiet)
		case <-mounted:
			mounted = nil
			c.mounted()
		case <-quiet:
			quiet = nil
			c.everything()
			resync.Reset(Resync)
		case <-resync.C:
			c.everything()
			resync.Reset(Resync)
		}
	}
}

// soon is in a second, or when it was to be.
func soon(quiet <-chan time.Time) <-chan time.Time {
	if quiet == nil {
		quiet = time.After(time.Second)
	}
	return quiet
}

func (c *Controller) handle(ctx context.Context, key string) {
	kind, name, _ := strings.Cut(key, "/")
	var err error
	switch kind {
	case api.KindVolume:
		err = c.volume(ctx, name)
	case api.KindVolumeGroup:
		err = c.group(ctx, name)
	default:
		err = c.inventory.write(ctx)
	}
	c.Metrics.reconciled(kind, err)
	if err == nil || ctx.Err() != nil {
		c.queue.Forget(key)
		return
	}
	c.queue.Retry(key)
	if !errors.Is(err, step.ErrBusy) {
		c.Log.Warn("it is tried again", "object", key, "error", err)
	}
}

// LogSteps is what a runner calls at each point of a step.
func LogSteps(log *slog.Logger) func(step.Step, string) {
	return func(s step.Step, point string) {
		switch point {
		case "begun":
			log.Info("step begun", "object", s.Object, "step", s.Kind, "target", s.Target, "command", s.Command)
		case "ended":
			log.Info("step ended", "object", s.Object, "step", s.Kind)
		}
	}
}

// Plans are the steps that remain for every object of the node, for people: nothing is
// written.
func (c *Controller) Plans(ctx context.Context) ([]string, error) {
	c.begin()
	if err := c.watch(ctx); err != nil {
		return nil, err
	}
	var lines []string
	say := func(object string, steps []step.Step, err error) {
		for i, s := range steps {
			mark := ""
			if s.Destroys {
				mark = " (what is on it is gone afterwards)"
			}
			lines = append(lines, fmt.Sprintf("%s %d. %s: %s%s\n    %s\n    before: %s\n    after:  %s", object, i+1, s.Kind, s.Target, mark, s.Command, s.Before, s.After))
		}
		switch {
		case err != nil:
			lines = append(lines, object+" "+err.Error())
		case len(steps) == 0:
			lines = append(lines, object+" nothing to do")
		}
	}
	for _, g := range c.groups.All() {
		if g.Spec.NodeName == c.Node {
			result, err := c.Engine.PlanGroup(ctx, c.groupRequest(g))
			say(api.KindVolumeGroup+"/"+g.Name, result.Steps, err)
		}
	}
	for _, v := range c.volumes.All() {
		if v.Spec.NodeName != c.Node {
			continue
		}
		request, refusal := c.asked(ctx, v)
		if refusal != nil {
			say(api.KindVolume+"/"+v.Name, nil, refusal)
			continue
		}
		result, err := c.Engine.Plan(ctx, request)
		say(api.KindVolume+"/"+v.Name, result.Steps, err)
	}
	return lines, nil
}
