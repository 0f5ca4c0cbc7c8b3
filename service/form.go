package service

import (
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/schema"
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
	ranges := parseAccept(accept)
	best, weight := -1, 0.0
	for i, f := range forms {
		if q := quality(ranges, f.Type); q > weight {
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

// mediaRange is an entry of Accept or Accept-Encoding.
type mediaRange struct {
	name    string
	quality float64
}

// parseAccept reads a list with qualities. What is malformed accepts nothing.
func parseAccept(values []string) []mediaRange {
	var ranges []mediaRange
	for _, entry := range strings.Split(strings.Join(values, ","), ",") {
		name, parameters, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		q := 1.0
		if text, given := parameters["q"]; given {
			if q, err = strconv.ParseFloat(text, 64); err != nil || q < 0 || q > 1 {
				continue
			}
		}
		ranges = append(ranges, mediaRange{name, q})
	}
	return ranges
}

// quality is how much a client wants a type: what the most specific range says.
func quality(ranges []mediaRange, name string) float64 {
	group, _, _ := strings.Cut(name, "/")
	for _, pattern := range []string{name, group + "/*", "*/*"} {
		best := -1.0
		for _, r := range ranges {
			if r.name == pattern {
				best = max(best, r.quality)
			}
		}
		if best >= 0 {
			return best
		}
	}
	return 0
}

// acceptsGzip reports whether an answer may be packed.
func acceptsGzip(r *http.Request) bool {
	ranges := parseAccept(r.Header.Values("Accept-Encoding"))
	for _, name := range []string{"gzip", "*"} {
		if i := slices.IndexFunc(ranges, func(m mediaRange) bool { return m.name == name }); i >= 0 {
			return ranges[i].quality > 0
		}
	}
	return false
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
