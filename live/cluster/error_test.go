package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A missing permission is asked for where it can be had.
func TestForbidden(t *testing.T) {
	c := &Cluster{Server: "https://example.com"}
	for _, x := range []struct{ says, hint string }{
		{`User "u" cannot list resource "nodes" in API group "" at the cluster scope`, "; ask for the read-only role of deploy/rbac"},
		{`User "system:serviceaccount:poolwright-controller:poolwright-controller" cannot get resource "secrets" in API group "" in the namespace "storage": RBAC: no such role`,
			"; permit it: kubectl create rolebinding poolwright-controller-secrets -n storage --clusterrole poolwright-controller-secrets --serviceaccount poolwright-controller:poolwright-controller"},
		{`User "me" cannot get resource "configmaps" in API group "" in the namespace "storage"`,
			"; permit it: kubectl create rolebinding poolwright-controller-manifests -n storage --clusterrole poolwright-controller-manifests --user me"},
		{`User "u" cannot watch resource "storages" in API group "dao.mayadata.io" at the cluster scope`, "; ask for the read-only role of deploy/rbac"},
		{`User "u" cannot patch resource "storages/status" in API group "dao.mayadata.io" in the namespace "openebs"`, "; ask for the permission to patch storages/status; deploy/status has a role with it"},
		{`User "u" cannot create resource "persistentvolumeclaims" in API group "" in the namespace "openebs"`, "; ask for the permission to create persistentvolumeclaims"},
		{`admission webhook "guard" denied the request: no`, ""},
	} {
		err := c.Explain(apierrors.NewForbidden(schema.GroupResource{Resource: "r"}, "n", errors.New(x.says)), "do it")
		if want := x.says + x.hint; !strings.HasPrefix(err.Error(), "cannot do it: ") || !strings.HasSuffix(err.Error(), want) || !apierrors.IsForbidden(err) {
			t.Errorf("got  %v\nwant ...%s", err, want)
		}
	}
}

// What answers and is no API server is not taken for one in which there is nothing.
func TestNoAnswer(t *testing.T) {
	const page = "<!doctype html><html><title>Sign in</title></html>"
	for _, x := range []struct {
		code          int
		content, body string
	}{
		{http.StatusOK, "text/html; charset=utf-8", page},
		{http.StatusOK, "application/json", page},
		{http.StatusUnauthorized, "text/html", page},
		{http.StatusForbidden, "text/html", page},
		{http.StatusNotFound, "text/html", page},
		{http.StatusInternalServerError, "text/html", page},
		{http.StatusOK, "text/plain", "It works!"},
		{http.StatusOK, "application/json", `{"hello": "world"}`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", x.content)
			w.WriteHeader(x.code)
			fmt.Fprint(w, x.body)
		}))
		defer server.Close()
		c := connectTo(t, server.URL)
		_, served := c.Served(t.Context())
		list := c.List(t.Context(), Resource{Version: "v1", Kind: "Node", Plural: "nodes"}, Selectors{}, nil, nil)
		for doing, err := range map[string]error{"ask the API server which kinds it serves": served, "list nodes": list} {
			want := "cannot " + doing + ": what " + server.URL + " answers is not the answer of a Kubernetes API server; "
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%d %s: %v", x.code, x.body, err)
			}
		}
	}
}
