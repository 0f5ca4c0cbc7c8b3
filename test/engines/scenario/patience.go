package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// patience is how long a request is repeated whose answer was lost.
const patience = 5 * time.Minute

// ask repeats a request until the API server has answered it. On a busy machine a stream is reset
// (PROTOCOL_ERROR) and a connection is refused: that says nothing about the object.
func ask[T any](ctx context.Context, request func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		answer, err := request()
		if !unanswered(err) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// unanswered reports whether an error is of the way to the API server, or of a server that has no time.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case err == nil, meta.IsNoMatchError(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, &answer):
		return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
	}
	return Broken(err)
}

// Broken reports whether an error that an engine wraps is of a connection.
func Broken(err error) bool {
	if err == nil {
		return false
	}
	for _, sign := range []string{
		"stream error", "http2:", "GOAWAY", "connection re", "connection lost", "unexpected EOF", "broken pipe",
		"TLS handshake timeout", "i/o timeout", "etcdserver: request timed out", "etcdserver: leader changed",
	} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return false
}
