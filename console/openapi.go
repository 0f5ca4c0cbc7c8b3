package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/service/web"
)

// describe is the OpenAPI document, made of the routes and the Go types that they answer with.
func (s *Server) describe() []byte {
	schemas := web.NewSchemas(web.Object{})
	paths := web.Object{}
	for i := range s.routes {
		r := &s.routes[i]
		if r.result == nil {
			continue
		}
		operation := web.Object{"summary": r.summary, "operationId": r.operation(), "responses": r.responses(&schemas)}
		if parameters := r.parameters(); parameters != nil {
			operation["parameters"] = parameters
		}
		if r.method == http.MethodPost || r.method == http.MethodPut {
			object := web.Object{"schema": web.Object{"type": "object"}}
			operation["requestBody"] = web.Object{"required": true, "content": web.Object{"application/json": object, "application/yaml": object}}
		}
		if r.open {
			operation["security"] = []web.Object{}
		}
		methods, found := paths[r.path].(web.Object)
		if !found {
			methods = web.Object{}
			paths[r.path] = methods
		}
		methods[strings.ToLower(r.method)] = operation
	}
	document := web.Object{
		"openapi":  "3.1.0",
		"info":     web.Object{"title": "Poolwright console", "version": s.config.Version, "summary": "A package and its inventory, for people and their programs"},
		"paths":    paths,
		"security": []web.Object{{"token": []string{}}},
		"components": web.Object{
			"schemas":         schemas.Named,
			"securitySchemes": web.Object{"token": web.Object{"type": "http", "scheme": "bearer", "description": "The token of the link that poolwright console prints"}},
		},
	}
	text, err := json.MarshalIndent(document, "", "  ") // sorts the keys
	if err != nil {
		panic(err) // all of it are texts, numbers, lists and maps
	}
	return append(text, '\n')
}

func (r *route) operation() string {
	name := strings.NewReplacer("/api/v1/", "", "/{kind}/{namespace}/{name}", "One", "/", "", ".json", "").Replace(r.path)
	return strings.ToLower(r.method) + strings.ToUpper(name[:1]) + name[1:]
}

// responses describe the answers of a route.
func (r *route) responses(schemas *web.Schemas) web.Object {
	schema := schemas.Of(r.result)
	if r.listed {
		number := web.Object{"type": "integer"}
		schema = web.Object{
			"type": "object", "required": []string{"items", "total", "page", "pages"}, "additionalProperties": false,
			"properties": web.Object{"items": web.Object{"type": "array", "items": schema}, "total": number, "page": number, "pages": number},
		}
	}
	kind := "application/json"
	if r.result == "" {
		kind = "text/plain"
	}
	responses := web.Object{"200": web.Object{"description": "OK", "content": web.Object{kind: web.Object{"schema": schema}}}}
	if r.isWrite() {
		responses["202"] = web.Object{"description": "Committed, and not applied yet", "content": web.Object{kind: web.Object{"schema": schema}}}
		responses["200"] = web.Object{"description": "What the write would do (dryRun=true)", "content": web.Object{kind: web.Object{"schema": schemas.Of(Preview{})}}}
	}
	codes := []int{http.StatusForbidden, http.StatusMethodNotAllowed}
	if !r.open {
		codes = append(codes, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if r.listed {
		codes = append(codes, http.StatusBadRequest)
	}
	if strings.Contains(r.path, "{") {
		codes = append(codes, http.StatusNotFound)
	}
	if r.isWrite() {
		codes = append(codes, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusPreconditionRequired)
	}
	for _, code := range codes {
		responses[strconv.Itoa(code)] = web.Object{
			"description": http.StatusText(code),
			"content":     web.Object{"application/problem+json": web.Object{"schema": schemas.Of(problem{})}},
		}
	}
	return responses
}

func (r *route) isWrite() bool { return r.method != http.MethodGet }

// parameters are those of a path, a header and a query.
func (r *route) parameters() []web.Object {
	var all []web.Object
	text := web.Object{"type": "string"}
	for _, part := range r.parts {
		if name, found := strings.CutPrefix(part, "{"); found {
			all = append(all, web.Object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": text})
		}
	}
	switch {
	case r.listed:
		all = append(all, listParameters()...)
	case r.isWrite():
		all = append(all, web.Object{"name": "dryRun", "in": "query", "description": "only say what the write would do", "schema": web.Object{"type": "boolean"}})
	}
	if r.method == http.MethodPut || r.method == http.MethodDelete {
		all = append(all, web.Object{"name": "If-Match", "in": "header", "required": true, "description": "the ETag of the spec", "schema": text})
	}
	if r.method == http.MethodDelete {
		all = append(all, web.Object{"name": "cascade", "in": "query", "description": "take the volumes of a group out, too", "schema": web.Object{"type": "boolean"}})
	}
	return all
}

func listParameters() []web.Object {
	parameter := func(name, description string, schema web.Object) web.Object {
		return web.Object{"name": name, "in": "query", "description": description, "schema": schema}
	}
	return []web.Object{
		parameter("q", "words that all are in a row, in any case", web.Object{"type": "string"}),
		parameter("page", "from 1", web.Object{"type": "integer", "minimum": 1, "default": 1}),
		parameter("limit", "rows of a page", web.Object{"type": "integer", "minimum": 1, "maximum": mostShown, "default": rowsShown}),
		parameter("sort", "a field; with - before it from the greatest to the least", web.Object{"type": "string"}),
	}
}
