// Package fn is the Poolwright function: what a spec becomes. It is pure: it
// reads no file, cluster, clock or environment, so the same input always gives
// the same bytes.
//
// The path of the data is the same for every system:
//
//	read -> classify -> complete -> place -> render -> protect -> reconcile -> write
//
// Reading and writing is done by the caller (a folder, a ResourceList, a
// kustomization); place and render by the system a spec belongs to.
package fn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Package is the input of a render.
type Package struct {
	Objects []*krm.Object // everything outside the output folder: specs, facts, and what is not ours
	Output  []*krm.Object // what the output folder holds: the lock
	Config  *krm.Object   // the functionConfig, or nil
	Live    []*krm.Object // what a cluster has now, in the place of the facts among Objects; nil for those
	Partial bool          // there may be more manifests than these: items of kustomize, or one file of a folder
	Applied bool          // all of the output goes to a cluster: intermediates of the RenderConfig count as apply
}

// Rendered is one object of the output and its file, relative to the output
// folder.
type Rendered struct {
	Path   string
	Object *krm.Object
	Stage  int      // those of a spec with a lower one are applied, and ready, before
	Needs  []krm.ID // what has to be there, and ready, before
}

// Result is what a render gives. Where a finding is an error, Objects is nil
// and the old output stays.
type Result struct {
	Objects  []Rendered // in the order in which they are to be written
	Findings []finding.Finding
	Choices  []place.Choice
	Facts    *inventory.Facts // what the inventory shows, for Assess
	// Transitions are those that take more than one render, or are under way.
	Transitions []transition.Transition
	// Hard says that no engine is to delete what holds data, not even with consent (RenderConfig).
	Hard bool
}

// Output lists the objects.
func (r Result) Output() []*krm.Object {
	objects := make([]*krm.Object, len(r.Objects))
	for i := range r.Objects {
		objects[i] = r.Objects[i].Object
	}
	return objects
}

// MaxSpec is the size of the largest document that may be a spec or a RenderConfig, in bytes.
const MaxSpec = 1 << 20

// Render turns the specs of a package into everything that they need.
func (f *Function) Render(p Package) Result { return f.prepare(p).render() }

