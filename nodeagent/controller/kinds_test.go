package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/poolwright/poolwright/nodeagent/api"
)

// TestOldServer: an API server that knows no fields of definitions says so whenever it is asked, also where it did not
// answer at first: then all objects are watched.
func TestOldServer(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.URL.Query()
		switch {
		case asked.Add(1) <= 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`))
		case query.Get("fieldSelector") != "":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","message":"field label not supported: spec.nodeName","code":400}`))
		case query.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"kind":"VolumeList","apiVersion":"storage.metalk8s.scality.com/v1alpha1","metadata":{"resourceVersion":"1"},"items":[
				{"kind":"Volume","apiVersion":"storage.metalk8s.scality.com/v1alpha1","metadata":{"name":"data","resourceVersion":"1"},"spec":{"nodeName":"n1"}}]}`))
		}
	}))
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); server.CloseClientConnections(); server.Close() })
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	seen := observe[api.Volume](ctx, client, selection{resource: volumes, fields: "spec.nodeName=n1"}, func(string) {})
	waiting, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	if err := awaitSynced(waiting, seen.synced); err != nil {
		t.Fatal(err)
	}
	if v := seen.Get("data"); v == nil || v.Spec.NodeName != "n1" {
		t.Errorf("%+v", v)
	}
}

// TestAdoptable: an annotation does not take what carries the mark of a Volume or VolumeGroup that exists, on
// whatever node, nor what another Volume has adopted sooner.
func TestAdoptable(t *testing.T) {
	listed := `{"kind":"VolumeList","apiVersion":"storage.metalk8s.scality.com/v1alpha1","metadata":{"resourceVersion":"1"},"items":[
		{"kind":"Volume","apiVersion":"storage.metalk8s.scality.com/v1alpha1","metadata":{"name":"far","uid":"uid-far"},"spec":{"nodeName":"n2"}},
		{"kind":"Volume","apiVersion":"storage.metalk8s.scality.com/v1alpha1","metadata":{"name":"data","uid":"uid-data"},"spec":{"nodeName":"n1"}}ODD]}`
	var items atomic.Value
	items.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(items.Load().(string)))
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{client: client, node: "n1", marks: "test"}
	group := &api.VolumeGroup{Spec: api.VolumeGroupSpec{NodeName: "n1"}}
	group.Name = "fast"
	s.groups = stored(t, map[string]*api.VolumeGroup{"fast": group})
	const rule, adopts = "rule adopt: the annotation poolwright.io/adopt names the mark of ", "11111111-2222-4333-8444-555555555555"
	for name, test := range map[string]struct {
		adopt, odd string
		made       bool
		want       string
	}{
		"nothing":                    {"", "", false, ""},
		"its own":                    {s.marks.Of(api.KindVolume, "data", "n1"), "", false, ""},
		"nobody's":                   {"99999999-2222-4333-8444-555555555555", "", false, ""},
		"a Volume's of this node":    {s.marks.Of(api.KindVolume, "near", "n1"), "", true, rule + "Volume/near, which exists: delete that first"},
		"a Volume's of another node": {s.marks.Of(api.KindVolume, "far", "n2"), "", false, rule + "Volume/far, which exists: delete that first"},
		"of MetalK8s":                {"uid-far", "", false, rule + "Volume/far, which exists: delete that first"},
		"adopted by another":         {adopts, "", true, rule + "Volume/near, which exists: delete that first"},
		"a VolumeGroup's":            {s.marks.Of(api.KindVolumeGroup, "fast", "n1"), "", true, rule + "VolumeGroup/fast, which exists"},
		"not understood": {"99999999-2222-4333-8444-555555555555", `,{"kind":"Volume","metadata":{"name":"odd"},"spec":{"nodeName":{}}}`, false,
			"rule adopt: Volume/odd is not understood: whether the mark 99999999-2222-4333-8444-555555555555 is its own is not known"},
	} {
		items.Store(strings.Replace(listed, "ODD", test.odd, 1))
		near, data := volumeOf("near", "n1", "uid-near", adopts), volumeOf("data", "n1", "uid-data", test.adopt)
		data.CreationTimestamp = metav1.NewTime(near.CreationTimestamp.Add(time.Second))
		s.volumes = stored(t, map[string]*api.Volume{"near": near, "data": data})
		if got := text(s.adoptable(t.Context(), data, test.made)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if test.adopt == adopts {
			if got := text(s.adoptable(t.Context(), near, true)); got != "" {
				t.Errorf("the first to adopt is refused: %s", got)
			}
		}
	}
}
