package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// atOnce is how many kinds are read at the same time: the API server needs most
// of the time, and more than this it does not serve any faster.
const atOnce = 4

// taking is one run of Take.
type taking struct {
	cluster *cluster.Cluster
	options Options
	nodes   map[string]bool // names and hostnames of the nodes that are selected; nil for all
}

// run fills in the objects of all kinds. All of them are tried even where one may
// not be read, so that a person asks for permissions once.
func (t *taking) run(ctx context.Context, kinds []Kind) error {
	errs := make([]error, len(kinds))
	first := 0
	if t.options.Selector != "" {
		// What belongs to a node is only known once the nodes are known.
		if first = slices.IndexFunc(kinds, isNode) + 1; first > 0 {
			errs[first-1] = t.list(ctx, &kinds[first-1])
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range kinds {
		if i == first-1 {
			continue
		}
		readers.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			if errs[i] = t.list(ctx, &kinds[i]); errs[i] != nil && !apierrors.IsForbidden(errs[i]) {
				cancel()
			}
		})
	}
	readers.Wait()
	return t.verdict(kinds, errs)
}

func isNode(k Kind) bool { return k.Group == "" && k.Kind == "Node" }

// verdict is what to say of all that went wrong: the cause, and not that the
// other lists were given up because of it.
func (t *taking) verdict(kinds []Kind, errs []error) error {
	denied := &DeniedError{Server: t.cluster.Server}
	var gaveUp error
	for i, err := range errs {
		var status apierrors.APIStatus
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			denied.Kinds = append(denied.Kinds, kinds[i].String())
			if denied.Err == nil && errors.As(err, &status) {
				denied.Err = errors.New(status.Status().Message)
			}
		case errors.Is(err, context.Canceled):
			gaveUp = err
		default:
			return err
		}
	}
	if len(denied.Kinds) > 0 && gaveUp == nil {
		return denied
	}
	return gaveUp
}

// list reads one kind.
func (t *taking) list(ctx context.Context, k *Kind) error {
	slim := t.options.slimmer(&k.declared)
	selector := ""
	if isNode(*k) {
		selector = t.options.Selector
	}
	page := func(items []document.Node) error {
		for i := range items {
			if t.selects(&k.declared, &items[i]) {
				k.items = append(k.items, slim.item(&items[i]))
			}
		}
		if t.options.Progress != nil {
			t.options.Progress(k.Kind, len(k.items))
		}
		return nil
	}
	if err := t.cluster.List(ctx, k.Resource, cluster.Selectors{Labels: cmp.Or(selector, k.declared.Labelled), Fields: Fields(&k.declared)}, page, func() { k.items = nil }); err != nil {
		return err
	}
	k.items = sorted(&k.declared, k.items)
	if selector != "" {
		if len(k.items) == 0 {
			return fmt.Errorf("no node of the cluster has the labels %s; correct -l, or compare it with kubectl get nodes --show-labels", selector)
		}
		t.nodes = map[string]bool{}
		for _, o := range k.Objects() {
			t.nodes[o.Name] = true
			t.nodes[o.Label(inventory.LabelHostname)] = true
		}
	}
	return nil
}

// selects reports whether an object is read, and belongs to a node that is selected, or to
// none.
func (t *taking) selects(kind *system.Kind, n *document.Node) bool {
	if t.nodes == nil || !reads(kind, n) {
		return reads(kind, n)
	}
	node := ""
	for _, path := range kind.Node {
		node = cmp.Or(node, n.Str(path...))
	}
	return node == "" || t.nodes[node]
}
