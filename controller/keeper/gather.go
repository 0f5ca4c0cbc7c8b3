package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/controller/publish"
	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/live/follow"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/live/specs"
)

// inCluster is how a package is called that is in the cluster.
const inCluster = "in-cluster"

// specsOf is where the specs of a Hydration are in the cluster.
func specsOf(h *hydrations.Hydration, most int64) specs.Source {
	in := h.Spec.Source.InCluster
	s := specs.Source{Namespace: in.Namespace, Labels: in.Selector.MatchLabels, Manifests: in.Manifests, Most: most}
	if s.Namespace == "" {
		s.Namespace = h.Metadata.Namespace
	}
	return s
}

// noteSpecs takes down that specs in the cluster have changed.
func (w *worker) noteSpecs(now time.Time) {
	if w.object.Spec.Source.InCluster == nil {
		w.specs.End()
		w.specs = nil
	}
	if digest, known := w.specs.Digest(); known && digest != w.memory.specs {
		w.agenda.note(now)
	}
}

// followSpecs follows the kinds of spec that the cluster has by now. What goes wrong, the next judgement
// says.
func (w *worker) followSpecs(ctx context.Context) {
	served, err := w.keeper.Cluster.Served(ctx)
	if err == nil {
		err = w.followServed(ctx, served)
	}
	if err != nil && ctx.Err() == nil {
		w.keeper.Log.Warn("the specs in the cluster are not followed", "hydration", w.object.Key().String(), "error", err)
	}
}

func (w *worker) followServed(ctx context.Context, served *cluster.Served) error {
	queries, err := specsOf(w.object, 0).Queries(served, w.keeper.Function.Kinds())
	if err != nil {
		return err
	}
	if w.specs == nil {
		w.specs = follow.New(w.keeper.Cluster, specs.Digest, w.poke)
	}
	w.specs.Follow(ctx, queries)
	return nil
}

// gather reads the package from the cluster.
func (a *attempt) gather(ctx context.Context) (v verdict, failed bool) {
	if err := a.admit(ctx); err != nil {
		return ofError(err), true
	}
	served, err := a.keeper.Cluster.Served(ctx)
	if err == nil {
		err = a.followServed(ctx, served)
	}
	var p *specs.Package
	if err == nil {
		p, err = specsOf(a.object, a.keeper.Rules.MaxSource).Read(ctx, a.keeper.Cluster, served, a.keeper.Function.Kinds())
	}
	var large *specs.TooLarge
	switch {
	case errors.As(err, &large):
		return say(reason(remote.Refused), "%s", large.Error()), true
	case err != nil:
		return retry(reason(remote.Unavailable), "the specs in the cluster cannot be read: %v", err), true
	}
	a.memory.specs = p.Digest
	a.pkg = hydration.Package{Files: p.Files, Digest: hydration.Digest(p.Files), Dir: inCluster}
	return verdict{}, false
}

// revision names what was judged: a commit of a branch, or the content of the specs in the cluster.
func (a *attempt) revision() string {
	if a.object.Spec.Source.InCluster != nil {
		return inCluster + "@" + a.pkg.Digest
	}
	return publish.Revision(a.object.Spec.Source.Branch, a.source.Head)
}
