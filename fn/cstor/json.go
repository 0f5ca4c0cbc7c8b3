package cstor

import (
	"encoding/json"

	"github.com/poolwright/poolwright/schema/document"
)

// setJSON sets a field to a part of the completed spec.
func setJSON(n *document.Node, key string, value json.RawMessage) {
	if len(value) == 0 || string(value) == "null" {
		return
	}
	docs, err := document.Parse(&document.Source{Name: key, Data: value})
	if err == nil && len(docs) == 1 {
		n.Set(key, docs[0].Node)
	}
}
