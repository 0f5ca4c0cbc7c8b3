// Package dryrun asks a live cluster what it would make of rendered objects, by
// server-side apply in a dry run: with the defaults of the API server, what
// admission does to them, and the fields that belong to others. Nothing of that is
// stored. What a webhook would do to the cluster all the same is for the caller to
// know, and then the object is compared here instead; see Options.Effect.
package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Options say how it is asked.
type Options struct {
	// Manager is the field manager in whose name is applied; "" is, for each
	// object, who applied it before.
	Manager string
	// Kinds are looked through for objects that are no longer rendered, beside
	// those of the rendered objects, by Group and Kind.
	Kinds []krm.GroupKind
	// Owners are the owner keys of the specs whose objects are looked for; those
	// of the rendered objects count in any case.
	Owners []string
	// Effect says what a dry run that puts an object in the place of the live one
	// would do to the cluster all the same, "" for nothing; nil is never anything.
	// What has an effect is not asked for.
	Effect func(live, wanted *krm.Object) string
	// Tried reports whether objects of a kind are tried; nil is always. The others are
	// compared here, as far as they may be read.
	Tried func(krm.GroupKind) bool
	// Partial reports whether only a few fields of objects of a kind are rendered; nil is never.
	// One that is not wanted any more stays as it is.
	Partial func(krm.GroupKind) bool
	// Progress gets how many of the objects were asked for. It may be called by
	// several goroutines at once, and may be nil.
	Progress func(done, total int)
}

// Result is what is in the cluster, and what would be.
type Result struct {
	Old, New []*krm.Object // without what only the API server keeps; what was refused is in neither
	// Others are live objects of ours whose specs are neither among the rendered
	// objects nor in Options.Owners: of another package, or of a spec that is gone.
	Others   []*krm.Object
	Findings []finding.Finding
	Served   *cluster.Served // what the cluster serves
}

// parallel bounds the requests that are under way.
const parallel = 8

