package hydration

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// JudgeApplied renders a package whose output is applied: the lock is what a cluster has of it, and
// an output in the package counts for nothing. The error is a *Refusal.
func JudgeApplied(function *fn.Function, p Package, f Facts, lock []*krm.Object) (*Judgement, error) {
	j := &Judgement{Facts: f.Digest}
	next, err := j.take(p, f)
	if err != nil {
		return nil, err
	}
	next.Files = maps.Clone(next.Files)
	maps.DeleteFunc(next.Files, func(name string, _ []byte) bool { return strings.HasPrefix(name, fn.RenderedFolder+"/") })
	pkg, findings, err := folder.Read(folder.Input{Dir: ".", Memory: next.memory(), Refuse: function.RefuseNested})
	if err != nil {
		return nil, refuse(ReasonInvalid, "%s: %v", p.Dir, err)
	}
	pkg.Lock = lock
	in := pkg.Input()
	in.Applied = true
	var result fn.Result
	if finding.Failed(findings) {
		result.Findings = function.Vet(in)
	} else {
		result = function.Render(in)
	}
	result.Findings = append(result.Findings, findings...)
	j.Findings = finding.Sort(pkg.WithoutSpec(function, p.Dir, result.Findings, finding.Error))
	j.Plan = plan.Plan{Against: "the cluster", Findings: j.Findings, Transitions: result.Transitions}
	if j.Failed() {
		return j, nil
	}
	j.Objects, j.Hard = result.Objects, result.Hard
	wanted := map[krm.ID]bool{}
	for _, o := range result.Output() {
		wanted[o.ID()] = true
	}
	for _, o := range lock {
		if !wanted[o.ID()] {
			j.Removed = append(j.Removed, o)
		}
	}
	j.Plan.Changes = function.Assess(in, result.Facts, change.Between(lock, result.Output()))
	j.Output = digestOf(result.Output())
	return j, nil
}

// digestOf is the same for objects that say the same, whatever the order of their keys.
func digestOf(objects []*krm.Object) string {
	files := make(map[string][]byte, len(objects))
	for _, o := range objects {
		var value any
		text := document.AppendJSON(nil, o.Node)
		if err := json.Unmarshal(text, &value); err == nil {
			text, _ = json.Marshal(value) // what was read can be written
		}
		id := o.ID()
		files[path.Join(id.Group, id.Kind, id.Namespace, id.Name)] = text
	}
	return Digest(files)
}

// Lock is an object of a cluster as part of a lock, reduced to what was applied. Messages name it by
// its kind and name.
func Lock(object *krm.Object) *krm.Object {
	id := object.ID()
	name := strings.Join(slices.DeleteFunc([]string{"cluster", id.Namespace, strings.ToLower(id.Kind), id.Name}, func(s string) bool { return s == "" }), "/")
	text := document.Append(nil, object.Node, 0)
	objects, err := krm.Parse(&document.Source{Name: name, Data: text})
	if err != nil || len(objects) != 1 {
		object.Raw = text
		return object
	}
	return objects[0]
}
