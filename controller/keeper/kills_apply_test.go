package keeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/test/gitserver"
)

// killedApply is mode Apply. Beside the Volumes of a template there are the locks of Volumes that a person wrote.
type killedApply struct {
	k      kube
	team   string
	server *gitserver.Server

	mu      sync.Mutex // people act while the controller runs
	size    int
	written int      // Volumes of a person, ever
	files   []string // those that are there
	theirs  []string // commits of people
	nodes   []string
	uids    map[string]types.UID
	digest  string // that was published before
	early   []string
}

func applied(kind string) schema.GroupVersionResource {
	if kind == "VolumeLock" {
		return schema.GroupVersionResource{Group: "poolwright.io", Version: "v1alpha1", Resource: "volumelocks"}
	}
	return schema.GroupVersionResource{Group: "storage.metalk8s.scality.com", Version: "v1alpha1", Resource: "volumes"}
}

// text is the template: its name is that of the team, since Volumes are in no namespace. The removal of gone is
// allowed, "" for none.
func (m *killedApply) text(gone string) string {
	named := "name: " + m.team + "\n"
	if gone != "" {
		named += "  annotations: {poolwright.io/allow-removal: '" + gone + "'}\n"
	}
	text := strings.Replace(filesOf(m.team)[dir+"/logs.yaml"], "name: logs\n", named, 1)
	return strings.Replace(text, "1Gi", fmt.Sprintf("%dGi", 1+m.size), 1)
}

