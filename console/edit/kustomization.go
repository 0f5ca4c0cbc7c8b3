package edit

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/document"
)

// kustomization is the file that lists the files of a folder.
const kustomization = "kustomization.yaml"

// addResource adds a file to the resources of a kustomization.
func addResource(data []byte, file string) ([]byte, error) {
	documents, err := document.Parse(&document.Source{Data: data})
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, errors.New("it is not one document; add the file to its resources by hand")
	}
	field := documents[0].Node.Field("resources")
	if field == nil {
		return append(lined(bytes.Clone(data)), "resources:\n- "+file+"\n"...), nil
	}
	items := field.Value.Items()
	if slices.ContainsFunc(items, func(n document.Node) bool { return strings.TrimPrefix(n.Value(), "./") == file }) {
		return data, nil
	}
	p := patch{text: data, end: len(data)}
	switch {
	case len(items) == 0 || p.flow(&field.Value):
		var next []document.Node
		next = append(next, items...)
		next = append(next, document.Text(file))
		end := len(data)
		fields := documents[0].Node.Fields()
		for i := range fields {
			if fields[i].Key == field.Key && i+1 < len(fields) {
				end = int(fields[i+1].Off)
			}
		}
		list := document.List(next...)
		p.write(field, &list, end)
		return p.apply(), nil
	default:
		last := items[len(items)-1].Off
		line := data[p.lineOf(last):last] // with the dash
		at := p.lineOf(last) + len(line)
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return slices.Concat(data, []byte{'\n'}, line, []byte(file+"\n")), nil
		}
		at += end + 1
		return slices.Concat(data[:at], line, []byte(file+"\n"), data[at:]), nil
	}
}

// removeResource takes the line of a file out of the resources of a kustomization.
func removeResource(data []byte, file string) []byte {
	documents, err := document.Parse(&document.Source{Data: data})
	if err != nil || len(documents) != 1 {
		return data
	}
	field := documents[0].Node.Field("resources")
	if field == nil {
		return data
	}
	items := field.Value.Items()
	i := slices.IndexFunc(items, func(n document.Node) bool { return strings.TrimPrefix(n.Value(), "./") == file })
	if i < 0 {
		return data
	}
	p := patch{text: data, end: len(data)}
	if p.flow(&field.Value) || len(items) == 1 {
		list := document.List(slices.Delete(slices.Clone(items), i, i+1)...)
		end := len(data)
		fields := documents[0].Node.Fields()
		for j := range fields {
			if fields[j].Key == field.Key && j+1 < len(fields) {
				end = int(fields[j+1].Off)
			}
		}
		p.write(field, &list, end)
		return p.apply()
	}
	from, to := p.lineOf(items[i].Off), len(data)
	if end := bytes.IndexByte(data[items[i].Off:], '\n'); end >= 0 {
		to = int(items[i].Off) + end + 1
	}
	return slices.Concat(data[:from], data[to:])
}
