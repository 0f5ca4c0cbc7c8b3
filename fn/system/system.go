// Package system says what a storage system is to Poolwright: one value that
// renders, judges, reports and maps. Everything around it (reading, completing,
// protecting, reconciling with what was rendered before) is the same for all and lies
// in fn.
package system

import (
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/resilience"
	"github.com/poolwright/poolwright/fn/stock"
	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

// System is a storage system: it declares its kinds, turns its specs into objects, judges
// their changes, and says how the storage is. A system that renders nothing yet embeds
// FactsOnly.
type System interface {
	Declare() Declaration
	Holder
	Renderer
	Assessor
	Reporter
	Mapper
	Survivor
}

// Renderer turns specs into objects.
type Renderer interface {
	// Start takes the specs of the system, of all its kinds of spec, in the order in
	// which they choose.
	Start(in Input, specs []*Spec) Rendering
}

// Input is what all systems render from.
type Input struct {
	Facts *inventory.Facts
	Disks *disk.Ledger
	// Defaults knows the default class of the package.
	Defaults *class.Defaults
	// Held are manifests that no spec renders now: what people wrote themselves, and
	// the output of specs that are left as they are. What they use is taken.
	Held []*krm.Object
	// Manifests are what people wrote themselves, sorted. Output is made of them only as
	// copies (gitops.Object.Copy).
	Manifests []*krm.Object
	// Partial says that there may be more manifests than these: kustomize shows only what
	// it lists. That one is not there then says nothing.
	Partial bool
	// Unsound are the specs of the package with errors in themselves. What they would make is not
	// known: that nothing else makes it says nothing.
	Unsound []*krm.Object
	// OwnOrder says that people order and protect their manifests themselves, so that
	// none is to be copied.
	OwnOrder bool
	// Engine is the one of the RenderConfig that applies the output: all, argocd, flux or kpt.
	Engine string
	// DrainVolumes is how many volumes of a cluster may be on their way to other pools at once.
	DrainVolumes int
}

// MayMake reports whether a spec with errors in itself, of one of some kinds, may make what is missing.
func (in *Input) MayMake(kinds ...string) bool {
	return slices.ContainsFunc(in.Unsound, func(o *krm.Object) bool { return slices.Contains(kinds, o.Kind) })
}

// Reviewer is a System with checks of single fields of a spec, which need no disks, no choice and no other
// spec. Start makes them of a spec without errors; Review makes the same of one that has some.
type Reviewer interface {
	// Review checks the fields that are right. Completed of the spec has these alone
	// (schema.Reading.Sound): what is absent is not checked.
	Review(in Input, spec *Spec) []finding.Finding
}

// Rendering is a system at work. Keep is called for every system before Choose is for
// any, so that one render is a fixed point.
type Rendering interface {
	// Keep decides what stays of earlier runs and of what is in the cluster, and frees the rest.
	Keep()
	// Choose takes what is wanted more, and returns one Output for each spec, in the
	// order of the specs.
	Choose() []Output
}

// Follower is a Rendering that builds on what other systems render.
type Follower interface {
	// Follow gets, before Choose is called, the specs of the systems that chose
	// before, and of those that are left as they are.
	Follow(others []Followed)
}

// Leaver is a Rendering that says itself whether what was rendered for a spec may go when a
// person takes the spec out; without it that is an error. What it releases holds no disk.
type Leaver interface {
	// Leave is asked after Choose. An error keeps what was rendered.
	Leave(gone Gone) []finding.Finding
}

// Stocker is a Rendering of volumes that people create one by one.
type Stocker interface {
	// Stock is asked after Choose: the volumes and groups of the package, and those in the cluster.
	Stock() stock.Stock
}

// Maker is a System of volumes that people order by a form.
type Maker interface {
	// Make is the spec of an order, whether it is right or not.
	Make(stock.Order) *krm.Object
}

// Gone is a spec that is no longer in the package, of which something was rendered.
type Gone struct {
	krm.ID
	Before []*krm.Object
}

// Followed is a spec, and what became of it.
type Followed struct {
	*Spec
	Output
}

// Remover is a System whose output goes step by step once its spec is gone, and a person has
// allowed that all of it goes. Of other systems it goes at once.
type Remover interface {
	// Remove says what of the output stays for now. Of the spec there is its identity, what
	// was rendered for it, and the consent.
	Remove(facts *inventory.Facts, gone *Spec) Output
}

// Holder says which disks objects hold.
type Holder interface {
	// Holds lists the disks that an object holds, rendered, live or written by a
	// person; none for an object of which the system knows nothing.
	Holds(o *krm.Object) []disk.Hold
}

// Assessor judges changes.
type Assessor interface {
	// Assess judges what a change of an object that the system renders risks.
	// It may take out fields that are no change to the system; a changed object
	// that has none left is unchanged. Fields that it says nothing about are taken
	// for disruptive, but for those that all systems share: labels, and
	// annotations of the engines. disks has what the lock, what is in the cluster and what people
	// wrote hold.
	Assess(facts *inventory.Facts, disks *disk.Ledger, c *change.Change)
}

// DryRunner is an Assessor whose objects meet an admission webhook that acts even
// where it is only asked.
type DryRunner interface {
	// DryRunEffect says what a server-side dry run, in which wanted takes the place
	// of live, would do to the cluster all the same: one line, "" for nothing.
	DryRunEffect(live, wanted *krm.Object) string
}

// Rememberer is a System of which specs are applied as they stand: a lock remembers each, and
// plans compare what is no output by it.
type Rememberer interface {
	// Plain is such a spec in one form, made of what a person wrote, of what is in the cluster, or of the
	// lock that remembers it; nil for any other object.
	Plain(o *krm.Object) *krm.Object
	// Along lists what is in the cluster and goes with a spec that is removed, judged, in the order in
	// which it goes: all of it before the spec. manifests are what people wrote.
	Along(facts *inventory.Facts, manifests []*krm.Object, gone *krm.Object) []*change.Change
}

// Reporter says how healthy storage is.
type Reporter interface {
	// Status is the health of what a spec asks for. out is what Render gives for it
	// from the same facts.
	Status(facts *inventory.Facts, spec *Spec, out Output) health.Status
}

// Mapper shows what hangs on what.
type Mapper interface {
	// Tree is what is below and above one object of a kind of its roots, or everything
	// where root is zero; nil if it knows nothing of the object. disks has what running objects hold.
	Tree(facts *inventory.Facts, disks *disk.Ledger, root krm.ID) []*health.Tree
}

// Survivor says what survives the loss of nodes and disks.
type Survivor interface {
	// Storage lists the volumes and pools among the facts, each with the rule by which it survives. disks has what running objects hold.
	Storage(facts *inventory.Facts, disks *disk.Ledger) resilience.Storage
}

// Drainer is a System that takes all of a spec off a node step by step, with consent.
type Drainer interface {
	// Drain is the spec with the wish and the consent to drain a node; nil if nothing that was rendered for it is there.
	Drain(spec *Spec, node string) *krm.Object
	// Settle makes the facts of once what was rendered is applied, and the operators have carried it out. before is what was
	// rendered last.
	Settle(facts, before, rendered []*krm.Object) []*krm.Object
}

// Spec is one completed spec.
type Spec struct {
	Object    *krm.Object
	Completed []byte          // JSON: canonical names, defaults filled in
	Before    []*krm.Object   // what was rendered for it, as the output folder holds it
	Memory    disklock.Memory // by what the disks of that are known
	Consent   *Consent
	Unsound   bool // the document has errors, and Completed what is right of it
	Gone      bool // of Reporter: it was taken out of the package, and is in the cluster
}

// IsRendered reports whether anything was rendered for the spec. Its DiskLock alone only remembers the disks of what was removed.
func (s *Spec) IsRendered() bool { return !disklock.Alone(s.Before) }

// Output is what became of one spec.
type Output struct {
	Objects  []gitops.Object // everything that is wanted, unsorted
	Released map[krm.ID]bool // stateful objects of Before that may go
	Findings []finding.Finding
	Choices  []place.Choice
	// Kept says that what was rendered for the spec stays byte for byte: Objects are those.
	Kept bool
	// Transitions are those of what the spec has rendered: none of what is as it is to be.
	Transitions []transition.Transition
}

// Finding starts a finding on a field of the spec, such as
// spec.poolConfig.raidType; an empty field means the whole object.
func (s *Spec) Finding(severity finding.Severity, rule, field, message string) finding.Finding {
	f := finding.Finding{Severity: severity, Rule: rule, Object: s.Object.Ref, Field: field, Message: message}
	if field == "" {
		f.Pos = s.Object.At()
	} else {
		f.Pos = s.Object.At(strings.Split(field, ".")...)
	}
	return f
}

// AnnotationFinding starts a finding on an entry of an annotation of the spec, such as one of
// poolwright.io/drain. why goes on behind the entry.
func (s *Spec) AnnotationFinding(severity finding.Severity, rule, annotation, entry, why string) finding.Finding {
	f := s.Finding(severity, rule, "", annotation+" names "+entry+", "+why)
	f.Field, f.Pos = "metadata.annotations", s.Object.At("metadata", "annotations", annotation)
	return f
}
