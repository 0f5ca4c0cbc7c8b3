package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// refused says why an object cannot be carried out, in the words of its condition.
type refused struct {
	reason api.Reason
	text   string
}

func (r refused) Error() string { return r.text }

// volume carries out one Volume.
func (c *Controller) volume(ctx context.Context, name string) error {
	stored := c.volumes.Get(name)
	if stored == nil || stored.Spec.NodeName != c.Node {
		return nil
	}
	copied := *stored // its status is changed on the way, and the store's is what was last seen
	v := &copied
	if why := c.inspectOnly(); why != "" {
		c.Log.Warn("inspect only", "object", api.KindVolume+"/"+name, "reason", why)
		return nil // its status is the other's to write as well
	}
	if v.DeletionTimestamp != nil {
		return c.endVolume(ctx, v)
	}
	if c.DryRun {
		return c.dryRun(ctx, v)
	}
	if err := c.addFinalizer(ctx, volumes, &v.ObjectMeta); err != nil {
		return ignoreGone(err)
	}
	request, refusal := c.asked(ctx, v)
	if refusal != nil {
		return errors.Join(c.volumeStatus(ctx, v, failed(refusal), nil), retryable(refusal))
	}
	if v.Status.UUID == "" {
		if err := c.firstStatus(ctx, v); err != nil {
			return err
		}
	}
	result, err := c.Engine.Apply(ctx, request)
	if err != nil {
		return errors.Join(c.volumeStatus(ctx, v, failed(err), &result), retryable(err))
	}
	if request.Bare {
		return c.volumeStatus(ctx, v, verdict{status: metav1.ConditionTrue, message: "a VolumeGroup takes its device: there is no PersistentVolume"}, &result)
	}
	pv, err := c.applyPV(ctx, v, request, result)
	var told refused
	switch {
	case errors.As(err, &told):
		return c.volumeStatus(ctx, v, failed(told), &result)
	case err != nil:
		return errors.Join(c.volumeStatus(ctx, v, failed(fmt.Errorf("PersistentVolume: %w", err)), &result), err)
	}
	v.Status.Claim = pv.claim()
	return c.volumeStatus(ctx, v, verdict{status: metav1.ConditionTrue, message: strings.Join(result.Notes, "; ")}, &result)
}

// asked is what a Volume asks for.
func (c *Controller) asked(ctx context.Context, v *api.Volume) (source.Request, error) {
	entry, err := c.Engine.Runner.Journal.Read(api.KindVolume + "/" + v.Name)
	if err != nil {
		return source.Request{}, err
	}
	return c.request(ctx, v, entry.Made)
}

// errPruned is why nothing is made beside MetalK8s' own definition of Volume: it knows fewer fields.
var errPruned = errors.New("the definition of Volume in this cluster drops fields of the agent: apply deploy/crds")

// firstStatus says that the storage is being made, before it is, or that it cannot be: what the agent
// has to remember would be dropped.
func (c *Controller) firstStatus(ctx context.Context, v *api.Volume) error {
	told := slices.ContainsFunc(v.Status.Conditions, func(c api.Condition) bool { return c.Message == errPruned.Error() })
	is := verdict{metav1.ConditionUnknown, api.ReasonPending, "its storage is being made"}
	if told {
		is = failed(errPruned) // it stands until the definition is another
	}
	err := c.volumeStatus(ctx, v, is, nil)
	if errors.Is(err, errPruned) && !told {
		_ = c.volumeStatus(ctx, v, failed(errPruned), nil) // it is written, and fails for the same reason
	}
	return err
}

// failed is the verdict of an error.
func failed(err error) verdict {
	v := verdict{metav1.ConditionFalse, api.ReasonCreationError, err.Error()}
	var refusal guard.Refusal
	var told refused
	switch {
	case errors.As(err, &told):
		v.reason = told.reason
	case errors.As(err, &refusal):
		v.reason, v.message = refusal.Reason(), refusal.Error()
		if refusal.Rule == guard.RuleUnsettled || refusal.Rule == guard.RuleLocked {
			v.status, v.reason = metav1.ConditionUnknown, api.ReasonPending // it passes
		}
	case errors.Is(err, step.ErrBusy):
		v.status, v.reason = metav1.ConditionUnknown, api.ReasonPending
	}
	return v
}

// retryable is nil for what only a change can fix: of the object, the cluster or the node,
// each of which the agent is informed of.
func retryable(err error) error {
	var refusal guard.Refusal
	var told refused
	if errors.As(err, &told) {
		return nil
	}
	if errors.As(err, &refusal) && refusal.Rule != guard.RuleUnsettled && refusal.Rule != guard.RuleLocked && refusal.Rule != guard.RuleClaimed {
		return nil
	}
	return err
}

// volumeStatus writes the status where it changes, and reports it.
func (c *Controller) volumeStatus(ctx context.Context, v *api.Volume, is verdict, result *source.Result) error {
	if c.DryRun {
		c.Log.Info("dry run", "object", api.KindVolume+"/"+v.Name, "ready", is.status, "reason", is.reason, "message", is.message)
		return nil
	}
	var told bool
	next := v.Status
	next.Conditions, told = condition(v.Status.Conditions, is, v.Generation)
	next.Phase, next.ObservedGeneration = is.phase(), v.Generation
	next.UUID = string(c.Engine.Cluster.Of(api.KindVolume, v.Name, c.Node))
	if result != nil && result.Device != nil {
		next.DeviceName, next.Size = result.Device.Name, result.Size
	}
	if result != nil && result.Mark != "" {
		next.UUID = result.Mark
	}
	old := v.Status
	if seen := c.volumes.Get(v.Name); seen != nil {
		old = seen.Status
	}
	stored, err := c.statusPatch(ctx, volumes, v.Name, old, next)
	if err != nil {
		return ignoreGone(err)
	}
	if stored != nil {
		if kept, _, _ := unstructured.NestedString(stored.Object, "status", "uuid"); kept == "" {
			return errPruned
		}
	}
	if told {
		c.event(ctx, api.KindVolume, v.Name, string(v.UID), is)
	}
	v.Status = next
	return nil
}

func (c *Controller) dryRun(ctx context.Context, v *api.Volume) error {
	request, refusal := c.asked(ctx, v)
	if refusal != nil {
		return c.volumeStatus(ctx, v, failed(refusal), nil)
	}
	result, err := c.Engine.Plan(ctx, request)
	for _, s := range result.Steps {
		c.Log.Info("dry run", "object", s.Object, "step", s.Kind, "target", s.Target, "command", s.Command, "destroys", s.Destroys)
	}
	if err != nil {
		return c.volumeStatus(ctx, v, failed(err), nil)
	}
	return nil
}

// ignoreGone is nil for an object that is gone, or that has changed: then it comes again.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
