package folder

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// mostStream is the most that is read of a stream, and of what a stream unpacks to, in
// bytes: it is held in memory, and a stream may never end.
const mostStream = 256 << 20

// readAtMost reads a stream that may not have more than a number of bytes.
func readAtMost(in io.Reader, most int64) ([]byte, error) {
	var text bytes.Buffer
	if n, err := text.ReadFrom(io.LimitReader(in, most+1)); err != nil || n <= most {
		return text.Bytes(), err
	}
	return nil, fmt.Errorf("it has more than %d MiB, the most that is read of a stream; write it into files of at most 2 GiB, and name these", most>>20)
}

// packing is a way of packing a file, by its first bytes.
type packing struct{ magic, name, unpack string }

// packings are those that are known, beside gzip.
func packings() []packing {
	return []packing{
		{"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"},
		{"\xfd7zXZ\x00", "xz", "xz -dc"},
		{"BZh", "bzip2", "bzip2 -dc"},
		{"PK\x03\x04", "zip", "unzip -p"},
	}
}

// unpacked is what a dump holds, which may be packed with gzip.
func unpacked(data []byte, most int64) ([]byte, error) {
	for _, p := range packings() {
		if bytes.HasPrefix(data, []byte(p.magic)) {
			return nil, fmt.Errorf("it is packed with %s; unpack it first, with %s", p.name, p.unpack)
		}
	}
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is packed with gzip, and cannot be unpacked: %w", err)
	}
	text, err := readAtMost(in, most)
	if err != nil {
		return nil, fmt.Errorf("it is packed with gzip, and cannot be unpacked: %w", err)
	}
	return text, nil
}
