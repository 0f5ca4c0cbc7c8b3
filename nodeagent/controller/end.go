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
	// Asked of the API server and not of the watch: what counts is what is now, and who has the data, whoever
	// made the PersistentVolume.
	pv, err := c.freshPV(ctx, v.Name)
	if err != nil {
		return err
	}
	if claim, err := c.claimOf(ctx, v, pv); err != nil || claim != "" {
		return errors.Join(err, c.claimed(ctx, v, claim))
	}
	v.Status.Claim = ""
	if c.DryRun {
		return c.volumeStatus(ctx, v, terminating("it would be ended"), nil)
	}
	ours := ofVolume(pv, v)
	if ours && pv.DeletionTimestamp == nil && !slices.Contains(pv.Finalizers, api.Finalizer) {
		// What it says of the data has to be there until that is done: this comes again with the change.
		return errors.Join(c.addFinalizer(ctx, persistent, &pv.ObjectMeta), fmt.Errorf("PersistentVolume %s lacked the finalizer", pv.Name))
	}
	if ours && pv.DeletionTimestamp == nil {
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
			return c.claimed(ctx, v, claim)
		}
	}
	if ours && pv != nil {
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
	if ours && pv != nil {
		if err := c.dropFinalizer(ctx, persistent, &pv.ObjectMeta); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return ignoreGone(c.dropFinalizer(ctx, volumes, &v.ObjectMeta))
}

// claimed says which claim keeps a Volume, and writes nothing else.
func (c *Controller) claimed(ctx context.Context, v *api.Volume, claim string) error {
	if claim == "" {
		return nil
	}
	v.Status.Claim = claim
	return c.volumeStatus(ctx, v, terminating("the claim %s has it: nothing is touched until it is deleted", claim), nil)
}

// endStorage removes what a Volume is made of, or keeps it. A Volume that never was whole has
// nothing that anybody could want to keep. A journal that was lost does not say that nothing was begun.
func (c *Controller) endStorage(ctx context.Context, v *api.Volume, pv *persistentVolume) error {
	entry, err := c.Engine.Runner.Journal.Read(api.KindVolume + "/" + v.Name)
	if err != nil {
		return err
	}
	request, err := c.request(ctx, v, entry.Made)
	var refusal guard.Refusal
	var told refused
	if err != nil && !errors.As(err, &told) {
		return err // what is wrong with its class does not matter any more, whose data it names does
	}
	left := v.Status.DeviceName
	if pv != nil && pv.Spec.Local != nil {
		left = pv.Spec.Local.Path
	}
	journaled := entry.Step != "" || entry.Made || entry.Released
	if !journaled && pv == nil && left == "" {
		begun, err := c.Engine.Marked(ctx, request)
		if err != nil || !begun {
			return err
		}
	}
	switch {
	case entry.Released:
		return nil
	case (entry.Made || !journaled) && !c.deletes(v, pv):
		err = c.Engine.Release(ctx, request, left)
	case v.Spec.Wipe == api.WipeNone && (entry.Made || !journaled):
		return refusedWipe()
	default:
		request.Wiping = c.wiping(ctx, v)
		err = c.Engine.Remove(ctx, request)
	}
	if name, asked := v.Annotations[api.ForgetAnnotation]; asked && errors.As(err, &refusal) {
		if why := c.Engine.Abandon(ctx, request, name, left); why != nil {
			return why
		}
		c.Log.Warn("its disk is gone, and what is on it was not erased", "object", api.KindVolume+"/"+v.Name, "disk", name)
		return nil
	}
	return err
}

// wiping reports the progress of erasing a Volume's device.
func (c *Controller) wiping(ctx context.Context, v *api.Volume) func(guard.Wiping) {
	return func(w guard.Wiping) {
		v.Status.Wipe = &api.WipeStatus{Policy: w.Policy, Bytes: w.Size, BytesDone: w.Size - w.Left}
		text := "its device is being erased"
		if w.Note != "" {
			text += ": " + w.Note
		}
		if err := c.volumeStatus(ctx, v, terminating("%s", text), nil); err != nil {
			c.Log.Warn("how far the erase has come was not written", "object", api.KindVolume+"/"+v.Name, "error", err)
		}
	}
}

// group carries out one VolumeGroup.
func (c *Controller) group(ctx context.Context, name string) error {
	g := c.groups.Get(name)
	if g == nil || g.Spec.NodeName != c.Node {
		return nil
	}
	if why := c.inspectOnly(); why != "" {
		return nil // reported for its Volumes, and in the log
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
	begun, err := c.groupBegun(ctx, g, r)
	if err == nil && begun {
		err = c.Engine.RemoveGroup(ctx, r)
	}
	if err != nil {
		is := failed(err)
		var refusal guard.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Rule == guard.RuleHeld:
			is = terminating("%s", refusal.Text) // logical volumes that are foreign
		case !errors.Is(err, step.ErrBusy):
			is.reason = api.ReasonDestructionError
		}
		return errors.Join(c.groupStatus(ctx, g, is, nil), retryable(err))
	}
	return ignoreGone(c.dropFinalizer(ctx, groups, &g.ObjectMeta))
}

// groupBegun reports whether anything of a group may be there, also where its journal was lost.
func (c *Controller) groupBegun(ctx context.Context, g *api.VolumeGroup, r source.GroupRequest) (bool, error) {
	entry, err := c.Engine.Runner.Journal.Read(api.KindVolumeGroup + "/" + g.Name)
	if err != nil || entry.Step != "" || entry.Made || g.Status.UUID != "" {
		return err == nil, err
	}
	return c.Engine.MarkedGroup(ctx, r)
}

// groupStatus writes the status where it changes, and reports it.
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
