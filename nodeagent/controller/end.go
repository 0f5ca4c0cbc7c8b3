package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

func terminating(format string, args ...any) verdict {
	return verdict{metav1.ConditionUnknown, api.ReasonTerminating, fmt.Sprintf(format, args...)}
}

// endVolume carries out the deletion of a Volume: its PersistentVolume first, then what it is
// made of, if the reclaim policy says so, then the finalizers. As long as a claim has it,
// nothing at all is touched.
func (c *Controller) endVolume(ctx context.Context, v *api.Volume) error {
	if !slices.Contains(v.Finalizers, api.Finalizer) {
		return nil
	}
	for _, g := range c.groups.All() {
		if g.Spec.NodeName == c.Node && g.Spec.VolumeRef != nil && g.Spec.VolumeRef.Name == v.Name {
			return c.volumeStatus(ctx, v, terminating("VolumeGroup/%s is on its device: delete that first", g.Name), nil)
		}
	}
	// Asked of the API server and not of the watch: what counts is what is now.
	pv, err := c.freshPV(ctx, v.Name)
	if err != nil {
		return err
	}
	if pv != nil && !ownedPV(pv, v) {
		pv = nil
	}
	if claim := pv.claim(); claim != "" {
		v.Status.Claim = claim
		return c.volumeStatus(ctx, v, terminating("the claim %s has it: nothing is touched until it is deleted", claim), nil)
	}
	v.Status.Claim = ""
	if c.DryRun {
		return c.volumeStatus(ctx, v, terminating("it would be ended"), nil)
	}
	if pv != nil && pv.DeletionTimestamp == nil {
		// The precondition makes this fail if somebody has bound it meanwhile.
		err := c.Client.Resource(persistent).Delete(ctx, pv.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &pv.UID, ResourceVersion: &pv.ResourceVersion},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if pv, err = c.freshPV(ctx, v.Name); err != nil {
			return err
		}
		if claim := pv.claim(); claim != "" {
			return c.volumeStatus(ctx, v, terminating("the claim %s has it: nothing is touched until it is deleted", claim), nil)
		}
	}
	if pv != nil {
		if others := slices.DeleteFunc(slices.Clone(pv.Finalizers), func(f string) bool { return f == api.Finalizer }); len(others) > 0 {
			return c.volumeStatus(ctx, v, terminating("its PersistentVolume has other finalizers: %s", strings.Join(others, ", ")), nil)
		}
	}
	if err := c.endStorage(ctx, v, pv); err != nil {
		is := failed(err)
		if is.status == metav1.ConditionFalse {
			is.reason = api.ReasonDestructionError
		}
		return errors.Join(c.volumeStatus(ctx, v, is, nil), retryable(err))
	}
	if pv != nil {
		if err := c.dropFinalizer(ctx, persistent, &pv.ObjectMeta); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return ignoreGone(c.dropFinalizer(ctx, volumes, &v.ObjectMeta))
}

// endStorage removes what a Volume is made of, or keeps it. A Volume that never was whole has
// nothing that anybody could want to keep.
func (c *Controller) endStorage(ctx context.Context, v *api.Volume, pv *persistentVolume) error {
	name := api.KindVolume + "/" + v.Name
	entry, err := c.Engine.Runner.Journal.Read(name)
	if err != nil {
		return err
	}
	request, _ := c.request(v) // what is wrong with its class does not matter any more
	switch {
	case entry.Step == "" && !entry.Made:
		return nil // nothing was ever begun
	case entry.Released:
		return nil
	case entry.Made && !c.deletes(v, pv):
		left := v.Status.DeviceName
		if pv != nil && pv.Spec.Local != nil {
			left = pv.Spec.Local.Path
		}
		return c.Engine.Release(ctx, request, left)
	}
	return c.Engine.Remove(ctx, request)
}

// deletes reports whether the data is to go: as the PersistentVolume says, else as its class
// says, else not.
func (c *Controller) deletes(v *api.Volume, pv *persistentVolume) bool {
	if pv != nil {
		return pv.Spec.ReclaimPolicy == "Delete"
	}
	class := c.classes.Get(v.Spec.StorageClassName)
	return class != nil && class.ReclaimPolicy == "Delete"
}

// group carries out one VolumeGroup.
func (c *Controller) group(ctx context.Context, name string) error {
	g := c.groups.Get(name)
	if g == nil || g.Spec.NodeName != c.Node {
		return nil
	}
	if why := c.inspectOnly(); why != "" {
		return nil // told for its Volumes, and in the log
	}
	request := c.groupRequest(g)
	if g.DeletionTimestamp != nil {
		return c.endGroup(ctx, g, request)
	}
	if c.DryRun {
		result, err := c.Engine.PlanGroup(ctx, request)
		for _, s := range result.Steps {
			c.Log.Info("dry run", "object", s.Object, "step", s.Kind, "target", s.Target, "command", s.Command, "destroys", s.Destroys)
		}
		if err != nil {
			c.Log.Info("dry run", "object", api.KindVolumeGroup+"/"+name, "message", err.Error())
		}
		return nil
	}
	if err := c.addFinalizer(ctx, groups, &g.ObjectMeta); err != nil {
		return ignoreGone(err)
	}
	result, err := c.Engine.ApplyGroup(ctx, request)
	if err != nil {
		return errors.Join(c.groupStatus(ctx, g, failed(err), &result), retryable(err))
	}
	return c.groupStatus(ctx, g, verdict{status: metav1.ConditionTrue}, &result)
}

// endGroup carries out the deletion of a VolumeGroup. Its Volumes block it; with the
// annotation those that no claim has are deleted first.
func (c *Controller) endGroup(ctx context.Context, g *api.VolumeGroup, r source.GroupRequest) error {
	if !slices.Contains(g.Finalizers, api.Finalizer) {
		return nil
	}
	var in []string
	for _, v := range c.volumes.All() {
		if v.Spec.NodeName != c.Node || v.Spec.LVM == nil || v.Spec.LVM.VGName != g.GroupName() {
			continue
		}
		in = append(in, v.Name)
		pv, err := c.getPV(ctx, v.Name)
		if err != nil {
			return err
		}
		if g.Annotations["poolwright.io/cascade"] == "true" && pv.claim() == "" && v.DeletionTimestamp == nil && !c.DryRun {
			err := c.Client.Resource(volumes).Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID, ResourceVersion: &v.ResourceVersion}})
			if err := ignoreGone(err); err != nil {
				return err
			}
		}
	}
	if len(in) > 0 {
		slices.Sort(in)
		return c.groupStatus(ctx, g, terminating("it has Volumes: %s", strings.Join(in, ", ")), nil)
	}
	if c.DryRun {
		return nil
	}
	entry, err := c.Engine.Runner.Journal.Read(api.KindVolumeGroup + "/" + g.Name)
	if err == nil && (entry.Step != "" || entry.Made) {
		err = c.Engine.RemoveGroup(ctx, r)
	}
	if err != nil {
		is := failed(err)
		var refusal guard.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Rule == guard.RuleHeld:
			is = terminating("%s", refusal.Text) // logical volumes of others
		case !errors.Is(err, step.ErrBusy):
			is.reason = api.ReasonDestructionError
		}
		return errors.Join(c.groupStatus(ctx, g, is, nil), retryable(err))
	}
	return ignoreGone(c.dropFinalizer(ctx, groups, &g.ObjectMeta))
}

// groupStatus writes the status where it changes, and tells of it.
func (c *Controller) groupStatus(ctx context.Context, g *api.VolumeGroup, is verdict, result *source.GroupResult) error {
	var told bool
	next := g.Status
	next.Conditions, told = condition(g.Status.Conditions, is, g.Generation)
	next.Phase, next.ObservedGeneration = is.phase(), g.Generation
	if result != nil && result.Group != nil {
		lg := result.Group
		next.UUID, next.Size, next.Free, next.ExtentSize = lg.UUID, lg.Size, lg.Free, lg.ExtentSize
		next.Devices, next.Missing, next.Volumes = nil, lg.MissingPVs, []string{}
		for _, pv := range lg.PVs {
			next.Devices = append(next.Devices, pv.Path)
		}
		for _, lv := range lg.LVs {
			next.Volumes = append(next.Volumes, lv.Name)
		}
	}
	if next.Volumes == nil {
		next.Volumes = []string{}
	}
	if _, err := c.statusPatch(ctx, groups, g.Name, g.Status, next); err != nil {
		return ignoreGone(err)
	}
	if told {
		c.event(ctx, api.KindVolumeGroup, g.Name, string(g.UID), is)
	}
	return nil
}
