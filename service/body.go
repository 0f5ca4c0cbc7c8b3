package service

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/service/web"
)

// bodyTypes are the media types of a ResourceList. Only a page of the same origin can send
// one of them: without that, any page in a browser could post to a server on loopback.
var bodyTypes = []string{typeYAML, "application/x-yaml", "text/yaml", typeJSON}

// body is the content of a request.
type body struct {
	from     io.Reader
	raw      *web.Reader
	packed   bool
	length   int64 // as it is announced, -1 for unknown
	most     int64
	late     int
	received bytes.Buffer
}

// openBody checks what the header says about a body.
func openBody(x *exchange, most int64, stall time.Duration) (*body, *problem) {
	header := x.request.Header
	given, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || !slices.Contains(bodyTypes, given) {
		x.header().Set("Accept", strings.Join(bodyTypes, ", "))
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Type %q is not supported; send a ResourceList as %s", header.Get("Content-Type"), strings.Join(bodyTypes, ", "))
	}
	b := &body{length: x.request.ContentLength, most: most, raw: &web.Reader{From: x.request.Body, Control: x.control, Stall: stall}}
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(header.Values("Content-Encoding"), ","))); encoding {
	case "", "identity":
	case "gzip":
		b.packed = true
	default:
		x.header().Set("Accept-Encoding", "gzip")
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Encoding %q is not supported; send gzip, or no encoding", encoding)
	}
	if b.length > most {
		return nil, b.tooLarge()
	}
	return b, nil
}

// isSmall reports whether the body is known to be read before its request has a slot.
func (b *body) isSmall() bool { return b.length <= smallBody }

// weight is how many bytes the body may have.
func (b *body) weight() int64 {
	if b.length < 0 || b.packed {
		return b.most
	}
	return b.length
}

// read reads up to a number of bytes in total; done says that the body ended before. late is
// the status if that is not done in time.
func (b *body) read(upTo int64, until time.Time, late int) (done bool, p *problem) {
	b.raw.Until, b.late = until, late
	if b.from == nil {
		b.from = b.raw
		if b.packed {
			unpacked, err := gzip.NewReader(b.raw)
			if err != nil {
				return false, b.cannotRead(err)
			}
			b.from = unpacked
		}
	}
	if upTo > smallBody && !b.packed && b.length > 0 {
		b.received.Grow(int(b.length) - b.received.Len() + bytes.MinRead)
	}
	_, err := b.received.ReadFrom(io.LimitReader(b.from, upTo-int64(b.received.Len())))
	switch {
	case err != nil:
		return false, b.cannotRead(err)
	case int64(b.received.Len()) > b.most:
		return false, b.tooLarge()
	}
	b.raw.Rest()
	return int64(b.received.Len()) < upTo, nil
}

func (b *body) tooLarge() *problem {
	return refuse(http.StatusRequestEntityTooLarge, "the body has more than %s; a server with a larger --max-body takes more", quantity.Size(b.most))
}

func (b *body) cannotRead(err error) *problem {
	switch {
	case errors.Is(err, web.ErrTimeUp):
		return refuse(b.late, "the body was not complete when the time of the request was up")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "no more of the body arrived for %s", b.raw.Stall)
	case b.raw.Failed != nil:
		return refuse(http.StatusBadRequest, "the body cannot be read: %v", b.raw.Failed)
	}
	return refuse(http.StatusBadRequest, "the body is not gzip as its Content-Encoding says: %v", err)
}
