package service

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/service/web"
)

// Media types of what is served.
const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
	typeText = "text/plain"
)

// output is the query parameter that chooses a form.
const output = "output"

// choose finds the form that a client wants: ?output=, or else Accept, or else the first.
func choose(forms []Form, values url.Values, accept []string) (Form, *problem) {
	if word := values.Get(output); word != "" {
		return forms[slices.IndexFunc(forms, func(f Form) bool { return f.Word == word })], nil // it is one of the values of the parameter
	}
	if len(accept) == 0 {
		return forms[0], nil
	}
	ranges := web.ParseAccept(accept)
	best, weight := -1, 0.0
	for i, f := range forms {
		if q := web.Quality(ranges, f.Type); q > weight {
			best, weight = i, q
		}
	}
	if best < 0 {
		return Form{}, refuse(http.StatusNotAcceptable, "Accept %q is none of the types that this path has: %s", strings.Join(accept, ", "), strings.Join(formTypes(forms), ", "))
	}
	return forms[best], nil
}

func formTypes(forms []Form) []string {
	var types []string
	for _, f := range forms {
		types = append(types, f.Type)
	}
	return types
}

// checkParameters refuses a query that an endpoint does not have.
func checkParameters(query string, parameters []Parameter) (url.Values, *problem) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	var names []string
	for i := range parameters {
		names = append(names, parameters[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := slices.Index(names, name)
		switch {
		case at < 0:
			known := "this path has none"
			if len(names) > 0 {
				known = "known are " + strings.Join(names, ", ")
			}
			return nil, refuse(http.StatusBadRequest, "unknown parameter %q%s; %s", name, schema.DidYouMean(name, names), known)
		case len(values[name]) > 1 && !parameters[at].Repeats:
			return nil, refuse(http.StatusBadRequest, "parameter %q is given %d times; give it once", name, len(values[name]))
		}
		if parameters[at].Bool && values.Get(name) == "" {
			values.Set(name, "true") // as a flag without a value
		}
		if words := parameters[at].words(); words != nil && !slices.Contains(words, values.Get(name)) {
			return nil, refuse(http.StatusBadRequest, "?%s=%s: not one of %s", name, values.Get(name), strings.Join(words, ", "))
		}
	}
	return values, nil
}

// words are the values that a parameter takes, nil for any.
func (p *Parameter) words() []string {
	if p.Bool {
		return []string{"true", "false"}
	}
	return p.Values
}
