package own

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// fieldManager is who writes, as server-side apply knows it.
const fieldManager = "poolwright-status"

// maxMessage is how long a message may be, in bytes, as the definitions have it.
const maxMessage = 32768

// ErrLost says that the API server could not be reached.
var ErrLost = errors.New("the API server is lost")

// Writer writes statuses into the cluster, and only what differs.
type Writer struct {
	cluster *cluster.Cluster
	kinds   *system.Kinds
	written map[string]written // by uid
}

// written is the status that an object got which was then at a version: what is
// reported about the object may be older than that.
type written struct {
	version string
	status  document.Node
}

// NewWriter makes a Writer for objects of some kinds.
func NewWriter(c *cluster.Cluster, kinds *system.Kinds) *Writer {
	return &Writer{cluster: c, kinds: kinds, written: map[string]written{}}
}

// Write sets the status of every own object that a status is about: a spec, the
// parts that a detail names, and what else was rendered for a spec. It returns
// how many were written. An object that is gone by now is no error.
func (w *Writer) Write(ctx context.Context, own []*Object, statuses []health.Status, now time.Time) (int, error) {
	whole, part := map[string]*health.Status{}, map[krm.ID]*health.Status{}
	for i := range statuses {
		st := &statuses[i]
		whole[identify(st.Spec).OwnerKey()] = st
		part[identify(st.Spec).ID()] = st
		for _, d := range st.Details {
			part[identify(d.Object).ID()] = &health.Status{Spec: d.Object, Phase: d.Phase, Reason: d.Reason, Message: d.Message, Since: d.Since}
		}
	}
	count := 0
	var failed error
	w.forget(own)
	for _, o := range own {
		st := part[o.Object.ID()]
		if st == nil {
			st = whole[o.Object.Owner()]
		}
		if st == nil || o.Object.Deleting() {
			continue
		}
		wrote, err := w.write(ctx, o, st, now)
		if wrote {
			count++
		}
		if errors.Is(err, ErrLost) {
			return count, err // so it would be for the rest
		}
		failed = errors.Join(failed, err)
	}
	return count, failed
}

// forget drops what was written to objects that are no more.
func (w *Writer) forget(own []*Object) {
	still := map[string]written{}
	for _, o := range own {
		uid := o.Object.Node.Str("metadata", "uid")
		if last, found := w.written[uid]; found {
			still[uid] = last
		}
	}
	w.written = still
}

func identify(ref finding.Ref) *krm.Object { return &krm.Object{Ref: ref} }

func (w *Writer) write(ctx context.Context, o *Object, st *health.Status, now time.Time) (bool, error) {
	meta := o.Object.Node.Get("metadata")
	uid := meta.Str("uid")
	current := o.Object.Node.Get("status")
	if last, found := w.written[uid]; found && last.version == meta.Str("resourceVersion") {
		current = &last.status
	}
	wanted := wantedStatus(st, o.Object, current, now)
	if kind, _ := w.kinds.Find(o.Object.GroupKind()); kind.State {
		wanted.Set("state", document.Text(string(st.Phase)))
	}
	if says(current, &wanted) {
		return false, nil
	}
	body := document.Object(
		document.F("apiVersion", document.Text(o.Object.APIVersion)), document.F("kind", document.Text(o.Object.Kind)),
		// With the uid it is refused for another object of the same name.
		document.F("metadata", document.Object(
			document.F("name", document.Text(o.Object.Name)), document.F("namespace", document.Text(o.Object.Namespace)), document.F("uid", document.Text(uid)),
		)),
		document.F("status", wanted),
	)
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(document.AppendJSON(nil, &body)); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	client := w.cluster.Dynamic().Resource(o.Resource.GVR()).Namespace(o.Object.Namespace)
	var answer apierrors.APIStatus
	_, err := client.ApplyStatus(ctx, o.Object.Name, u, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		if _, err = client.Get(ctx, o.Object.Name, metav1.GetOptions{}); err == nil {
			return false, fmt.Errorf("cannot write the status of %s: its kind has no status subresource; apply the definitions of deploy/crds", o.Object.Ref)
		}
	}
	switch {
	case err == nil:
		w.written[uid] = written{meta.Str("resourceVersion"), wanted}
		return true, nil
	case !errors.As(err, &answer):
		return false, fmt.Errorf("%w: %w", ErrLost, w.cluster.Explain(err, "write the status of "+o.Object.Ref.String()))
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return false, nil // created again, and seen as what it is now; or gone
	}
	return false, w.cluster.Explain(err, "write the status of "+o.Object.Ref.String())
}

// wantedStatus makes the status of an object that has another one, or none yet.
func wantedStatus(st *health.Status, o *krm.Object, current *document.Node, now time.Time) document.Node {
	message := document.Text(strings.ToValidUTF8(st.Message[:min(len(st.Message), maxMessage)], "")) // no half of a character
	stamp := document.Text(now.UTC().Format(time.RFC3339))
	before, _ := time.Parse(time.RFC3339, current.Str("since")) // zero where it is not there
	since := st.SinceAfter(health.Phase(current.Str("phase")), current.Str("reason"), before, now)
	if since.IsZero() {
		since = now
	}
	generation, _ := o.Node.Get("metadata", "generation").Int()
	condition := func(kind string, holds bool) document.Node {
		status := "False"
		if holds {
			status = "True"
		}
		changed := stamp
		if old := conditionOf(current, kind); old.Str("status") == status && old.Str("lastTransitionTime") != "" {
			changed = document.Text(old.Str("lastTransitionTime"))
		}
		return document.Object(
			document.F("type", document.Text(kind)), document.F("status", document.Text(status)),
			document.F("reason", document.Text(st.Reason)), document.F("message", message),
			document.F("lastTransitionTime", changed), document.F("observedGeneration", document.Int(generation)),
		)
	}
	conditions := []document.Node{condition("Ready", st.Phase == health.OK), condition("Reconciling", st.Phase == health.Progressing)}
	// To kstatus a stalled object has failed for good. Only an edit heals an
	// invalid spec; everything else may come right, what was rendered for it, too.
	if st.Reason == health.InvalidSpec && identify(st.Spec).ID() == o.ID() {
		conditions = append(conditions, condition("Stalled", true))
	}
	return document.Object(
		document.F("phase", document.Text(string(st.Phase))), document.F("reason", document.Text(st.Reason)),
		document.F("message", message), document.F("since", document.Text(since.UTC().Format(time.RFC3339))),
		document.F("observedGeneration", document.Int(generation)), document.F("conditions", document.List(conditions...)),
	)
}

func conditionOf(status *document.Node, kind string) *document.Node {
	conditions := status.Seq("conditions")
	for i := range conditions {
		if conditions[i].Str("type") == kind {
			return &conditions[i]
		}
	}
	return nil
}

// says reports whether a status says what is wanted. Foreign conditions may
// stand beside ours.
func says(current, wanted *document.Node) bool {
	for i := range wanted.Fields() {
		if f := &wanted.Fields()[i]; f.Key != "conditions" && !document.Equal(current.Get(f.Key), &f.Value) {
			return false
		}
	}
	conditions := wanted.Seq("conditions")
	for i := range conditions {
		if !document.Equal(conditionOf(current, conditions[i].Str("type")), &conditions[i]) {
			return false
		}
	}
	return true
}
