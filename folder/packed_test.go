package folder

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// endless is a stream of zeros that never ends, as of a command that was called by mistake.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return len(p), nil
}

// TestReadDumpsEndless: a stream that never ends is an error that says what to do.
func TestReadDumpsEndless(t *testing.T) {
	const want = "stdin: error: cannot be read: it has more than 256 MiB, the most that is read of a stream; write it into files of at most 2 GiB, and name these"
	objects, findings, err := ReadDumps([]string{Stdin}, endless{})
	if err != nil || len(objects) > 0 || len(findings) != 1 || findings[0].String() != want {
		t.Errorf("%v, %v, want %s", findings, err, want)
	}
}

// TestUnpackedTooMuch: what unpacks to more than it seems is an error.
func TestUnpackedTooMuch(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = "it is packed with gzip, and cannot be unpacked: it has more than 1 MiB, the most that is read of a stream; write it into files of at most 2 GiB, and name these"
	if _, err := unpacked(bomb.Bytes(), 1<<20); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if text, err := unpacked(bomb.Bytes(), 2<<20); err != nil || len(text) != 2<<20 {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

// TestReadDumpsPacked: gzip is read, what is cut or packed otherwise is named.
func TestReadDumpsPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(secret("a"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		packed.String():                          "",
		packed.String()[:packed.Len()-6]:         "it is packed with gzip, and cannot be unpacked: unexpected EOF",
		"\x28\xb5\x2f\xfd rest":                  "it is packed with zstd; unpack it first, with zstd -dc",
		"PK\x03\x04 rest":                        "it is packed with zip; unpack it first, with unzip -p",
		"\x1f\x8b\x01 no gzip after all, though": "it is packed with gzip, and cannot be unpacked: gzip: invalid header",
	} {
		objects, findings, err := ReadDumps([]string{Stdin}, strings.NewReader(text))
		switch {
		case err != nil:
			t.Error(err)
		case want == "" && (len(findings) > 0 || names(objects) != "a"):
			t.Errorf("got %v, %v", names(objects), findings)
		case want != "" && (len(findings) != 1 || !strings.HasSuffix(findings[0].Message, want)):
			t.Errorf("got %v, want %s", findings, want)
		}
	}
}
