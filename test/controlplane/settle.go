package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// settleTimeout is far above the second that an API server takes to act on what was
// written to it.
const settleTimeout = 5 * time.Minute

// AwaitServed waits until discovery reports every kind that has a definition: a
// definition is established before that.
func (c *ControlPlane) AwaitServed(ctx context.Context) error {
	return settle(ctx, func(ctx context.Context) error {
		var definitions struct {
			Items []struct {
				Metadata struct{ Name, DeletionTimestamp string }
			}
		}
		if err := c.ask(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", nil, &definitions); err != nil {
			return err
		}
		served, err := c.served(ctx)
		if err != nil {
			return err
		}
		for _, d := range definitions.Items {
			if d.Metadata.DeletionTimestamp == "" && !served[d.Metadata.Name] {
				return fmt.Errorf("%s is not served", d.Metadata.Name)
			}
		}
		return nil
	})
}

// served are the resources that discovery reports, as definitions are named.
func (c *ControlPlane) served(ctx context.Context) (map[string]bool, error) {
	var groups struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Resources []struct{ Resource string }
			}
		}
	}
	if err := c.ask(ctx, "/apis", nil, &groups); err != nil {
		return nil, err
	}
	served := map[string]bool{}
	for _, g := range groups.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				served[r.Resource+"."+g.Metadata.Name] = true
			}
		}
	}
	return served, nil
}

// AwaitAllowed waits until users may do what cluster roles and their bindings allow: the
// authorizer learns of both only after they are stored.
func (c *ControlPlane) AwaitAllowed(ctx context.Context) error {
	return settle(ctx, func(ctx context.Context) error {
		const ours = "?labelSelector=!kubernetes.io/bootstrapping"
		var roles struct {
			Items []struct {
				Metadata struct{ Name string }
				Rules    []rule
			}
		}
		var bindings struct {
			Items []struct {
				RoleRef  struct{ Name string }
				Subjects []subject
			}
		}
		if err := c.ask(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterroles"+ours, nil, &roles); err != nil {
			return err
		}
		if err := c.ask(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"+ours, nil, &bindings); err != nil {
			return err
		}
		rules := map[string][]rule{}
		for _, r := range roles.Items {
			rules[r.Metadata.Name] = r.Rules
		}
		for _, b := range bindings.Items {
			for _, s := range b.Subjects {
				if err := c.allows(ctx, s.user(), rules[b.RoleRef.Name]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rule is one of a role.
type rule struct{ APIGroups, Resources, ResourceNames, Verbs []string }

// subject is whom a role is bound to: a user, or a service account.
type subject struct{ Kind, Namespace, Name string }

func (s subject) user() string {
	if s.Kind == "ServiceAccount" {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// allows says what of the rules a user may not do.
func (c *ControlPlane) allows(ctx context.Context, user string, rules []rule) error {
	type object = map[string]any
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				for _, verb := range r.Verbs {
					asked := object{"group": group, "resource": resource, "subresource": subresource, "verb": verb}
					if len(r.ResourceNames) > 0 {
						asked["name"] = r.ResourceNames[0]
					}
					var review struct{ Status struct{ Allowed bool } }
					if err := c.ask(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", object{
						"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
						"spec": object{"user": user, "resourceAttributes": asked},
					}, &review); err != nil {
						return err
					}
					if !review.Status.Allowed {
						return fmt.Errorf("%s may not yet: %v", user, asked)
					}
				}
			}
		}
	}
	return nil
}

// settle asks until it holds.
func settle(ctx context.Context, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ask reads an answer, to a question if there is one. Discovery answers with all kinds
// at once.
func (c *ControlPlane) ask(ctx context.Context, path string, question, answer any) error {
	method, body := http.MethodGet, []byte(nil)
	if question != nil {
		var err error
		if body, err = json.Marshal(question); err != nil {
			return err
		}
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
