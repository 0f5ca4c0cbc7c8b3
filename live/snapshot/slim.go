package snapshot

import (
	"fmt"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/live/cluster"
	"github.com/poolwright/poolwright/schema/document"
)

// Slim makes of one object of a kind, as the JSON of an API server, what Take keeps of
// it: again JSON, or "" for an object that is not read. It is for those who hear of objects
// one by one. The function may be called by one goroutine at a time.
func (o Options) Slim(kind *system.Kind) func(object []byte) (string, error) {
	s := o.slimmer(kind)
	return func(object []byte) (string, error) {
		docs, err := document.Parse(&document.Source{Data: object})
		if err != nil || len(docs) != 1 {
			return "", fmt.Errorf("an object of kind %s cannot be read: %w", kind.Kind, err)
		}
		if !kind.Reads(docs[0].Node.Str("metadata", "name")) {
			return "", nil
		}
		return s.item(&docs[0].Node).json, nil
	}
}

// Facts reads what Slim made of all objects of a kind, and is what Objects would
// give of them.
func Facts(r cluster.Resource, texts []string) []*krm.Object {
	k := Kind{Resource: r, items: make([]item, len(texts))}
	for i, text := range texts {
		k.items[i].json = text
	}
	return (&Snapshot{Kinds: []Kind{k}}).Objects()
}
