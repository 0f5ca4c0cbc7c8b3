package fn

import (
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// isConfigMap reports whether an object is a ConfigMap, which kpt makes of the arguments of
// "kpt fn eval" and of configMap in a Kptfile (KRM functions specification v1, functionConfig).
func isConfigMap(o *krm.Object) bool { return o.Group() == "" && o.Kind == "ConfigMap" }

// deepest is more parts than the path of any field of a RenderConfig has. The rest of a longer one is one part: a
// text is not to make a document that is nested without bound.
const deepest = 8

// configFromMap reads a ConfigMap as the RenderConfig that its data describe: each key is the path of a
// field below spec, such as engine or drain.volumes. It is nil if there are no data.
func configFromMap(m *krm.Object) *krm.Object {
	data := m.Node.Get("data").Fields()
	if len(data) == 0 {
		return nil
	}
	spec := document.Object().At(m.Node.Get("data").Off)
	for _, f := range data {
		value := f.Value
		value.Quoted = false // data are texts, also where the field is a number
		setPath(&spec, strings.SplitN(f.Key, ".", deepest), document.Field{Off: f.Off, Value: value})
	}
	root := document.Object(
		document.F("apiVersion", document.Text(ownGroup+"/v1alpha1")),
		document.F("kind", document.Text(configKind)),
		document.F("metadata", document.Object(document.F("name", document.Text("data")))),
		document.Field{Key: "spec", Off: spec.Off, Value: spec},
	).At(m.Node.Off)
	return m.Item(&root)
}

// setPath sets the field at the end of a path, with its place.
func setPath(n *document.Node, path []string, f document.Field) {
	value := f.Value
	if len(path) > 1 {
		value = document.Object().At(f.Value.Off)
		switch old := n.Get(path[0]); {
		case old.Kind() == document.Map:
			value = *old
		case old != nil:
			return // it is no mapping, which is an error
		}
		setPath(&value, path[1:], f)
	}
	n.Set(path[0], value)
	n.Field(path[0]).Off = f.Off
}

// inData gives the findings of a RenderConfig to the ConfigMap that it was read from.
func inData(m *krm.Object, fs []finding.Finding) []finding.Finding {
	for i := range fs {
		fs[i].Object = m.Ref
		if rest, ok := strings.CutPrefix(fs[i].Field, "spec."); ok {
			fs[i].Field = "data." + rest
		}
	}
	return fs
}
