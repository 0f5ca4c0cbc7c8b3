package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/console/page"
	"github.com/poolwright/poolwright/schema"
)

const (
	rowsShown = 50
	mostShown = 500
)

// List is a page of a list, for programs.
type List[T any] struct {
	Items []T `json:"items"`
	Total int `json:"total"`
	Page  int `json:"page"` // from 1
	Pages int `json:"pages"`
}

// cut is the part of a list that a query asks for: ?q=, words that all are in a row; ?sort=, a field, with - before
// it from the greatest to the least; ?page= and ?limit=.
func cut[T any](all []T, text func(*T) string, query url.Values) (List[T], *problem) {
	bad := func(format string, args ...any) (List[T], *problem) {
		return List[T]{}, refuse(http.StatusBadRequest, "bad-request", format, args...)
	}
	at, limit := 1, rowsShown
	for name, values := range query {
		n, err := strconv.Atoi(values[0])
		switch {
		case name == "q", name == "sort":
		case name != "page" && name != "limit":
			return bad("unknown parameter %q%s; known are q, page, limit, sort", name, schema.DidYouMean(name, []string{"q", "page", "limit", "sort"}))
		case err != nil || n < 1:
			return bad("?%s=%s: write a number from 1", name, values[0])
		case name == "page":
			at = n
		case n > mostShown:
			return bad("?limit=%d: at most %d", n, mostShown)
		default:
			limit = n
		}
	}
	all = search(all, text, query.Get("q"))
	if field := query.Get("sort"); field != "" {
		compare, known := byField[T](strings.TrimPrefix(field, "-"))
		if known != nil {
			return bad("?sort=%s: no field to sort by; write one of %s", field, strings.Join(known, ", "))
		}
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(a, b T) int {
			if strings.HasPrefix(field, "-") {
				a, b = b, a
			}
			return compare(&a, &b)
		})
	}
	return slice(all, at, limit), nil
}

// slice is a page of a list.
func slice[T any](all []T, at, limit int) List[T] {
	pages := max(1, (len(all)+limit-1)/limit)
	from := min((min(at, pages+1)-1)*limit, len(all))
	items := all[from:min(from+limit, len(all))]
	if items == nil {
		items = []T{}
	}
	return List[T]{Items: items, Total: len(all), Page: at, Pages: pages}
}

// search leaves the rows that have all words of a query, in any case.
func search[T any](all []T, text func(*T) string, query string) []T {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return all
	}
	found := []T{}
	for i := range all {
		row := strings.ToLower(text(&all[i]))
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(row, word) }) {
			found = append(found, all[i])
		}
	}
	return found
}

// byField compares rows by a field that has a text, a number or a boolean, as JSON names it; for another name,
// known are those that there are.
func byField[T any](name string) (compare func(a, b *T) int, known []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		of := func(row *T) reflect.Value { return reflect.ValueOf(row).Elem().Field(i) }
		var by func(a, b *T) int
		switch t.Field(i).Type.Kind() {
		case reflect.String:
			by = func(a, b *T) int { return cmp.Compare(of(a).String(), of(b).String()) }
		case reflect.Int, reflect.Int64:
			by = func(a, b *T) int { return cmp.Compare(of(a).Int(), of(b).Int()) }
		case reflect.Bool:
			by = func(a, b *T) int { return strings.Compare(fmt.Sprint(of(a).Bool()), fmt.Sprint(of(b).Bool())) }
		default:
			continue
		}
		if tag == name {
			return by, nil
		}
		if tag != "" && tag != "-" {
			known = append(known, tag)
		}
	}
	if known == nil {
		known = []string{"nothing"}
	}
	return nil, known
}

// tabulate is the part of a list that a page shows as a table, with the search above it.
func tabulate[T any](x *exchange, t page.Table, all []T, text func(*T) string, row func(*T) []page.Cell) page.Block {
	query := x.request.URL.Query()
	q := query.Get("q")
	found := search(all, text, q)
	at, _ := strconv.Atoi(query.Get("page"))
	last := max(1, (len(found)+rowsShown-1)/rowsShown)
	part := slice(found, min(max(at, 1), last), rowsShown)
	for i := range part.Items {
		t.Rows = append(t.Rows, row(&part.Items[i]))
	}
	path := x.request.URL.EscapedPath()
	if len(all) > 0 {
		t.Search = &page.Search{Path: path, Query: q}
		for _, name := range slices.Sorted(maps.Keys(query)) {
			if name != "q" && name != "page" {
				t.Search.Keep = append(t.Search.Keep, page.Option{Value: query.Get(name), Text: name})
			}
		}
	}
	if len(all) > 0 && len(found) == 0 {
		t.Empty = page.Notice{Text: fmt.Sprintf("Nothing here has %q.", q), Link: &page.Link{Text: "Show all", Path: path}}
	}
	to := func(n int) string {
		if n < 1 || n > part.Pages {
			return ""
		}
		values := maps.Clone(query)
		values.Set("page", strconv.Itoa(n))
		return path + "?" + values.Encode()
	}
	first := (part.Page-1)*rowsShown + 1
	t.Pages = &page.Pages{
		Text:     fmt.Sprintf("%s to %s of %s", thousands(first), thousands(first+len(part.Items)-1), thousands(part.Total)),
		Previous: to(part.Page - 1), Next: to(part.Page + 1), HasPages: part.Pages > 1,
	}
	return page.Block{Table: &t}
}

// thousands writes a number with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
