package hydrations

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/poolwright/poolwright/live/cluster"
)

// fieldManager is who writes, as server-side apply and events name it.
const fieldManager = "poolwright-controller"

// Store reads and writes Hydrations and what belongs to them.
type Store struct {
	cluster  *cluster.Cluster
	log      *slog.Logger
	recorder record.EventRecorder
	events   record.EventBroadcaster
	client   *corev1.CoreV1Client
}

// NewStore makes a Store, which logs the Hydrations that it cannot read. Close ends it.
func NewStore(ctx context.Context, c *cluster.Cluster, log *slog.Logger) (*Store, error) {
	client, err := corev1.NewForConfig(c.Config())
	if err != nil {
		return nil, err
	}
	events := record.NewBroadcaster(record.WithContext(klog.NewContext(ctx, logr.Discard())))
	events.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.Events("")})
	recorder := events.NewRecorder(runtime.NewScheme(), core.EventSource{Component: fieldManager})
	return &Store{cluster: c, log: log, events: events, recorder: recorder, client: client}, nil
}

// Close stops recording events.
func (s *Store) Close() { s.events.Shutdown() }

// ErrNoKind says that the cluster does not have the kind.
var ErrNoKind = errors.New("the cluster has no kind Hydration (poolwright.io); install it with poolwright schema Hydration -o crd | kubectl apply --server-side -f -")

// List reads all Hydrations of some namespaces, by namespace and name, without those that cannot be read; no
// namespace means all.
func (s *Store) List(ctx context.Context, namespaces []string) ([]*Hydration, error) {
	var all []*Hydration
	for _, namespace := range orAll(namespaces) {
		ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
		list, err := s.cluster.Dynamic().Resource(resource()).Namespace(namespace).List(ctx, metav1.ListOptions{})
		cancel()
		if apierrors.IsNotFound(err) {
			return nil, ErrNoKind
		}
		if err != nil {
			return nil, s.cluster.Explain(err, "list hydrations.poolwright.io")
		}
		for i := range list.Items {
			if h := s.read(&list.Items[i]); h != nil {
				all = append(all, h)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Hydration) int { return compareKeys(a.Key(), b.Key()) })
	return all, nil
}

// read reads an object; nil for one that fits no Hydration, which is logged: an older definition took it, and
// it is no reason to stop the others.
func (s *Store) read(u *unstructured.Unstructured) *Hydration {
	h, err := decode(u.Object)
	if err != nil {
		s.log.Error("a Hydration cannot be read and is left alone; correct it", "hydration", Key{u.GetNamespace(), u.GetName()}.String(), "error", err)
		return nil
	}
	return h
}

func orAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return namespaces
}

// Secret reads a Secret of the namespace of a Hydration. found is false where there is none.
func (s *Store) Secret(ctx context.Context, namespace, name string) (data map[string][]byte, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	client := s.cluster.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(namespace)
	u, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.cluster.Explain(err, "get secrets "+namespace+"/"+name)
	}
	encoded, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return nil, false, fmt.Errorf("the Secret %s/%s cannot be read", namespace, name)
	}
	data = map[string][]byte{}
	for key, value := range encoded {
		if data[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, false, fmt.Errorf("the Secret %s/%s cannot be read", namespace, name)
		}
	}
	return data, true, nil
}

// WriteStatus writes a status if it differs from that of the object, which then has it. An object
// that is gone, or was made again, is no error.
func (s *Store) WriteStatus(ctx context.Context, h *Hydration, status Status) (wrote bool, err error) {
	before, err := json.Marshal(h.Status)
	if err != nil {
		return false, err
	}
	after, err := json.Marshal(status)
	if err != nil {
		return false, err
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(after, &fields); err != nil {
		return false, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": h.Metadata.Namespace, "name": h.Metadata.Name, "uid": h.Metadata.UID},
		"status":   fields,
	}}
	u.SetGroupVersionKind(Kind())
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	client := s.cluster.Dynamic().Resource(resource()).Namespace(h.Metadata.Namespace)
	_, err = client.ApplyStatus(ctx, h.Metadata.Name, u, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil
	case err != nil:
		return false, s.cluster.Explain(err, "write the status of Hydration "+h.Key().String())
	}
	h.Status = status
	return true, nil
}

// Event records an event about a Hydration. It is sent in the background, and lost if the process ends before.
func (s *Store) Event(h *Hydration, warning bool, reason, message string) {
	kind := core.EventTypeNormal
	if warning {
		kind = core.EventTypeWarning
	}
	s.recorder.Event(reference(h), kind, reason, cut(message))
}

// Announce makes the event of one thing that happened, which of names: it is made once, whoever does it how
// often, for as long as the API server keeps it. It returns when the event is there, or cannot be: the
// namespace is gone, or nobody may write events in it.
func (s *Store) Announce(ctx context.Context, h *Hydration, reason, message, of string) error {
	sum := sha256.Sum256([]byte(h.Metadata.UID + "\n" + reason + "\n" + of))
	now := metav1.Now()
	event := &core.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: h.Metadata.Namespace, Name: h.Metadata.Name + "." + hex.EncodeToString(sum[:8])},
		InvolvedObject: *reference(h),
		Reason:         reason, Message: cut(message), Type: core.EventTypeNormal, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: core.EventSource{Component: fieldManager}, ReportingController: fieldManager,
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	_, err := s.client.Events(h.Metadata.Namespace).Create(ctx, event, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return s.cluster.Explain(err, "create the event of Hydration "+h.Key().String())
}

func reference(h *Hydration) *core.ObjectReference {
	apiVersion, kind := Kind().ToAPIVersionAndKind()
	return &core.ObjectReference{
		APIVersion: apiVersion, Kind: kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name,
		UID: uid(h), ResourceVersion: h.Metadata.ResourceVersion,
	}
}
