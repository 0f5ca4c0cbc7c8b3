package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Source is a commit with all of its files, in memory, and what was written beside it since.
type Source struct {
	*memory.Storage
	Head plumbing.Hash // of the commit that was fetched

	written []plumbing.Hash // since then
	fetched bool
}

// newSource unpacks a commit.
func newSource(pack []byte, head plumbing.Hash, most limit) (*Source, error) {
	if err := measure(pack, most); err != nil {
		return nil, err
	}
	s := &Source{Storage: memory.NewStorage(), Head: head}
	if err := packfile.UpdateObjectStorage(s, bytes.NewReader(pack)); err != nil {
		return nil, err
	}
	s.fetched = true
	return s, nil
}

// SetEncodedObject adds an object. What is added after the fetch is pushed.
func (s *Source) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if s.fetched && s.HasEncodedObject(o.Hash()) != nil && !slices.Contains(s.written, o.Hash()) {
		s.written = append(s.written, o.Hash())
	}
	return s.Storage.SetEncodedObject(o)
}

// pack packs what was written.
func (s *Source) pack() (io.ReadCloser, error) {
	var out bytes.Buffer
	if _, err := packfile.NewEncoder(&out, s, false).Encode(s.written, 0); err != nil {
		return nil, err
	}
	return io.NopCloser(&out), nil
}

// unband gives the pack inside of an answer.
func unband(asked *capability.List, answer io.Reader) io.Reader {
	switch {
	case asked.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case asked.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}

// readPack reads a pack of at most this many bytes.
func readPack(r io.Reader, most limit) ([]byte, error) {
	pack, err := io.ReadAll(io.LimitReader(r, most.bytes+1))
	if err == nil && int64(len(pack)) > most.bytes {
		err = most.exceeded()
	}
	return pack, err
}

// limit is how much a pack may have, in bytes.
type limit struct {
	bytes int64
	last  bool // there is no larger one
}

func (r *Remote) limit() limit { return limit{r.room, r.room >= r.rules.MaxSource} }

func (l limit) exceeded() error {
	const what = "the files of the branch are larger than %s"
	if !l.last {
		return &Error{TooLarge, fmt.Sprintf(what, bytesText(l.bytes))}
	}
	return &Error{Refused, fmt.Sprintf(what+"; keep the package in a repository of its own, or start the controller with a larger --max-source", bytesText(l.bytes))}
}

// bytesText is a size as the flag takes it.
func bytesText(n int64) string {
	for _, unit := range []string{"", "Ki", "Mi"} {
		if n%1024 != 0 {
			return fmt.Sprintf("%d%s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%dGi", n)
}

// measure refuses a pack whose objects would have more bytes than this, before any of them is
// unpacked into memory.
func measure(pack []byte, most limit) error {
	s := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := s.Header()
	if err != nil {
		return err
	}
	var sum int64
	for range count {
		h, err := s.NextObjectHeader()
		if err != nil {
			return err
		}
		size := h.Length
		var delta head
		into := io.Discard
		if h.Type.IsDelta() {
			into = &delta
		}
		if h.Length > most.bytes {
			return most.exceeded()
		}
		if _, _, err := s.NextObject(into); err != nil {
			return err
		}
		if h.Type.IsDelta() {
			if size, err = delta.result(); err != nil {
				return err
			}
		}
		if sum += size; size > most.bytes || sum > most.bytes {
			return most.exceeded()
		}
	}
	return nil
}

// head keeps the first bytes of a delta, which say how large its result is.
type head struct{ bytes []byte }

func (h *head) Write(p []byte) (int, error) {
	h.bytes = append(h.bytes, p[:min(len(p), 20-len(h.bytes))]...)
	return len(p), nil
}

var errDelta = errors.New("a delta has no size")

// result is the second of the two sizes at the beginning of a delta, in seven bits a byte.
func (h *head) result() (int64, error) {
	var size int64
	rest := h.bytes
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return 0, errDelta
			}
			b := rest[0]
			rest = rest[1:]
			size |= int64(b&0x7f) << shift
			if b&0x80 == 0 {
				break
			}
		}
	}
	return size, nil
}
