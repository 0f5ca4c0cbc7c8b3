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
		if r.listed {
			operation["parameters"] = listParameters()
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
	name := strings.NewReplacer("/api/v1/", "", "/", "", ".json", "").Replace(r.path)
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
	codes := []int{http.StatusForbidden, http.StatusMethodNotAllowed}
	if !r.open {
		codes = append(codes, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if r.listed {
		codes = append(codes, http.StatusBadRequest)
	}
	for _, code := range codes {
		responses[strconv.Itoa(code)] = web.Object{
			"description": http.StatusText(code),
			"content":     web.Object{"application/problem+json": web.Object{"schema": schemas.Of(problem{})}},
		}
	}
	return responses
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
