package console

import (
	"net/url"
	"strings"
	"testing"
)

const livingVolumes = `apiVersion: poolwright.io/v1alpha1
kind: Inventory
metadata:
  name: volumes
  annotations:
    config.kubernetes.io/local-config: "true"
items:
- apiVersion: storage.metalk8s.scality.com/v1alpha1
  kind: Volume
  metadata:
    name: database
  spec:
    nodeName: worker-1
    storageClassName: local
    lvmLogicalVolume:
      vgName: fast
      size: 400Gi
  status:
    conditions:
    - type: Ready
      status: "False"
      reason: CreationError
      message: mkfs failed
`

const boundVolume = `apiVersion: poolwright.io/v1alpha1
kind: Inventory
metadata:
  name: persistentvolumes
  annotations:
    config.kubernetes.io/local-config: "true"
items:
- apiVersion: v1
  kind: PersistentVolume
  metadata:
    name: database
  spec:
    claimRef:
      namespace: default
      name: data
  status:
    phase: PHASE
`

// buttons are what a page offers to press.
func buttons(e element) string {
	var texts []string
	for _, b := range e.all("main")[0].all("button") {
		texts = append(texts, b.text())
	}
	return strings.Join(texts, "|")
}

// TestGuardedDelete: a failed volume says why; one that is bound stays, and so does its group. A group with volumes in
// the cluster goes once a person has allowed that they go with it.
func TestGuardedDelete(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	take := func(phase string) {
		r.write(t, "inventory/volumes.yaml", livingVolumes)
		r.write(t, "inventory/persistentvolumes.yaml", strings.Replace(boundVolume, "PHASE", phase, 1))
		git(t, dir, "commit", "-qam", "Take the inventory")
	}
	take("Bound")
	page := parse(t, r.get(t, "/volumes/database").text)
	if alert := withRole(page, "alert"); len(alert) != 1 || !strings.Contains(alert[0].text(), "ERROR, CreationError: Is not ready: mkfs failed.") {
		t.Errorf("a failed volume: %v", alert[0].text())
	}
	for _, path := range []string{"/volumes/database/delete", "/volumegroups/fast-worker-1/delete"} {
		page := parse(t, r.get(t, path).text)
		if alert := withRole(page, "alert"); len(alert) != 1 || !strings.Contains(alert[0].text(), "default/data") || buttons(page) != "" {
			t.Errorf("%s: %q, buttons %q", path, page.all("main")[0].text(), buttons(page))
		}
		if a := r.post(t, path, url.Values{"do": {"commit"}, "csrf": {r.formToken(t)}}); a.code != 422 {
			t.Errorf("%s: posted all the same: %d", path, a.code)
		}
	}
	take("Released")
	const at = "/volumegroups/fast-worker-1/delete"
	if got := buttons(parse(t, r.get(t, at).text)); got != "Allow cascade" {
		t.Errorf("with volumes in the cluster: %q", got)
	}
	if a := r.post(t, at, url.Values{"do": {"preview"}}); a.code != 200 || !strings.Contains(a.text, "poolwright.io/cascade") {
		t.Errorf("preview: %d", a.code)
	}
	if a := r.post(t, at, url.Values{"do": {"commit"}}); a.code != 303 {
		t.Fatalf("allow: %d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	page = parse(t, r.get(t, at).text)
	if _, rows := page.table("Goes with it"); len(rows) != 2 || buttons(page) != "Preview" {
		t.Errorf("%q, buttons %q", rows, buttons(page))
	}
	if a := r.post(t, at, url.Values{"do": {"commit"}}); a.code != 303 {
		t.Errorf("delete: %d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	if !isRendered(t, dir) || git(t, dir, "log", "-1", "--format=%s") != "Delete VolumeGroup fast-worker-1" {
		t.Error(git(t, dir, "log", "-1", "--stat"))
	}
}

// formToken is one that a page of the console has.
func (r *running) formToken(t *testing.T) string {
	t.Helper()
	for _, in := range parse(t, r.get(t, "/volumegroups/new?type=device").text).all("input") {
		if in.attr("name") == "csrf" {
			return in.attr("value")
		}
	}
	t.Fatal("no token")
	return ""
}

// TestRevert: a commit is reverted by a new one, unless its files were changed again.
func TestRevert(t *testing.T) {
	dir := writable(t)
	r := serve(t, dir)
	before := git(t, dir, "rev-parse", "HEAD")
	if a := r.call(t, "POST", "/api/v1/specs", logs); a.code != 202 {
		t.Fatal(a.text)
	}
	at := "/history/" + git(t, dir, "rev-parse", "HEAD") + "/revert"
	if a := r.post(t, at, url.Values{"do": {"preview"}}); a.code != 200 || !strings.Contains(a.text, "-  name: logs") {
		t.Errorf("preview: %d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	if a := r.post(t, at, url.Values{"do": {"commit"}}); a.code != 303 {
		t.Fatalf("%d %s", a.code, parse(t, a.text).all("main")[0].text())
	}
	if got := git(t, dir, "log", "-1", "--format=%s"); got != `Revert "Add Volume logs"` || git(t, dir, "diff", "--stat", before, "HEAD") != "" || !isRendered(t, dir) {
		t.Error(got)
	}
	if a := r.post(t, at, url.Values{"do": {"commit"}}); a.code != 422 || !strings.Contains(a.text, "was changed again after this commit") {
		t.Errorf("again: %d", a.code)
	}
	if a := r.get(t, "/history/0000/revert"); a.code != 404 {
		t.Errorf("no commit: %d", a.code)
	}
}
