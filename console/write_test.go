package console

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/systems"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema"
)

// call sends a body as a program does.
func (r *running) call(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/yaml")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	return read(t, stranger(), req)
}

func read(t *testing.T, client *http.Client, req *http.Request) answer {
	t.Helper()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// post sends a form as the browser does, with the token of the page unless one is given.
func (r *running) post(t *testing.T, path string, values url.Values) answer {
	t.Helper()
	if values.Get("csrf") == "" {
		page := parse(t, r.get(t, path+"?"+url.Values{"type": {values.Get("type")}, "kind": {values.Get("kind")}}.Encode()).text)
		for _, in := range page.all("input") {
			if name := in.attr("name"); name == "csrf" || name == "etag" && values.Get("etag") == "" {
				values.Set(name, in.attr("value"))
			}
		}
	}
	req, err := http.NewRequest("POST", r.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", r.url)
	return read(t, r.client, req)
}

// writable is a package of which Git knows the author, with facts that say that no PersistentVolume is there.
func writable(t *testing.T) string {
	dir := copied(t, "../examples/localvolumes")
	git(t, dir, "config", "user.name", "Ann")
	git(t, dir, "config", "user.email", "ann@example.com")
	for _, plural := range []string{"persistentvolumes", "volumes"} {
		text := "apiVersion: poolwright.io/v1alpha1\nkind: Inventory\nmetadata:\n  name: " + plural + "\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems: []\n"
		if err := os.WriteFile(filepath.Join(dir, "inventory", plural+".yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "Take the inventory")
	return dir
}

// isRendered reports whether render --check is green on the commit alone.
func isRendered(t *testing.T, dir string) bool {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, dir, "clone", "-q", ".", clone)
	function := fn.New(schema.Load(), systems.All()...)
	pkg, found, err := folder.Read(folder.Input{Dir: clone, Refuse: function.RefuseNested})
	if err != nil {
		t.Fatal(err)
	}
	result := pkg.Render(function, found)
	plan, err := folder.NewPlan(filepath.Join(clone, "rendered"), result.Objects, pkg)
	return err == nil && result.Objects != nil && len(plan.Changes) == 0
}

const logs = "# The logs.\napiVersion: storage.metalk8s.scality.com/v1alpha1\nkind: Volume\nmetadata:\n  name: logs\nspec:\n  nodeName: worker-1\n  storageClassName: local\n  lvmLogicalVolume:\n    vgName: fast\n    size: 50Gi # for a week\n"

// TestWriteAPI is the course of a spec: added, read, changed and deleted, each one commit on which nothing is left to
// render, with what is staged left alone.
func TestWriteAPI(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	before := git(t, dir, "rev-parse", "HEAD")
	const at = "/api/v1/specs/Volume/-/logs"
	preview := r.call(t, "POST", "/api/v1/specs?dryRun=true", logs)
	if got := decode(t, preview.text); preview.code != 200 || !strings.Contains(got["diff"].(string), "+  name: logs") || got["plan"].(map[string]any)["risk"] != "safe" || got["findings"] == nil {
		t.Errorf("preview: %d %s", preview.code, preview.text)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != before || git(t, dir, "status", "--short") != "" {
		t.Fatal("a preview wrote")
	}
	r.write(t, "notes.txt", "mine\n")
	git(t, dir, "add", "notes.txt")
	a := r.call(t, "POST", "/api/v1/specs", logs)
	made := decode(t, a.text)
	if a.code != 202 || made["subject"] != "Add Volume logs" || made["risk"] != "safe" || made["pullRequest"] != nil || made["commit"] != git(t, dir, "rev-parse", "HEAD") {
		t.Fatalf("add: %d %s", a.code, a.text)
	}
	if got := git(t, dir, "show", "--format=%an <%ae>%n%B", "--name-only", "HEAD"); got != "Ann <ann@example.com>\nAdd Volume logs\n\n2 to create, 0 to change, 0 to remove; all safe; 1 in Git only\n\nPoolwright-Risk: safe\n\n\nrendered/kustomization.yaml\nrendered/volume.logs/volumelock.yaml\nvolumes/kustomization.yaml\nvolumes/volume-logs.yaml" {
		t.Errorf("the commit:\n%s", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "volumes/volume-logs.yaml")); err != nil || string(text) != logs {
		t.Errorf("%v, the file:\n%s", err, text)
	}
	if got := git(t, dir, "status", "--short"); got != "A  notes.txt" {
		t.Errorf("status: %q", got)
	}
	if !isRendered(t, dir) {
		t.Error("render --check fails on the commit")
	}
	if a := r.call(t, "POST", "/api/v1/specs", logs); a.code != 409 || decode(t, a.text)["code"] != "exists" {
		t.Errorf("again: %d %s", a.code, a.text)
	}

	got := r.call(t, "GET", at, "")
	tag := got.header.Get("ETag")
	if got.code != 200 || tag == "" || decode(t, got.text)["kind"] != "Volume" {
		t.Fatalf("get: %d %s", got.code, got.text)
	}
	larger := strings.Replace(got.text, "50Gi", "60Gi", 1)
	if a := r.call(t, "PUT", at, larger, "Content-Type: application/json"); a.code != 428 {
		t.Errorf("without If-Match: %d", a.code)
	}
	if a := r.call(t, "PUT", at, larger, "Content-Type: application/json", `If-Match: "x"`); a.code != 412 || decode(t, a.text)["code"] != "stale" {
		t.Errorf("stale: %d %s", a.code, a.text)
	}
	if a := r.call(t, "PUT", at, larger, "Content-Type: application/json", "If-Match: "+tag); a.code != 202 || decode(t, a.text)["subject"] != "Change Volume logs" {
		t.Errorf("put: %d %s", a.code, a.text)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "volumes/volume-logs.yaml")); string(text) != strings.Replace(logs, "50Gi", "60Gi", 1) {
		t.Errorf("a change keeps comments:\n%s", text)
	}
	tag = r.call(t, "GET", at, "").header.Get("ETag")
	if a := r.call(t, "DELETE", at, "", "If-Match: "+tag); a.code != 202 || decode(t, a.text)["subject"] != "Delete Volume logs" {
		t.Errorf("delete: %d %s", a.code, a.text)
	}
	if got := git(t, dir, "diff", "--stat", before, "HEAD"); got != "" || !isRendered(t, dir) {
		t.Errorf("not as before:\n%s", got)
	}
}

// TestWriteRefused is what is refused, and how; nothing is written.
func TestWriteRefused(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	tag := r.call(t, "GET", "/api/v1/specs/VolumeGroup/-/fast-worker-1", "").header.Get("ETag")
	before := git(t, dir, "rev-parse", "HEAD")
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		problem, detail          string
	}{
		{"more than there is", "POST", "/api/v1/specs", strings.Replace(logs, "50Gi", "5Ti", 1), nil, 422, "findings", "fast on worker-1 has 394.2Gi free"},
		{"a group that is used", "DELETE", "/api/v1/specs/VolumeGroup/-/fast-worker-1", "", []string{"If-Match: " + tag}, 422, "findings", "take them out first"},
		{"no YAML", "POST", "/api/v1/specs", "a: [", nil, 400, "bad-request", "line "},
		{"no spec", "POST", "/api/v1/specs", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", nil, 400, "bad-request", "ConfigMap is no kind of spec"},
		{"two", "POST", "/api/v1/specs", logs + "---\n" + logs, nil, 400, "bad-request", "there are 2 objects; send one"},
		{"no type", "POST", "/api/v1/specs", logs, []string{"Content-Type: text/plain"}, 415, "media-type", "send application/json"},
		{"too large", "POST", "/api/v1/specs", logs + strings.Repeat("#\n", 1<<19), nil, 413, "too-large", "1Mi"},
		{"a path out of the package", "POST", "/api/v1/specs", strings.Replace(logs, "name: logs", "name: ../../logs", 1), nil, 422, "findings", "cannot be part of the name of a file"},
		{"another name", "PUT", "/api/v1/specs/Volume/-/queue", logs, []string{"If-Match: *"}, 400, "bad-request", "the path names Volume queue"},
		{"not there", "DELETE", "/api/v1/specs/Volume/-/quee", "", []string{"If-Match: *"}, 404, "not-found", `did you mean "queue"?`},
	} {
		a := r.call(t, c.method, c.path, c.body, c.headers...)
		var p problem
		if err := json.Unmarshal([]byte(a.text), &p); err != nil || a.code != c.code || p.Code != c.problem || !strings.Contains(p.Detail, c.detail) || p.Findings == nil {
			t.Errorf("%s: %v %d %s", c.name, err, a.code, a.text)
		}
	}
	r.write(t, "volumes/volumes.yaml", "# mine\n")
	if a := r.call(t, "POST", "/api/v1/specs", logs); a.code != 409 || decode(t, a.text)["code"] != "dirty" || !strings.Contains(a.text, "volumes/volumes.yaml") {
		t.Errorf("dirty: %d %s", a.code, a.text)
	}
	git(t, dir, "checkout", "-q", "volumes/volumes.yaml")
	git(t, dir, "checkout", "-q", "--detach")
	if a := r.call(t, "POST", "/api/v1/specs", logs); a.code != 409 || decode(t, a.text)["code"] != "read-only" || !strings.Contains(a.text, "HEAD is detached") {
		t.Errorf("detached: %d %s", a.code, a.text)
	}
	git(t, dir, "checkout", "-q", "main")
	if now := git(t, dir, "rev-parse", "HEAD"); now != before || git(t, dir, "status", "--short") != "" {
		t.Error("something was written")
	}
	if a := r.call(t, "DELETE", "/api/v1/specs/VolumeGroup/-/fast-worker-1?cascade=true", "", "If-Match: "+tag); a.code != 202 {
		t.Errorf("with its volumes: %d %s", a.code, a.text)
	}
	if got := git(t, dir, "ls-files", "volumes"); got != "volumes/class.yaml\nvolumes/kustomization.yaml\nvolumes/volumes.yaml" {
		t.Error(got)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "volumes/volumes.yaml")); strings.Contains(string(text), "fast") || !strings.Contains(string(text), "# A whole disk, for those who bring their own filesystem.") || !isRendered(t, dir) {
		t.Errorf("what is left:\n%s", text)
	}
}

// TestVolumeForm: the form says what is free, refuses more, previews, and commits.
func TestVolumeForm(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	if links := parse(t, r.get(t, "/volumes/new").text).all("main")[0].all("a"); len(links) != 5 {
		t.Errorf("%d types", len(links))
	}
	page := parse(t, r.get(t, "/volumes/new?type=lvm").text)
	var labels []string
	for _, l := range page.all("main")[0].all("label") {
		labels = append(labels, l.text())
	}
	if got := strings.Join(labels, "|"); got != "Name|Volume Group|Size|Storage class|Mode|Labels" {
		t.Error(got)
	}
	if got := page.all("option")[0].text(); got != "fast on worker-1, 394.2Gi free" {
		t.Error(got)
	}
	if form := page.all("main")[0].all("form")[0]; !hasAttr(form, "novalidate") {
		t.Error("the form validates")
	}
	values := func(do, size string) url.Values {
		return url.Values{"type": {"lvm"}, "name": {"logs"}, "group": {"fast-worker-1"}, "size": {size}, "class": {"local"}, "mode": {"Filesystem"}, "labels": {"tier=fast"}, "do": {do}}
	}
	a := r.post(t, "/volumes/new", values("preview", "5Ti"))
	page = parse(t, a.text)
	alert := withRole(page, "alert")
	if a.code != 422 || len(alert) != 1 || !strings.Contains(alert[0].text(), "394.2Gi") {
		t.Errorf("too much: %d %v", a.code, alert)
	}
	for _, in := range page.all("input") {
		if in.attr("name") == "size" && (in.attr("aria-invalid") != "true" || !strings.Contains(in.attr("aria-describedby"), "e-size") || in.attr("value") != "5Ti") {
			t.Errorf("the field: %v", in.Attr)
		}
	}
	head := git(t, dir, "rev-parse", "HEAD")
	a = r.post(t, "/volumes/new", values("preview", "50Gi"))
	if a.code != 200 || !strings.Contains(a.text, "size: 50Gi") || !strings.Contains(a.text, ">Commit</button>") || git(t, dir, "rev-parse", "HEAD") != head {
		t.Errorf("preview: %d\n%s", a.code, a.text)
	}
	a = r.post(t, "/volumes/new", values("commit", "50Gi"))
	head = git(t, dir, "rev-parse", "HEAD")
	if a.code != 303 || a.header.Get("Location") != "/volumes/logs?committed="+head {
		t.Fatalf("commit: %d %v\n%s", a.code, a.header, a.text)
	}
	page = parse(t, r.get(t, a.header.Get("Location")).text)
	if status := withRole(page, "status"); len(status) != 1 || !strings.Contains(status[0].text(), "Committed "+head[:7]+": Add Volume logs. Next: push") {
		t.Errorf("status %v", status)
	}
	if !isRendered(t, dir) {
		t.Error("render --check fails")
	}
	a = r.post(t, "/volumes/logs/delete", url.Values{"do": {"commit"}})
	if a.code != 303 || a.header.Get("Location") != "/volumes?committed="+git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("delete: %d\n%s", a.code, a.text)
	}
}

func hasAttr(e element, name string) bool {
	for _, a := range e.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// TestGroupForm: a group of the disks that are chosen, and a volume of a whole disk.
func TestGroupForm(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	a := r.post(t, "/volumegroups/new", url.Values{"type": {"device"}, "name": {"slow"}, "node": {"worker-1"}, "device": {"worker-1/ZA1DAT01"}, "do": {"commit"}})
	if a.code != 303 {
		t.Fatalf("%d\n%s", a.code, parse(t, a.text).all("main")[0].text())
	}
	a = r.post(t, "/volumes/new", url.Values{"type": {"disk"}, "name": {"whole"}, "node": {"worker-3"}, "device": {"worker-3/ZA1DAT03"}, "class": {"local"}, "mode": {"Block"}, "do": {"commit"}})
	if a.code != 303 {
		t.Fatalf("%d\n%s", a.code, parse(t, a.text).all("main")[0].text())
	}
	_, rows := parse(t, r.get(t, "/volumegroups").text).table("Volume Groups")
	if len(rows) != 2 || strings.Join(rows[1], "|") != "slow|worker-1|3.639Ti|3.639Ti|/dev/sdb|-|PROGRESSING" {
		t.Errorf("%q", rows)
	}
	for _, values := range []url.Values{
		{"type": {"device"}, "name": {"taken"}, "node": {"worker-1"}, "device": {"worker-1/S4YPNE0N200417"}, "do": {"preview"}},
		{"type": {"device"}, "name": {"elsewhere"}, "node": {"worker-2"}, "device": {"worker-3/S4YPNE0N200419"}, "do": {"preview"}},
		{"type": {"device"}, "name": {"none"}, "node": {"worker-1"}, "do": {"preview"}},
	} {
		if a := r.post(t, "/volumegroups/new", values); a.code != 422 || len(withRole(parse(t, a.text), "alert")) != 1 {
			t.Errorf("%v: %d", values, a.code)
		}
	}
	a = r.post(t, "/volumegroups/fast-worker-1/delete", url.Values{"do": {"preview"}})
	columns, rows := parse(t, a.text).table("Goes with it")
	if a.code != 200 || strings.Join(columns, "|") != "Volume|Claim|Data" || len(rows) != 2 {
		t.Errorf("%d %q %q", a.code, columns, rows)
	}
}

// TestYAMLForm: an edit by its text, a mistake at its line, and somebody who was faster.
func TestYAMLForm(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	const at = "/specs/Volume/-/queue/yaml"
	text := strings.Replace(strings.Replace(logs, "name: logs", "name: queue", 1), "50Gi", "120Gi", 1)
	if a := r.post(t, at, url.Values{"yaml": {"a: [\n"}, "do": {"preview"}}); a.code != 422 || !strings.Contains(a.text, "line ") {
		t.Errorf("mistake: %d", a.code)
	}
	if a := r.post(t, at, url.Values{"yaml": {text}, "etag": {`"old"`}, "do": {"commit"}}); a.code != 412 || !strings.Contains(a.text, "The spec now, and as typed") || !strings.Contains(a.text, "120Gi") {
		t.Errorf("stale: %d", a.code)
	}
	if a := r.post(t, at, url.Values{"yaml": {text}, "csrf": {"old"}, "etag": {"x"}, "do": {"commit"}}); a.code != 403 || !strings.Contains(a.text, "120Gi") || !strings.Contains(a.text, `target="_blank">Sign in`) {
		t.Errorf("an old page: %d", a.code)
	}
	if a := r.post(t, at, url.Values{"yaml": {text}, "do": {"commit"}}); a.code != 303 {
		t.Errorf("commit: %d\n%s", a.code, parse(t, a.text).all("main")[0].text())
	}
	jar := r.client
	r.client = stranger()
	if a := r.post(t, at, url.Values{"yaml": {text}, "csrf": {"x"}, "do": {"commit"}}); a.code != 401 || !strings.Contains(a.text, "120Gi") || !strings.Contains(a.text, `target="_blank">Sign in`) {
		t.Errorf("nobody: %d", a.code)
	}
	r.client = jar
	if !isRendered(t, dir) {
		t.Error("render --check fails")
	}
}

// TestSpecForm: the form of a spec comes from the definition of its kind: paths as labels, help, defaults and values, and
// consent last. What is not changed keeps its bytes.
func TestSpecForm(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	page := parse(t, r.get(t, "/specs/new").text)
	if text := page.all("main")[0].text(); !strings.Contains(text, "CStorClusterConfig The storage intent of one cStor cluster") || !strings.Contains(text, "VolumeGroup") {
		t.Error(text)
	}
	page = parse(t, r.get(t, "/specs/new?kind=CStorClusterConfig").text)
	fields := map[string]element{}
	for _, field := range append(page.all("input"), append(page.all("select"), page.all("textarea")...)...) {
		fields[field.attr("name")] = field
	}
	raid := fields["spec.poolConfig.raidType"]
	if raid.Node == nil || raid.text() != "not set mirror stripe raidz raidz2" && !strings.Contains(raid.text(), "mirror") {
		t.Fatalf("raidType: %v", raid)
	}
	sets := page.all("fieldset")
	if n := len(sets); n == 0 || sets[n-1].all("legend")[0].text() != "Consent" || !strings.Contains(sets[n-1].text(), "metadata.annotations[poolwright.io/allow-removal] Consent to lose") {
		t.Error("no consent")
	}
	if a := r.get(t, "/specs/new?kind=CStorClusterConfg"); a.code != 404 || !strings.Contains(a.text, "did you mean") {
		t.Errorf("a kind that is none: %d", a.code)
	}
	a := r.post(t, "/specs/new", url.Values{"kind": {"CStorClusterConfig"}, "metadata.name": {"pools"}, "metadata.namespace": {"openebs"}, "spec.poolConfig.raidType": {"raidz9"}, "do": {"preview"}})
	page = parse(t, a.text)
	for _, field := range page.all("select") {
		if field.attr("name") == "spec.poolConfig.raidType" && (field.attr("aria-invalid") != "true" || a.code != 422) {
			t.Errorf("%d: %v", a.code, field.Attr)
		}
	}
	const at = "/specs/VolumeGroup/-/fast-worker-1"
	a = r.post(t, at, url.Values{"spec.tags": {"tier: faster"}, "do": {"preview"}})
	if a.code != 200 || !strings.Contains(parse(t, a.text).text(), "+ tier: faster") || strings.Contains(parse(t, a.text).text(), "- name: fast") {
		t.Errorf("%d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	if a = r.post(t, at, url.Values{"metadata.annotations[poolwright.io/cascade]": {"true"}, "do": {"commit"}}); a.code != 303 {
		t.Fatalf("%d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	text, err := os.ReadFile(filepath.Join(dir, "volumes/group.yaml"))
	if err != nil || !strings.Contains(string(text), "  annotations:\n    poolwright.io/cascade: \"true\"\n") || !strings.HasPrefix(string(text), "# The NVMe drive of worker-1, in slices.\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
