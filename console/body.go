package console

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/quantity"
	"github.com/poolwright/poolwright/service/web"
)

const (
	mostBody  = 1 << 20 // bytes
	bodyStall = 10 * time.Second
)

// body reads what a request brings, of one of some media types.
func (x *exchange) body(types ...string) ([]byte, *problem) {
	given, _, err := mime.ParseMediaType(x.request.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(types, given) {
		return nil, refuse(http.StatusUnsupportedMediaType, "media-type", "Content-Type %q is not supported; send %s", x.request.Header.Get("Content-Type"), strings.Join(types, ", "))
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "too-large", "the body has more than %s", quantity.Size(mostBody))
	if x.request.ContentLength > mostBody {
		x.writer.Header().Set("Connection", "close") // the rest is not read
		return nil, tooLarge
	}
	from := &web.Reader{From: x.request.Body, Control: http.NewResponseController(x.writer), Stall: bodyStall}
	var text bytes.Buffer
	_, err = text.ReadFrom(io.LimitReader(from, mostBody+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.writer.Header().Set("Connection", "close")
		return nil, refuse(http.StatusRequestTimeout, "timeout", "no more of the body arrived for %s", bodyStall)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "bad-request", "the body cannot be read: %v", err)
	case text.Len() > mostBody:
		x.writer.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	from.Rest()
	return text.Bytes(), nil
}

// document reads one spec, as YAML or JSON.
func (x *exchange) document() (*krm.Object, []byte, *problem) {
	text, failed := x.body("application/json", "application/yaml", "application/x-yaml", "text/yaml")
	if failed != nil {
		return nil, nil, failed
	}
	o, failed := x.parse(text)
	return o, text, failed
}

// parse reads the text of one spec.
func (x *exchange) parse(text []byte) (*krm.Object, *problem) {
	objects, err := krm.Parse(&document.Source{Name: "YAML", Data: text})
	var syntax *document.SyntaxError
	if errors.As(err, &syntax) {
		p := refuse(http.StatusBadRequest, "bad-request", "line %d: %s", syntax.Pos.Line, syntax.Msg)
		p.line = syntax.Pos.Line
		return nil, p
	}
	switch {
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "bad-request", "%v", err)
	case len(objects) != 1:
		return nil, refuse(http.StatusBadRequest, "bad-request", "there are %d objects; send one", len(objects))
	case !x.server.config.Function.Kinds().IsSpec(objects[0].GroupKind()):
		return nil, refuse(http.StatusBadRequest, "bad-request", "%s is no kind of spec", objects[0].GroupKind())
	case objects[0].Name == "":
		return nil, refuse(http.StatusBadRequest, "bad-request", "metadata.name is missing")
	}
	return objects[0], nil
}

// form reads a form that a page of the console sent. The token in it proves that.
func (x *exchange) form() (url.Values, *problem) {
	text, failed := x.body("application/x-www-form-urlencoded")
	if failed != nil {
		return nil, failed
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "bad-request", "the form cannot be read: %v", err)
	}
	if failed := x.server.authenticate(x.request); failed != nil {
		return values, failed
	}
	if !x.server.sessions.isToken(values.Get("csrf")) {
		return values, refuse(http.StatusForbidden, "csrf", "the page is older than %d hours, or the console was started again; send the form once more", sessionTime/time.Hour)
	}
	return values, nil
}

// formToken proves for eight hours that a form is of a page of the console, which no other site can read.
func (s *sessions) formToken() string {
	var token [16 + 8 + sha256.Size]byte
	_, _ = rand.Read(token[:16]) // never fails
	binary.BigEndian.PutUint64(token[16:], uint64(s.now().Unix()))
	copy(token[24:], s.sign(token[:24]))
	return base64.RawURLEncoding.EncodeToString(token[:])
}

func (s *sessions) sign(text []byte) []byte {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("form "))
	mac.Write(text)
	return mac.Sum(nil)
}

// isToken reports whether a token is one of formToken, and not too old.
func (s *sessions) isToken(text string) bool {
	token, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(token) != 16+8+sha256.Size || !hmac.Equal(token[24:], s.sign(token[:24])) {
		return false
	}
	age := s.now().Sub(time.Unix(int64(binary.BigEndian.Uint64(token[16:])), 0))
	return age > -time.Minute && age < sessionTime
}
