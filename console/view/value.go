package view

import (
	"encoding/json"

	"github.com/poolwright/poolwright/schema/quantity"
)

// Text is a text that may not be known, or that there is none of: "" is null for programs.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Bytes is a size. A negative one is not known: null for programs.
type Bytes int64

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b < 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int64(b))
}

// String writes it for people.
func (b Bytes) String() string {
	if b < 0 {
		return ""
	}
	return quantity.Size(int64(b))
}

// known is a size of which 0 says that nobody knows it.
func known(bytes int64) Bytes {
	if bytes <= 0 {
		return -1
	}
	return Bytes(bytes)
}

// list is a list that is never null for programs.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