// Vet checks the documents of a package without rendering them. What is applied as it stands
// becomes nothing else: of that all is said that there is to say, and of what a template gives to
// such objects, too.
func (f *Function) Vet(p Package) []finding.Finding {
	pkg := f.prepare(p)
	checked := func(o *krm.Object) bool {
		return f.kinds.IsApplied(o.GroupKind()) || o.Node.Get(strings.Split(ofTemplate, ".")...) != nil
	}
	if !slices.ContainsFunc(pkg.classified.specs, checked) {
		return finding.Sort(pkg.findings)
	}
	found := pkg.findings
	for _, f := range pkg.render().Findings {
		if (pkg.kinds.IsApplied(f.Object.GroupKind()) || strings.HasPrefix(f.Field, ofTemplate+".")) && !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	return finding.Sort(found)
}

// ofTemplate is the field of a spec that has what each of its objects gets.
const ofTemplate = "spec.template"

// prepared is a package whose documents are known to be well formed, unless
// there are findings.
type prepared struct {
	*classified
	function *Function
	specs    []*system.Spec
	unsound  []*system.Spec // those with errors in themselves
	unread   bool           // there are errors that leave open what the package consists of
	policy   policy
	live     []*krm.Object // facts of a cluster; nil for those of the package

	unreadable []krm.GroupKind // of the cluster
	part       bool            // there may be more manifests
}

// prepare classifies the objects and completes the specs.
func (f *Function) prepare(p Package) *prepared {
	pkg := &prepared{classified: classify(p, f.kinds, f.schemas.Kinds()), function: f, live: p.Live, part: p.Partial}
	pkg.unread = finding.Failed(pkg.findings)
	for _, o := range pkg.classified.specs {
		if pkg.isTooLarge(o, "spec") {
			pkg.unread = true
			continue
		}
		if spec := pkg.complete(o); spec.Unsound {
			pkg.unsound = append(pkg.unsound, spec)
		} else {
			pkg.specs = append(pkg.specs, spec)
		}
	}
	pkg.reportRefused()
	pkg.policy = pkg.completePolicy()
	if p.Applied {
		pkg.policy.Intermediates = "apply"
	}
	pkg.checkHydrations()
	pkg.checkLock()
	return pkg
}

// isTooLarge refuses a document that would keep CUE, and with it every other render of the process, for minutes.
func (pkg *prepared) isTooLarge(o *krm.Object, what string) bool {
	size := sizeOf(o)
	if size > MaxSpec {
		pkg.report(o, "too-large", "", "is %d bytes; a %s has at most %d", size, what, MaxSpec)
	}
	return size > MaxSpec
}

// sizeOf is the size of a document. An item of a list has no text of its own.
func sizeOf(o *krm.Object) int {
	if o.Raw == nil {
		return len(document.Append(nil, o.Node, 0))
	}
	return len(o.Raw)
}

// render places, renders, protects and reconciles.
func (pkg *prepared) render() Result { return pkg.renderFrom(pkg.index) }

// renderFrom is render with facts that may be indexed already.
func (pkg *prepared) renderFrom(index func() *inventory.Facts) Result {
	result := Result{Findings: pkg.findings, Hard: pkg.policy.Protection == "hard"}
	if pkg.unread {
		result.Findings = finding.Sort(result.Findings)
		return result
	}
	facts := index()
	selected, left := pkg.selected()
	chosen := pkg.outputs(facts, selected, left)
	if finding.Failed(result.Findings) {
		result.Findings = finding.Sort(slices.Concat(result.Findings, chosen.findings(), pkg.review(facts)))
		return result
	}
	result.Facts = facts
	objects := 0
	for i := range chosen.outputs {
		objects += len(chosen.outputs[i].Objects)
	}
	r := newReconciler(pkg.classified, facts, objects)
	for _, spec := range left {
		r.keepAll(spec.Object, spec.Before)
	}
	for _, o := range chosen.outputs {
		spec, out := o.spec, &o.Output
		if !chosen.failed && !out.Kept {
			chosen.handover.add(chosen.in.Disks, spec, out, o.kept)
		}
		result.Findings = append(result.Findings, out.Findings...)
		result.Choices = join(result.Choices, out.Choices)
		result.Transitions = append(result.Transitions, out.Transitions...)
		if finding.Failed(out.Findings) {
			continue
		}
		if out.Kept {
			r.keepAll(spec.Object, spec.Before)
			continue
		}
		result.Findings = append(result.Findings, unmatchedConsent(spec)...)
		result.Findings = append(result.Findings, pkg.warnOfStrays(facts, &o)...)
		protect(spec, out, &o.system.Declaration, pkg.policy.Policy)
		r.reconcile(spec, out, &o.system.Declaration)
	}
	result.Findings = append(result.Findings, pkg.remove(r, chosen)...)
	result.Findings = append(result.Findings, chosen.handover.depart(r, chosen)...)
	for _, findings := range chosen.leave {
		result.Findings = append(result.Findings, findings...)
	}
	r.checkOrphans(chosen.leave)
	r.postpone()
	r.encode(pkg.function.schemas)
	result.Findings = finding.Sort(append(result.Findings, r.findings...))
	if !finding.Failed(result.Findings) {
		result.Objects = r.rendered()
	}
	return result
}

// index indexes the facts: those of the package, or of a cluster.
func (pkg *prepared) index() *inventory.Facts {
	if pkg.live != nil {
		return inventory.NewLive(slices.Concat(pkg.live, pkg.noted()), pkg.unreadable...)
	}
	return inventory.New(pkg.facts)
}

// noted are the Inventories of the package that note since when nodes are missing, which a cluster does not say.
func (pkg *prepared) noted() []*krm.Object {
	return slices.DeleteFunc(slices.Clone(pkg.facts), func(o *krm.Object) bool { return o.Annotation(krm.AnnotationMissing) == "" })
}

// join appends choices, and copies none where there are none yet: one spec may have made all of them.
func join(choices, more []place.Choice) []place.Choice {
	if len(choices) == 0 {
		return more
	}
	return append(choices, more...)
}

// review checks what is right of the specs with errors in themselves.
func (pkg *prepared) review(facts *inventory.Facts) []finding.Finding {
	var findings []finding.Finding
	manifests := pkg.manifests()
	in := system.Input{Facts: facts, Defaults: class.NewDefaults(manifests), Held: manifests, Manifests: manifests, Partial: pkg.part, Unsound: pkg.unsoundObjects()}
	for _, spec := range pkg.unsound {
		if reviewer, reviews := pkg.function.of(spec.Object.OwnerKey()).System.(system.Reviewer); reviews && pkg.policy.renders(spec.Object) {
			findings = append(findings, reviewer.Review(in, spec)...)
		}
	}
	return findings
}

func (pkg *prepared) unsoundObjects() []*krm.Object {
	return slices.Collect(system.ObjectsOf(pkg.unsound, func(s *system.Spec) *krm.Object { return s.Object }))
}

// complete validates a spec and fills in its defaults.
func (pkg *prepared) complete(o *krm.Object) *system.Spec {
	pkg.checkAnnotations(o)
	read := pkg.function.schemas.Read(o.Position, o.Ref, o.Node)
	pkg.findings = append(pkg.findings, read.Findings...)
	if finding.Failed(read.Findings) {
		return &system.Spec{Object: o, Completed: read.Sound, Before: pkg.lock[o.OwnerKey()], Memory: pkg.memories[o.OwnerKey()], Unsound: true}
	}
	var consent []string
	if !pkg.kinds.IsApplied(o.GroupKind()) {
		consent = o.AnnotationList(krm.AnnotationAllowRemoval)
	}
	return &system.Spec{
		Object:    o,
		Completed: read.Completed,
		Before:    pkg.lock[o.OwnerKey()],
		Memory:    pkg.memories[o.OwnerKey()],
		Consent:   system.NewConsent(consent),
	}
}

// policy is a completed RenderConfig.
type policy struct {
	gitops.Policy
	Drain struct {
		Volumes int `json:"volumes"`
	} `json:"drain"`
	Specs []struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"specs"`
}

// renders reports whether the RenderConfig selects a spec.
func (p policy) renders(o *krm.Object) bool {
	if len(p.Specs) == 0 {
		return true
	}
	for _, s := range p.Specs {
		if s.Kind == o.Kind && s.Name == o.Name && (s.Namespace == "" || s.Namespace == o.Namespace) {
			return true
		}
	}
	return false
}

// selected separates the specs that the RenderConfig selects from those that it leaves as
// they are. What was rendered for one with errors stays, too.
func (pkg *prepared) selected() (selected, left []*system.Spec) {
	left = slices.Clone(pkg.unsound)
	for _, spec := range pkg.specs {
		if pkg.policy.renders(spec.Object) {
			selected = append(selected, spec)
		} else {
			left = append(left, spec)
		}
	}
	return selected, left
}

// held lists the manifests that no spec renders now, sorted: what people wrote
// themselves, and the output of specs that are left as they are or not seen. What
// they use is not free.
func (pkg *prepared) held(left []*system.Spec, facts *inventory.Facts) []*krm.Object {
	held := pkg.manifests()
	for _, owner := range pkg.ownersWithoutSpec() {
		objects := pkg.lock[owner]
		if used, _ := usedClass(facts, objects); used == nil && !pkg.partial && pkg.lapses(owner) {
			continue
		}
		held = append(held, objects...)
	}
	for _, spec := range left {
		held = append(held, spec.Before...)
	}
	slices.SortFunc(held, func(a, b *krm.Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return held
}

// manifests lists what people wrote themselves, sorted.
func (c *classified) manifests() []*krm.Object {
	return slices.SortedFunc(maps.Values(c.others), func(a, b *krm.Object) int { return a.ID().Compare(b.ID()) })
}

func (pkg *prepared) completePolicy() policy {
	defaults := policy{Policy: gitops.Policy{Engine: "all", Protection: "confirm", Intermediates: "local", Order: "levels"}}
	defaults.Drain.Volumes = 4
	if pkg.config == nil || pkg.isTooLarge(pkg.config, configKind) {
		return defaults
	}
	completed, findings := pkg.function.schemas.Complete(pkg.config.Position, pkg.config.Ref, pkg.config.Node)
	if pkg.configMap != nil {
		findings = inData(pkg.configMap, findings)
	}
	pkg.findings = append(pkg.findings, findings...)
	if finding.Failed(findings) {
		return defaults
	}
	config := struct {
		Spec policy `json:"spec"`
	}{defaults}
	if err := json.Unmarshal(completed, &config); err != nil {
		pkg.report(pkg.config, "config", "", "%v", err)
	}
	for i, s := range config.Spec.Specs {
		if !slices.ContainsFunc(pkg.classified.specs, func(o *krm.Object) bool {
			return s.Kind == o.Kind && s.Name == o.Name && (s.Namespace == "" || s.Namespace == o.Namespace)
		}) {
			pkg.findings = append(pkg.findings, finding.Finding{
				Severity: finding.Error, Rule: "no-such-spec", Object: pkg.config.Ref, Field: fmt.Sprintf("spec.specs[%d]", i),
				Pos:     pkg.config.Position(pkg.config.Node.Seq("spec", "specs")[i].Off),
				Message: fmt.Sprintf("names %s, which is not in the package; correct it, or remove it", finding.Ref{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}),
			})
		}
	}
	return config.Spec
}

// of lists those of the specs that are of the system.
func (r *registered) of(specs []*system.Spec) []*system.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s *system.Spec) bool {
		kind, found := r.Kind(s.Object.GroupKind())
		return !found || kind.Role != system.RoleSpec
	})
}

// protect marks the objects as ours and says to the engines what they must know.
func protect(spec *system.Spec, out *system.Output, declared *system.Declaration, policy gitops.Policy) {
	for i := range out.Objects {
		o := &out.Objects[i]
		kind, _ := declared.Kind(o.GroupKind())
		if !o.Copy { // of a copy the system says it
			o.Stateful = declared.Stateful(o.Object)
		}
		o.Intermediate = kind.Role == system.RoleLock
		if o.Retained {
			o.SetAnnotation(krm.AnnotationRetained, spec.Object.OwnerKey())
		} else {
			o.SetLabel(krm.LabelManagedBy, krm.ManagedBy)
			o.SetAnnotation(krm.AnnotationOwner, spec.Object.OwnerKey())
		}
		policy.Annotate(*o)
	}
}

func unmatchedConsent(spec *system.Spec) []finding.Finding {
	var findings []finding.Finding
	for _, entry := range spec.Consent.Unmatched() {
		why := "which is not there (any more); remove it"
		if meant := spec.Consent.Meant(entry); meant != "" {
			why = fmt.Sprintf("which is not there: it is %s; write that, or remove it", meant)
		}
		findings = append(findings, spec.AnnotationFinding(finding.Warning, "consent-unmatched", krm.AnnotationAllowRemoval, entry, why))
	}
	return findings
}

// folder is where the output of a spec lies, relative to the output folder.
func folder(o *krm.Object) string {
	parts := []string{o.Kind, o.Namespace, o.Name}
	if o.Namespace == "" {
		parts = []string{o.Kind, o.Name}
	}
	return strings.ToLower(strings.Join(parts, "."))
}

// SortRendered puts objects of an output into the order in which they are written.
func SortRendered(all []Rendered) { slices.SortFunc(all, compareRendered) }

func compareRendered(a, b Rendered) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name),
	)
}
