package krm

import "github.com/poolwright/poolwright/schema/document"

// Parse reads every document of a source as an object, with its text. The error
// is a *document.SyntaxError.
func Parse(src *document.Source) ([]*Object, error) {
	docs, err := document.Parse(src)
	if err != nil {
		return nil, err
	}
	objects := make([]*Object, len(docs))
	for i := range docs {
		d := &docs[i]
		objects[i] = NewObject(src, &d.Node)
		objects[i].Raw = src.Data[d.Start:d.End:d.End]
		objects[i].Index = i
	}
	return objects, nil
}