func (m *killedApply) begin(t *testing.T, k kube, team string, trap *trap) {
	m.k, m.team, m.uids = k, team, map[string]types.UID{}
	m.nodes = []string{team + "-0"}
	m.server = gitserver.New(t, map[string]string{dir + "/logs.yaml": m.text("")})
	m.theirs = []string{m.server.Head(t, "main")}
	hydrate(t, k, m.server, team, "prod")
	k.patch(t, team, "prod", `{"spec":{"publish":{"mode":"Apply"}}}`)
	m.server.Watch(func(_ http.ResponseWriter, r *http.Request) bool {
		if trap.springs(r, m.server) {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	trap.look = func(r *http.Request) {
		if r.Method == http.MethodDelete {
			m.removing(t, r.URL.Path)
		}
	}
	m.agent(t)
	t.Cleanup(func() {
		for _, kind := range []string{"Volume", "VolumeLock"} {
			for _, o := range m.live(t, kind) {
				if err := k.Resource(applied(kind)).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// agent makes the Volumes ready, some time after they were applied, until the test ends.
func (m *killedApply) agent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		working.Wait()
	})
	client := m.k.Resource(applied("Volume"))
	working.Go(func() {
		random := rand.New(rand.NewPCG(1, 1))
		for ctx.Err() == nil {
			list, err := client.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for i := range list.Items {
				if o := &list.Items[i]; strings.HasPrefix(o.GetName(), m.team+"-") && !isReady(o) {
					ready := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":%q,"lastUpdateTime":%[1]q}]}}`, time.Now().UTC().Format(time.RFC3339))
					if _, err := client.Patch(ctx, o.GetName(), types.MergePatchType, []byte(ready), metav1.PatchOptions{}, "status"); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			}
			time.Sleep(time.Duration(50+random.IntN(300)) * time.Millisecond)
		}
	})
}

func isReady(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return len(conditions) > 0
}

// live are the objects that were applied, by name.
func (m *killedApply) live(t *testing.T, kind string) map[string]*unstructured.Unstructured {
	list, err := m.k.Resource(applied(kind)).List(context.Background(), metav1.ListOptions{LabelSelector: "applyset.kubernetes.io/part-of"})
	if err != nil {
		t.Error(err)
		return nil
	}
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		if o := &list.Items[i]; o.GetAnnotations()["poolwright.io/hydration"] == m.team+"/prod" {
			found[o.GetName()] = o
		}
	}
	return found
}

// removing is called before an object is removed: those of all nodes have to be ready.
func (m *killedApply) removing(t *testing.T, path string) {
	if why := m.missing(t); why != "" && strings.Contains(path, "/volumes/") {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.early = append(m.early, path+" is removed before "+why)
	}
}

// missing says which Volume is not there or not ready.
func (m *killedApply) missing(t *testing.T) string {
	m.mu.Lock()
	nodes := slices.Clone(m.nodes)
	m.mu.Unlock()
	volumes := m.live(t, "Volume")
	for _, node := range nodes {
		if o := volumes[m.team+"-"+node]; o == nil {
			return "there is a Volume for " + node
		} else if !isReady(o) {
			return "that for " + node + " is ready"
		}
	}
	return ""
}

func (m *killedApply) requests() []request {
	write := func(resource string) func(r *http.Request) bool {
		return func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/"+resource+"/") && !strings.HasSuffix(r.URL.Path, "/status") && !r.URL.Query().Has("dryRun")
		}
	}
	return []request{
		{"an object", 3, write("volumes")}, {"an object", 1, write("volumes")}, {"a lock", 2, write("volumelocks")}, {"the set", 2, write("hydrations")},
		{"a removal", 2, func(r *http.Request) bool { return r.Method == http.MethodDelete }},
		{"a dry run", 4, func(r *http.Request) bool { return r.URL.Query().Has("dryRun") }},
	}
}

func (m *killedApply) joined(t *testing.T, nodes []string) {
	m.digest = m.k.get(t, m.team, "prod").Status.Published.Digest
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes = slices.Clone(nodes)
}

func (m *killedApply) act(t *testing.T, random *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := map[string]string{}
	switch what := random.IntN(6); {
	case what == 0:
		m.size++
		changed[dir+"/logs.yaml"] = m.text(m.gone(t))
	case what < 4:
		changed[dir+"/logs.yaml"] = m.text(m.gone(t))
	case what == 4 && len(m.files) > 0:
		changed[m.files[0]] = ""
		m.files = m.files[1:]
	default:
		m.written++
		m.files = append(m.files, fmt.Sprintf("%s/volume-%d.yaml", dir, m.written))
		changed[m.files[len(m.files)-1]] = fmt.Sprintf(
			"apiVersion: storage.metalk8s.scality.com/v1alpha1\nkind: Volume\nmetadata: {name: by-hand-%s-%d}\nspec: {nodeName: %[1]s-0, storageClassName: local, sparseLoopDevice: {size: 1Gi}}\n", m.team, m.written)
	}
	m.theirs = append(m.theirs, m.server.Commit(t, "main", "of a person", changed))
}

// gone are the Volumes whose nodes are gone, as a person names them who allows their removal.
func (m *killedApply) gone(t *testing.T) string {
	var names []string
	for name := range m.live(t, "Volume") {
		if !slices.Contains(m.nodes, strings.TrimPrefix(name, m.team+"-")) {
			names = append(names, "Volume/"+name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// holds: the Hydration names the kind of each object that was applied; none was made again, or removed too early;
// what the status calls published is there. Nothing is committed.
func (m *killedApply) holds(t *testing.T) {
	h := m.k.get(t, m.team, "prod")
	kinds := strings.Split(h.Metadata.Annotations["applyset.kubernetes.io/contains-group-kinds"], ",")
	for _, kind := range []string{"Volume", "VolumeLock"} {
		live := m.live(t, kind)
		if name := kind + "." + applied(kind).Group; len(live) > 0 && !slices.Contains(kinds, name) {
			t.Errorf("there are %d members of kind %s, and the Hydration has the kinds %q", len(live), name, kinds)
		}
		for name, o := range live {
			uid, known := m.uids[kind+"/"+name]
			if m.uids[kind+"/"+name] = o.GetUID(); known && uid != o.GetUID() {
				t.Errorf("%s %s was made again", kind, name)
			}
		}
	}
	if digest := h.Status.Published.Digest; digest != m.digest {
		if why := m.missing(t); why != "" {
			t.Errorf("published is %s, before %s", digest, why)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, why := range m.early {
		t.Error(why)
	}
	if all := strings.Fields(m.server.Git(t, "rev-list", "main")); len(all) != len(m.theirs) {
		t.Errorf("the commits are %q, and those of people %q", all, m.theirs)
	}
}

func (m *killedApply) settle(t *testing.T, k kube, team string) {
	m.mu.Lock()
	m.theirs = append(m.theirs, m.server.Commit(t, "main", "of a person", map[string]string{dir + "/logs.yaml": m.text(m.gone(t))}))
	m.mu.Unlock()
	var h *hydrations.Hydration
	await(t, "nothing is left to apply", func() bool {
		h = k.reconcile(t, team, "prod")
		return h.Status.Condition("Ready").Reason == "UpToDate"
	})
	volumes := m.live(t, "Volume")
	if len(volumes) != len(m.nodes) {
		t.Errorf("there are %d Volumes for the nodes %q", len(volumes), m.nodes)
	}
	for name, o := range volumes {
		size, _, _ := unstructured.NestedString(o.Object, "spec", "sparseLoopDevice", "size")
		if want := fmt.Sprintf("%dGi", 1+m.size); size != want || !slices.Contains(m.nodes, strings.TrimPrefix(name, m.team+"-")) {
			t.Errorf("%s has %s, and the spec %s", name, size, want)
		}
	}
	if locks := m.live(t, "VolumeLock"); len(locks) != len(m.files) {
		t.Errorf("there are %d locks for %d Volumes", len(locks), len(m.files))
	}
}