// Run compares the rendered objects with the cluster. Objects that are not for
// the cluster are left out. The connection must not be limited to a namespace: what
// goes elsewhere would not be seen. The error says that nothing could be found out;
// what the cluster refuses is a finding of severity error.
func Run(ctx context.Context, c *cluster.Cluster, rendered []*krm.Object, o Options) (*Result, error) {
	served, err := c.Served(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{cluster: c, served: served, options: o, owners: map[string]bool{}, live: map[krm.ID]*liveObject{}, unread: map[krm.GroupKind]bool{}}
	for _, owner := range o.Owners {
		r.owners[owner] = true
	}
	kinds := map[krm.GroupKind]bool{}
	for _, k := range o.Kinds {
		kinds[krm.GroupKind{Group: k.Group, Kind: k.Kind}] = true
	}
	var wanted []*krm.Object
	for _, w := range rendered {
		if owner := w.RenderedFor(); owner != "" { // a spec that is applied as it stands has none
			r.owners[owner] = true
		}
		if w.Annotation(krm.AnnotationLocalConfig) == "true" {
			continue
		}
		wanted = append(wanted, w)
		kinds[w.GroupKind()] = true
	}
	ordered := slices.SortedFunc(maps.Keys(kinds), krm.GroupKind.Compare)
	for _, kind := range ordered {
		err := r.list(ctx, kind)
		switch {
		case err == nil:
		case cluster.IsDenied(err) && r.untried(kind) && !slices.Contains(o.Kinds, kind):
			r.unread[kind] = true
		default:
			return nil, withRole(err)
		}
	}
	answers, err := r.ask(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return r.result(wanted, answers), nil
}

// run is one comparison.
type run struct {
	cluster *cluster.Cluster
	served  *cluster.Served
	options Options
	owners  map[string]bool
	live    map[krm.ID]*liveObject // those that carry our label
	unread  map[krm.GroupKind]bool // that nobody let us list, of people's own manifests
}

// list finds the live objects of a kind that are ours.
func (r *run) list(ctx context.Context, kind krm.GroupKind) error {
	resource, found, err := r.served.Find(kind.Group, kind.Kind)
	if err != nil || !found {
		return err
	}
	listed := map[krm.ID]*liveObject{}
	err = r.cluster.List(ctx, resource, cluster.Selectors{Labels: krm.LabelManagedBy + "=" + krm.ManagedBy}, func(items []document.Node) error {
		for i := range items {
			l := newLive(&items[i])
			listed[l.ID()] = l
		}
		return nil
	}, func() { clear(listed) })
	maps.Copy(r.live, listed)
	return err
}

// untried reports whether objects of a kind are only compared.
func (r *run) untried(kind krm.GroupKind) bool {
	return r.options.Tried != nil && !r.options.Tried(kind)
}

// answer is what became of one object.
type answer struct {
	live    *liveObject // nil if it is not there
	applied *krm.Object // nil if it could not be asked
	effect  string      // what asking would have done, so that it was not asked
	absent  string      // what is not there yet, so that it could not be asked
	refused error
	untried bool     // it is only compared
	unread  bool     // there was no permission to compare it
	dying   bool     // it is being deleted, so that asking is of no use
	warned  []string // by the API server
}

// ask tries every object. The first error that is no answer ends it all.
func (r *run) ask(ctx context.Context, wanted []*krm.Object) ([]answer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answers := make([]answer, len(wanted))
	next := make(chan int)
	var done atomic.Int64
	var workers sync.WaitGroup
	for range min(parallel, len(wanted)) {
		workers.Go(func() {
			for i := range next {
				a, err := r.try(ctx, wanted[i])
				if err != nil {
					stop(err) // only the first counts
					return
				}
				answers[i] = a
				if r.options.Progress != nil {
					r.options.Progress(int(done.Add(1)), len(wanted))
				}
			}
		})
	}
	for i := range wanted {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	return answers, context.Cause(ctx)
}

// try asks for one object.
func (r *run) try(ctx context.Context, w *krm.Object) (answer, error) {
	var a answer
	resource, found, err := r.served.Find(w.Group(), w.Kind)
	if err != nil {
		return a, err
	}
	if !found {
		a.absent = "the definition of " + w.Kind + " (" + w.APIVersion + ")"
		return a, nil
	}
	if _, version, grouped := strings.Cut(w.APIVersion, "/"); grouped {
		resource.Version = version
	}
	if a.unread = r.unread[w.GroupKind()]; a.unread {
		return a, nil
	}
	if a.live = r.live[w.ID()]; a.live == nil {
		switch live, err := r.cluster.Get(ctx, resource, w.Namespace, w.Name); {
		case err == nil:
			a.live = newLive(live)
		case !isAbsent(err):
			return a, withRole(r.cluster.Explain(err, "get "+resource.String()))
		}
	}
	if a.live != nil && a.live.Deleting() {
		a.dying = true
		return a, nil
	}
	manager, sent := "", w.Node
	if a.live != nil {
		manager, sent = a.live.manager, withMarks(w.Node, a.live.Node)
	}
	manager = cmp.Or(r.options.Manager, manager, defaultManager)
	if a.live != nil && r.options.Effect != nil {
		if a.effect = r.options.Effect(&a.live.Object, w); a.effect != "" {
			a.applied = krm.NewObject(nil, merged(a.live.Node, manager, sent))
			return a, nil
		}
	}
	if a.untried = r.untried(w.GroupKind()); a.untried {
		if a.live != nil {
			a.applied = krm.NewObject(nil, merged(a.live.Node, manager, sent))
		}
		return a, nil
	}
	applied, warned, err := r.cluster.DryRunApply(ctx, resource, w.Namespace, w.Name, manager, sent)
	a.warned = warned
	switch {
	case err == nil:
		a.applied = krm.NewObject(nil, applied)
	case isMissingNamespace(err):
		a.absent = "Namespace " + w.Namespace
	case isMissingVersion(err):
		a.absent = "version " + w.APIVersion + " of " + w.Kind
	case isRefusal(err):
		a.refused = err
	case cluster.IsDenied(err):
		return a, fmt.Errorf("cannot try to apply %s: %w; a dry run needs the permission to get, list, patch and create %s, although it stores none: ask for the role poolwright-plan of deploy/rbac", w.Ref, err, resource)
	default:
		return a, r.cluster.Explain(err, "try to apply "+w.Ref.String())
	}
	return a, nil
}
