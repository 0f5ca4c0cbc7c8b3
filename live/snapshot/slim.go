package snapshot

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Slim makes of one object of a kind, as the JSON of an API server, what Take keeps of
// it, false for nothing. It is for those who hear of objects one by one. The function may
// be called by one goroutine at a time.
func (o Options) Slim(kind *system.Kind) func(object []byte) (kept Item, keeps bool, err error) {
	s := o.slimmer(kind)
	return func(object []byte) (Item, bool, error) {
		docs, err := document.Parse(&document.Source{Data: object})
		if err != nil || len(docs) != 1 {
			return Item{}, false, fmt.Errorf("an object of kind %s cannot be read: %w", kind.Kind, err)
		}
		if !reads(kind, &docs[0].Node) {
			return Item{}, false, nil
		}
		return Item{s.item(&docs[0].Node)}, true, nil
	}
}

// Item is what a snapshot keeps of an object. Two are equal where it is the same.
type Item struct{ item }

// Of is the kind that Take would have read, of what Slim made of all its objects.
func Of(r cluster.Resource, kind *system.Kind, kept []Item) Kind {
	k := Kind{Resource: r, declared: *kind, items: make([]item, len(kept))}
	for i := range kept {
		k.items[i] = kept[i].item
	}
	k.items = sorted(kind, k.items)
	return k
}

// Facts reads what Slim made of all objects of a kind, and is what Objects would
// give of them.
func Facts(r cluster.Resource, kind *system.Kind, kept []Item) []*krm.Object {
	return (&Snapshot{Kinds: []Kind{Of(r, kind, kept)}}).Objects()
}
