package resilience

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// SetField finds the spec in the file of the change, and makes a copy of it with the field. A path is fields with dots between
// them; a list has [0] behind it, and a field that has dots itself is in brackets: metadata.annotations[poolwright.io/drain].
func (c *Change) SetField(specs []*krm.Object) (spec, changed *krm.Object, err error) {
	var files []string
	for _, o := range specs {
		file := o.At().File
		files = append(files, path.Base(file))
		if file != c.File && !strings.HasSuffix(file, "/"+c.File) {
			continue
		}
		if spec != nil {
			return nil, nil, misuse("set %s: %s has several specs; put each into a file of its own", c.Object, c.File)
		}
		spec = o
	}
	if spec == nil {
		return nil, nil, absent("file with a spec", c.File, files)
	}
	value, err := c.value()
	if err != nil {
		return nil, nil, err
	}
	keys, err := c.keys()
	if err != nil {
		return nil, nil, err
	}
	root := spec.Node.Copy()
	if err := put(&root, keys, value); err != nil {
		return nil, nil, UnknownError(fmt.Sprintf("set %s: %v", c.Object, err))
	}
	o := *spec
	o.Node, o.Raw = &root, nil
	return spec, &o, nil
}

// value is the value as YAML; nothing is an empty text.
func (c *Change) value() (document.Node, error) {
	docs, err := document.Parse(&document.Source{Name: c.File, Data: []byte(c.Text + "\n")})
	switch {
	case err != nil:
		return document.Node{}, misuse("set %s: the value is no YAML: %v", c.Object, err)
	case len(docs) == 0:
		return document.Text(""), nil
	}
	return docs[0].Node.Made(), nil
}

// keys are the fields of the path.
func (c *Change) keys() ([]string, error) {
	var keys []string
	for rest := c.Path; rest != ""; {
		if inner, found := strings.CutPrefix(rest, "["); found {
			key, after, closed := strings.Cut(inner, "]")
			if !closed || key == "" {
				return nil, misuse("set %s: %q has a bracket that does not close", c.Object, c.Path)
			}
			keys, rest = append(keys, key), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		keys = append(keys, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	if len(keys) == 0 || slices.Contains(keys, "") {
		return nil, misuse("set %s: %q is no path", c.Object, c.Path)
	}
	return keys, nil
}

// put sets a value below a node, which is a copy; what is on the way is copied, or made.
func put(n *document.Node, keys []string, value document.Node) error {
	key := keys[0]
	var next *document.Node
	if n.Kind() == document.Seq {
		at, err := strconv.Atoi(key)
		if err != nil || at < 0 || at >= len(n.Items()) {
			return fmt.Errorf("there is no item [%s] of %d", key, len(n.Items()))
		}
		next = &n.Items()[at]
	} else {
		if n.Kind() == document.Scalar {
			return fmt.Errorf("%s is below a value that has no fields", key)
		}
		if n.Kind() == document.Null {
			*n = document.Object()
		}
		if n.Field(key) == nil {
			n.Set(key, document.Node{Off: document.NoOffset})
		}
		next = n.Get(key)
	}
	if len(keys) == 1 {
		*next = value.At(next.Off)
		return nil
	}
	*next = next.Copy()
	return put(next, keys[1:], value)
}
