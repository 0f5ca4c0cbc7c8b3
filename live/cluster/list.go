package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pageSize is how many objects one request asks for: enough that the round trip
// does not matter, few enough that a page of block devices is about one MiB.
const pageSize = 500

// List reads all objects of a resource page by page, and hands each page over as
// the API server sent it: the JSON of a list. The bytes may be kept. If a page
// has expired, which takes an API server minutes, restart is called and the list
// begins again: a mixture of two states is never handed over as one.
func (c *Cluster) List(ctx context.Context, r Resource, selector string, page func(list []byte) error, restart func()) error {
	doing := "list " + r.Plural
	if r.Group != "" {
		doing += "." + r.Group
	}
	if r.Namespaced && c.Namespace != "" {
		doing += " in namespace " + c.Namespace
	}
	next, restarts := "", 0
	for {
		body, err := c.get(ctx, r.path(c.Namespace), map[string]string{
			"limit": strconv.Itoa(pageSize), "continue": next, "labelSelector": selector,
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
		if err := page(body); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if next, err = continuation(body); err != nil {
			return fmt.Errorf("%s: the answer of %s cannot be read: %w", doing, c.Server, err)
		}
		if next == "" {
			return nil
		}
	}
}

// continuation is the token of the next page, or "".
func continuation(list []byte) (string, error) {
	var head struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(list, &head)
	return head.Metadata.Continue, err
}
