package service

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/service/web"
)

type object = web.Object

// schemas are those of what is served.
type schemas struct{ web.Schemas }

// describe is the OpenAPI document: made of the routes, the forms and parameters of the verbs,
// and the Go types that they print.
func (s *Server) describe() []byte {
	schemas := &schemas{web.NewSchemas(object{"ResourceList": resourceList()})}
	paths := object{}
	for _, path := range slices.Sorted(maps.Keys(s.routes)) {
		r := s.routes[path]
		paths[path] = object{strings.ToLower(r.method): schemas.operation(r)}
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Poolwright", "version": s.config.Version,
			"summary": "The KRM function of Poolwright, and its commands that read a package",
		},
		"paths":      paths,
		"components": object{"schemas": schemas.Named},
	}
	text, err := json.MarshalIndent(document, "", "  ") // sorts the keys
	if err != nil {
		panic(err) // all of it are texts, numbers, lists and maps
	}
	return append(text, '\n')
}

// resourceList is the schema of a body.
func resourceList() object {
	return object{
		"type":        "object",
		"description": "A ResourceList of the KRM function specification. The annotation internal.config.kubernetes.io/path of each item is its file in the package.",
		"required":    []string{"apiVersion", "kind"},
		"properties": object{
			"apiVersion":     object{"enum": []string{"config.kubernetes.io/v1", "config.kubernetes.io/v1beta1"}},
			"kind":           object{"const": "ResourceList"},
			"items":          object{"type": []string{"array", "null"}, "items": object{"type": "object"}},
			"functionConfig": object{"type": []string{"object", "null"}},
			"results":        object{"type": "array", "items": object{"type": "object"}},
		},
		"additionalProperties": false,
	}
}

// operation describes a route.
func (s *schemas) operation(r *route) object {
	responses := object{}
	codes := append(slices.Clone(r.codes), http.StatusMethodNotAllowed)
	for _, code := range codes {
		responses[strconv.Itoa(code)] = s.response(r, code)
	}
	operation := object{"summary": r.summary, "operationId": strings.Trim(strings.NewReplacer("/v1/", "", "/", "", ".json", "").Replace(r.path), "/"), "responses": responses}
	if r.work == nil {
		return operation
	}
	content := object{}
	for _, t := range bodyTypes {
		content[t] = object{"schema": web.Reference("ResourceList")}
	}
	operation["requestBody"] = object{"required": true, "content": content}
	var parameters []object
	for _, p := range r.work.parameters {
		parameters = append(parameters, p.describe())
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	return operation
}

func (p *Parameter) describe() object {
	schema := object{"type": "string"}
	switch {
	case p.Bool:
		schema = object{"type": "boolean"}
	case p.Values != nil:
		schema["enum"] = p.Values
	}
	if p.Default != "" {
		schema["default"] = p.Default
		if p.Bool {
			schema["default"] = p.Default == "true"
		}
	}
	if p.Repeats {
		schema = object{"type": "array", "items": schema}
	}
	return object{"name": p.Name, "in": "query", "description": p.Usage, "schema": schema}
}

// response describes the answers of one status.
func (s *schemas) response(r *route, code int) object {
	content := object{}
	if code == http.StatusOK || code == http.StatusUnprocessableEntity {
		for _, t := range r.types {
			content[t] = object{"schema": object{}}
		}
		if r.work != nil {
			s.forms(r.work, content)
		}
	}
	if code != http.StatusOK && !(code == http.StatusUnprocessableEntity && r.work.result == nil) {
		content[typeProblem] = object{"schema": s.Of(problem{})}
	}
	headers := object{}
	header := func(name, description string) {
		headers[name] = object{"description": description, "schema": object{"type": "string"}}
	}
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header("Retry-After", "when to try again, in seconds")
	case http.StatusMethodNotAllowed:
		header("Allow", "the methods of this path")
	}
	if r.work != nil && (code == http.StatusOK || code == http.StatusUnprocessableEntity || code == http.StatusBadRequest) {
		header(exitCode, "the exit code of the command, if it ran")
	}
	response := object{"description": http.StatusText(code), "content": content}
	if len(headers) > 0 {
		response["headers"] = headers
	}
	return response
}

// forms adds what an endpoint can answer with.
func (s *schemas) forms(e *endpoint, content object) {
	for _, f := range e.forms {
		schema := object{}
		switch {
		case e.result == nil:
			schema = web.Reference("ResourceList")
		case f.Type == typeJSON:
			schema = s.Of(e.result)
		}
		content[f.Type] = object{"schema": schema}
	}
}
