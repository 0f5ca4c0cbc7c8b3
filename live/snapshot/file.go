package snapshot

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Format is how a file of an inventory is written.
type Format string

// The formats. The lines of JSON are one object each, so that a diff shows which
// object changed.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// File is the name of the file of a kind, without its extension: its plural, or cluster for what
// identifies a cluster.
func (k *Kind) File() string {
	if k.declared.Identity {
		return inventory.Cluster
	}
	return k.Plural
}

// header is everything of the file of a kind that comes before its items. The
// Inventory has the name of its file.
func (k *Kind) header(f Format) string {
	scope := ""
	if f == JSON {
		if k.Scope != "" {
			scope = fmt.Sprintf(`,%q:%q`, krm.AnnotationScope, k.Scope)
		}
		if k.missing != "" {
			scope += fmt.Sprintf(`,%q:%q`, krm.AnnotationMissing, k.missing)
		}
		return fmt.Sprintf(`{"apiVersion":"poolwright.io/v1alpha1","kind":"Inventory","metadata":{"name":%q,"labels":{%q:%q},"annotations":{%q:"true"%s}},"items":[`,
			k.File(), krm.LabelManagedBy, krm.ManagedBy, krm.AnnotationLocalConfig, scope)
	}
	if k.Scope != "" {
		scope = fmt.Sprintf("\n    %s: %q", krm.AnnotationScope, k.Scope)
	}
	if k.missing != "" {
		scope += fmt.Sprintf("\n    %s: %q", krm.AnnotationMissing, k.missing)
	}
	return fmt.Sprintf("apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: %s\n  labels:\n    %s: %s\n  annotations:\n    %s: \"true\"%s\nitems:",
		k.File(), krm.LabelManagedBy, krm.ManagedBy, krm.AnnotationLocalConfig, scope)
}

// Write writes the file of a kind: all its objects in one Inventory.
func (k *Kind) Write(w io.Writer, f Format) error {
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(k.header(f)) // Flush gives the first error
	if f == JSON {
		k.writeJSON(out)
	} else {
		k.writeYAML(out)
	}
	return out.Flush()
}

func (k *Kind) writeJSON(out *bufio.Writer) {
	for i := range k.items {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.WriteString(k.items[i].json)
	}
	out.WriteString("\n]}\n")
}

func (k *Kind) writeYAML(out *bufio.Writer) {
	if len(k.items) == 0 {
		out.WriteString(" []\n")
		return
	}
	out.WriteByte('\n')
	var buf []byte
	for i := range k.items {
		buf = document.Append(buf[:0], mustParse([]byte(k.items[i].json)), 2)
		buf[0] = '-' // in place of the first line's indentation
		out.Write(buf)
	}
}

// Count is the number of objects in a file that Write wrote.
func Count(file io.Reader) int {
	n := 0
	lines := bufio.NewReaderSize(file, 64<<10)
	for start := true; ; {
		line, more, err := lines.ReadLine()
		if err != nil {
			return n
		}
		if start && (bytes.HasPrefix(line, []byte("- apiVersion:")) || bytes.HasPrefix(line, []byte(`{"apiVersion":`)) && !bytes.HasSuffix(line, []byte("["))) {
			n++
		}
		start = !more
	}
}
