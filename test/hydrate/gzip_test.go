package hydrate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"
)

// gzipped is a text as binaryData of a ConfigMap has it.
func gzipped(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
