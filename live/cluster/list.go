package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/poolwright/poolwright/schema/document"
)

// pageSize is how many objects one request asks for: enough that the round trip
// does not matter, few enough that a page of block devices is about one MiB.
const pageSize = 500

// Selectors say which objects of a resource are listed, as kubectl takes them; "" is all.
type Selectors struct{ Labels, Fields string }

// List reads all objects of a resource page by page, and hands over the items of
// each page, which say what they are as single objects do. What is kept of them must
// be copied: they are parts of the text of the whole page. If a page has expired, which takes an API server minutes,
// restart is called and the list begins again: a mixture of two states is never
// handed over as one.
func (c *Cluster) List(ctx context.Context, r Resource, which Selectors, page func(items []document.Node) error, restart func()) error {
	doing := "list " + r.String()
	if r.Namespaced && c.Namespace != "" {
		doing += " in namespace " + c.Namespace
	}
	next, restarts := "", 0
	for {
		body, err := c.get(ctx, r.path(c.Namespace), plainJSON, map[string]string{
			"limit": strconv.Itoa(pageSize), "continue": next, "labelSelector": which.Labels, "fieldSelector": which.Fields,
		})
		if apierrors.IsResourceExpired(err) && restarts < 3 {
			next = ""
			restarts++
			restart()
			continue
		}
		if err != nil {
			return c.Explain(err, doing)
		}
		list, err := parse(body)
		if err != nil || list.Get("items") == nil {
			return c.noAnswer(doing)
		}
		items := list.Seq("items")
		for i := range items {
			identify(&items[i], r)
		}
		if err := page(items); err != nil {
			return fmt.Errorf("cannot %s: %w", doing, err)
		}
		if next = list.Str("metadata", "continue"); next == "" {
			return nil
		}
	}
}

// identify puts what an item of a list is in front, where it is not said of
// built-in kinds.
func identify(item *document.Node, r Resource) {
	fields := make([]document.Field, 2, len(item.Fields())+2)
	fields[0], fields[1] = document.F("apiVersion", document.Text(r.APIVersion())), document.F("kind", document.Text(r.Kind))
	for _, f := range item.Fields() {
		if f.Key != "apiVersion" && f.Key != "kind" {
			fields = append(fields, f)
		}
	}
	item.SetFields(fields)
}

// parse reads the JSON of a list.
func parse(body []byte) (*document.Node, error) {
	docs, err := document.Parse(&document.Source{Data: body})
	switch {
	case err != nil:
		return nil, err
	case len(docs) != 1 || docs[0].Node.Kind() != document.Map:
		return nil, errors.New("it is no list")
	}
	return &docs[0].Node, nil
}
