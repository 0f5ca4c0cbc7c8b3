package cstor

import (
	"encoding/json"
	"fmt"

	"github.com/poolwright/poolwright/schema/document"
)

// jsonNode reads a part of the completed spec, named by its field; nil if it is not set.
func jsonNode(field string, value json.RawMessage) (*document.Node, error) {
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	docs, err := document.Parse(&document.Source{Name: field, Data: value})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(docs) != 1 {
		return nil, fmt.Errorf("%s: has %d values, wanted 1", field, len(docs))
	}
	return &docs[0].Node, nil
}
