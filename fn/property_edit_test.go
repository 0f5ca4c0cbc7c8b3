package fn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/finding"
)

// checkEdits changes specs and facts in the ways that could lose something: other
// bounds and selectors, disks and nodes that fail or vanish, claims that are not
// in the snapshot, the other kind of disks. Either it is an error, or every disk
// stays in its place and every claim and attachment stays, but for the nodes that
// consent names.
func checkEdits(t *rapid.T, w *world, facts, lock []*krm.Object, before Result) {
	edited := &world{nodes: w.nodes, complete: map[string][]byte{}}
	allowed := map[string]bool{} // <config>-<node> that may go
	for _, o := range w.specs {
		edited.editSpec(t, w.complete[o.Name], planned(before), allowed)
	}
	changed := changeFacts(t, facts)
	after := edited.render(changed, lock)
	if finding.Failed(after.Findings) {
		return
	}
	now := uses(after)
	for device, where := range uses(before) {
		if now[device] == where {
			continue
		}
		f := strings.Fields(where)
		if now[device] != "" || !allowed[f[0]+"-"+nodeOf(w, f[1])] {
			t.Fatalf("%s was %s and is now %q; allowed is %v\n%v", device, where, now[device], slices.Sorted(maps.Keys(allowed)), after.Findings)
		}
	}
	kept := map[krm.ID]bool{}
	for _, o := range after.Objects {
		kept[o.Object.ID()] = true
	}
	for _, o := range before.Objects {
		if o.Object.Kind != "VolumeAttachment" || kept[o.Object.ID()] {
			continue
		}
		node := o.Object.Node.Str("spec", "nodeName")
		owner := strings.Split(o.Object.Owner(), "/")
		if !allowed[owner[len(owner)-1]+"-"+node] {
			t.Fatalf("%s went without consent: %v", o.Object.Ref, after.Findings)
		}
		claim := strings.TrimPrefix(o.Object.Name, "openebs-")
		if kept[krm.ID{Kind: "PersistentVolumeClaim", Namespace: "openebs", Name: claim}] {
			t.Fatalf("%s went and its claim stays", o.Object.Ref)
		}
	}
	if len(w.specs) > 1 {
		// What one spec releases, another may take, but not in the same run.
		after = edited.render(changed, reread(t, after))
		if finding.Failed(after.Findings) {
			return
		}
	}
	if again := edited.render(changed, reread(t, after)); !finding.Failed(again.Findings) && text(again) != text(after) {
		t.Fatalf("rendering twice after an edit changes the output from\n%s\nFirst:  %v\nSecond: %v", difference(text(after), text(again)), after.Findings, again.Findings)
	}
}

// difference shows where two outputs part.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	start := max(0, strings.LastIndex(a[:i], "--- "))
	return a[start:min(len(a), i+300)] + "\nto\n" + b[start:min(len(b), i+300)]
}

func nodeOf(w *world, hostname string) string {
	for _, n := range w.nodes {
		if n.Label(inventory.LabelHostname) == hostname {
			return n.Name
		}
	}
	return hostname
}

// editSpec takes a spec over with changes, and perhaps consent for some nodes.
func (w *world) editSpec(t *rapid.T, completed []byte, nodes []string, allowed map[string]bool) {
	var content map[string]any
	if err := json.Unmarshal(completed, &content); err != nil {
		t.Fatal(err)
	}
	meta, spec := content["metadata"].(map[string]any), content["spec"].(map[string]any)
	disk, pool := spec["diskConfig"].(map[string]any), spec["poolConfig"].(map[string]any)
	switch rapid.IntRange(0, 9).Draw(t, "edit") {
	case 0:
		spec["minPoolCount"] = rapid.IntRange(1, 4).Draw(t, "new min")
	case 1:
		listed, _ := spec["pools"].([]any)
		spec["minPoolCount"], spec["maxPoolCount"] = 1, max(len(listed), rapid.IntRange(1, 3).Draw(t, "new max"))
	case 2:
		spec["allowedNodes"] = map[string]any{"nodeSelectorTerms": []any{map[string]any{"matchLabels": map[string]any{"pool": "b"}}}}
	case 3:
		disk["minCount"] = int(disk["minCount"].(float64)) * 2
		if pool["raidType"] == "stripe" {
			disk["groupSize"] = disk["minCount"]
		}
	case 4:
		pool["spare"] = rapid.IntRange(0, 1).Draw(t, "new spare")
		delete(pool, "writeCache")
	case 5:
		delete(pool, "writeCache")
		if disk["local"] != nil {
			delete(disk, "local")
			disk["externalProvisioner"] = map[string]any{"csiAttacherName": "csi.example.com", "storageClassName": "fast"}
		} else {
			delete(disk, "externalProvisioner")
			disk["local"] = map[string]any{}
		}
	case 6, 7:
		w.editListed(t, spec)
	}
	var consent []string
	for _, n := range nodes {
		config, node, _ := strings.Cut(n, "/")
		if config == meta["name"] && rapid.IntRange(0, 3).Draw(t, "consent") == 0 {
			consent = append(consent, fmt.Sprintf("CStorClusterStorageSet/%s-%s", config, node))
			allowed[config+"-"+node] = true
		}
	}
	meta["annotations"] = map[string]any{krm.AnnotationAllowRemoval: strings.Join(consent, ",")}
	w.specs = append(w.specs, object(t, content))
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	w.complete[meta["name"].(string)] = text
}

// changeFacts lets disks fail, and leaves nodes, disks and claims out.
func changeFacts(t *rapid.T, facts []*krm.Object) []*krm.Object {
	changed := make([]*krm.Object, 0, len(facts))
	for _, o := range facts {
		switch fate := rapid.IntRange(0, 19).Draw(t, "fate"); {
		case fate == 0:
		case fate == 1 && o.Kind == "BlockDevice":
			failed := strings.Replace(string(o.Source.Data), `"state":"Active"`, `"state":"Inactive"`, 1)
			var content map[string]any
			if err := json.Unmarshal([]byte(failed), &content); err != nil {
				t.Fatal(err)
			}
			changed = append(changed, object(t, content))
		default:
			changed = append(changed, o)
		}
	}
	return changed
}
