package scenario

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAsk: a request whose answer was lost is repeated, and no answer is asked for twice.
func TestAsk(t *testing.T) {
	kind := schema.GroupResource{Resource: "namespaces"}
	for _, c := range []struct {
		name  string
		errs  []error // of the first requests
		tries int
		fails bool
	}{
		{"an answer", nil, 1, false},
		{"a reset stream", []error{errors.New("stream error: stream ID 7; PROTOCOL_ERROR; received from peer")}, 2, false},
		{"a refused connection, twice", []error{errors.New("dial tcp 127.0.0.1:1: connect: connection refused"), errors.New("unexpected EOF")}, 3, false},
		{"a busy server", []error{fmt.Errorf("get: %w", apierrors.NewTooManyRequests("later", 1))}, 2, false},
		{"no object", []error{apierrors.NewNotFound(kind, "cdi")}, 1, true},
		{"another error", []error{errors.New("no such file")}, 1, true},
	} {
		tries := 0
		_, err := ask(t.Context(), func() (struct{}, error) {
			if tries++; tries <= len(c.errs) {
				return struct{}{}, c.errs[tries-1]
			}
			return struct{}{}, nil
		})
		if tries != c.tries || (err != nil) != c.fails {
			t.Errorf("%s: %d requests, %v", c.name, tries, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ended, func() (struct{}, error) { return struct{}{}, errors.New("http2: broken") }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the test: %v", err)
	}
}
