package applyset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Reason is why an object was not written.
type Reason int

// The reasons, in the order in which a person wants to hear of them.
const (
	Conflict Reason = iota // somebody else has it, or fields of it
	Refused                // the API server takes no such object
	Failed                 // it is tried again
	Changed                // it is another one by now
	NotYet                 // its kind, its version or its namespace is not there
)

// Error is why an object was not written.
type Error struct {
	Reason  Reason
	Message string
}

func (e *Error) Error() string { return e.Message }

// Writer writes the members of a set.
type Writer struct {
	Set
	Cluster *cluster.Cluster
	Served  *cluster.Served
}

// Apply applies a rendered object, or with dryRun asks what would come of it. member is nil where there is
// none. The error is an *Error.
func (w *Writer) Apply(ctx context.Context, o *krm.Object, stage int, member *Member, dryRun bool) (stored *Member, created bool, err error) {
	r, err := w.resource(o)
	if err != nil {
		return nil, false, err
	}
	n := w.marked(o, stage)
	if o.Owner() == "" { // it is left to a person
		plain := o.Node.Copy()
		n = &plain
	}
	if member != nil {
		withUID(n, member.Live.Node.Str("metadata", "uid"))
	}
	answer, created, err := w.Cluster.Apply(ctx, r, o.Namespace, o.Name, Manager, n, dryRun)
	if err != nil {
		return nil, false, w.explain(err, "apply", o)
	}
	return newMember(r, answer), created, nil
}

// Same reports whether an apply, of which a dry run gives what would be stored, changes nothing.
func (m *Member) Same(stored *Member) bool {
	return document.Equal(m.Applied.Node, stored.Applied.Node) && document.Equal(content(m.Live.Node), content(stored.Live.Node))
}

// content is an object without what only the API server keeps.
func content(live *document.Node) *document.Node {
	n := live.Copy()
	meta := copied(n.Get("metadata"))
	for _, key := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		meta.Delete(key)
	}
	n.Set("metadata", meta)
	return &n
}

// Release takes the marks off a member that is no longer wanted, and stays: it is nobody's then.
func (w *Writer) Release(ctx context.Context, m *Member) error {
	n := *m.Applied.Node
	meta := copied(n.Get("metadata"))
	for field, keys := range map[string][]string{"labels": {krm.LabelManagedBy}, "annotations": {krm.AnnotationOwner, krm.AnnotationAllowRemoval}} {
		kept := copied(meta.Get(field))
		for _, key := range keys {
			kept.Delete(key)
		}
		meta.Set(field, kept)
	}
	n = n.Copy()
	n.Set("metadata", meta)
	withUID(&n, m.Live.Node.Str("metadata", "uid"))
	if _, _, err := w.Cluster.Apply(ctx, m.Resource, m.Live.Namespace, m.Live.Name, Manager, &n, false); err != nil {
		return w.explain(err, "release", m.Live)
	}
	return nil
}

// Delete deletes a member as it was seen. One that is gone is no error.
func (w *Writer) Delete(ctx context.Context, m *Member) error {
	meta := m.Live.Node.Get("metadata")
	err := w.Cluster.Delete(ctx, m.Resource, m.Live.Namespace, m.Live.Name, meta.Str("uid"), meta.Str("resourceVersion"))
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return w.explain(err, "delete", m.Live)
}

// Get reads the live object of a rendered one, nil if there is none.
func (w *Writer) Get(ctx context.Context, o *krm.Object) (*Member, error) {
	r, err := w.resource(o)
	if err != nil {
		return nil, err
	}
	n, err := w.Cluster.Get(ctx, r, o.Namespace, o.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, w.explain(err, "get", o)
	}
	return newMember(r, n), nil
}

// resource is where an object is written.
func (w *Writer) resource(o *krm.Object) (cluster.Resource, error) {
	r, found, err := w.Served.Find(o.Group(), o.Kind)
	switch {
	case err != nil:
		return r, &Error{Failed, err.Error()}
	case !found:
		return r, &Error{NotYet, fmt.Sprintf("the cluster has no kind %s (%s) yet", o.Kind, o.APIVersion)}
	}
	if _, version, grouped := strings.Cut(o.APIVersion, "/"); grouped {
		r.Version = version
	}
	return r, nil
}

func withUID(n *document.Node, uid string) {
	meta := copied(n.Get("metadata"))
	meta.Set("uid", document.Text(uid))
	n.Set("metadata", meta)
}

// explain is the *Error of a request.
func (w *Writer) explain(err error, doing string, o *krm.Object) error {
	var status apierrors.APIStatus
	if fields := conflicts(err); fields != "" {
		return &Error{Conflict, fmt.Sprintf("cannot %s %s: %s; nothing is forced: have that manager release the field, or remove it from the spec", doing, o.Ref, fields)}
	}
	message := w.Cluster.Explain(err, doing+" "+o.Ref.String()).Error()
	if cluster.IsDenied(err) {
		message += "; deploy/controller/apply has a role for mode Apply"
	}
	switch {
	case apierrors.IsConflict(err):
		return &Error{Changed, message}
	case apierrors.IsNotFound(err):
		return &Error{NotYet, message}
	case cluster.IsDenied(err), !errors.As(err, &status), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		return &Error{Failed, message}
	}
	return &Error{Refused, message}
}

// conflicts says which fields other managers have, "" for an error that is no conflict of fields.
func conflicts(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager, _, _ := strings.Cut(strings.TrimPrefix(cause.Message, "conflict with "), " using ")
		fields = append(fields, strings.TrimPrefix(cause.Field, ".")+" is managed by "+manager)
	}
	const most = 3
	if more := len(fields) - most; more > 0 {
		fields = append(fields[:most], fmt.Sprintf("and %d more fields", more))
	}
	return strings.Join(fields, ", ")
}
