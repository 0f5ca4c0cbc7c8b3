package hydration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/fn/change"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/plan"
	"github.com/poolwright/poolwright/schema/finding"
)

// Inputs show whether there is anything to judge: if both are as before, the judgement is as before.
type Inputs struct {
	Package string // Package.Digest
	Facts   string // Facts.Digest
	Applied string // digest of what a cluster has of the output, where it is applied
}

// InputsOf are the inputs of a judgement.
func InputsOf(p Package, f Facts) Inputs { return Inputs{Package: p.Digest, Facts: f.Digest} }

// Judgement is what the facts make of a package.
type Judgement struct {
	Findings []finding.Finding // where one is an error, nothing may be published
	Plan     plan.Plan
	Facts    string // digest of the snapshot
	Output   string // digest of rendered/ with the changes

	inventory map[string][]byte // the files of the package that change, nil for one that is removed
	rendered  map[string][]byte

	// The rest is for output that is applied (JudgeApplied).
	Objects []fn.Rendered // all of it
	Removed []*krm.Object // those of the lock that are in it no more
	Hard    bool          // fn.Result.Hard
}

// Failed reports whether there are errors: the old output stays.
func (j *Judgement) Failed() bool { return finding.Failed(j.Findings) }

// RiskNone is the risk of a commit in which no object changes.
const RiskNone change.Risk = "none"

// Risk is the greatest risk of a change.
func (j *Judgement) Risk() change.Risk {
	if risk := j.Plan.Risk(); risk != "" {
		return risk
	}
	return RiskNone
}

// Renderer renders a package that was read, with the findings of reading it. The error says that it
// cannot, for now.
type Renderer interface {
	Render(ctx context.Context, p folder.Package, findings []finding.Finding) (fn.Result, error)
}

// InProcess renders here. There is never an error.
type InProcess struct{ Function *fn.Function }

// Render is folder.Package.Render.
func (r InProcess) Render(_ context.Context, p folder.Package, findings []finding.Finding) (fn.Result, error) {
	return p.Render(r.Function, findings), nil
}

// Judge renders a package with new facts. The error is a *Refusal: there is no judgement; or that of the
// renderer.
func Judge(ctx context.Context, function *fn.Function, by Renderer, p Package, f Facts) (*Judgement, error) {
	j := &Judgement{Facts: f.Digest}
	next, err := j.take(p, f)
	if err != nil {
		return nil, err
	}
	return j, j.render(ctx, function, by, next)
}

// take puts new facts in the place of those of a package.
func (j *Judgement) take(p Package, f Facts) (next Package, err error) {
	if err := sameCluster(p, f); err != nil {
		return next, err
	}
	var files []folder.InventoryFile
	for name, data := range f.Files {
		files = append(files, folder.InventoryFile{Name: name, Write: func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		}})
	}
	facts, err := p.memory().PlanInventory(files)
	if err == nil {
		j.inventory, err = contents(inventory.Folder, facts)
	}
	if err != nil {
		return next, refuse(ReasonInvalid, "%s: %v", p.Dir, err)
	}
	return p.With(j.inventory), notOlder(p, j.inventory)
}

// render does what poolwright render and poolwright plan do.
func (j *Judgement) render(ctx context.Context, function *fn.Function, by Renderer, p Package) error {
	pkg, findings, err := folder.Read(folder.Input{Dir: ".", Memory: p.memory(), Refuse: function.RefuseNested})
	if err != nil {
		return refuse(ReasonInvalid, "%s: %v", p.Dir, err)
	}
	result, err := by.Render(ctx, pkg, findings)
	if err != nil {
		return err
	}
	// A pipeline with render --check fails without a spec.
	j.Findings = finding.Sort(pkg.WithoutSpec(function, p.Dir, result.Findings, finding.Error))
	j.Plan = plan.Plan{Against: fn.RenderedFolder, Findings: j.Findings, Transitions: result.Transitions}
	if j.Failed() {
		return nil
	}
	files, err := folder.NewPlan(fn.RenderedFolder, result.Objects, pkg)
	if err == nil {
		j.rendered, err = contents(fn.RenderedFolder, files)
	}
	if err != nil {
		return refuse(ReasonInvalid, "%s: %v", p.Dir, err)
	}
	j.Plan.Changes = function.Assess(pkg.Input(), result.Facts, plan.Between(function, pkg.Ours(), result.Output()))
	j.Plan.AddFiles(files.Changes, len(pkg.Ours()) > 0)
	j.Output = p.With(j.rendered).Output()
	return nil
}

// contents are the new contents of the files that a plan for a folder changes, by path in the package.
func contents(dir string, p *folder.Plan) (map[string][]byte, error) {
	files := make(map[string][]byte, len(p.Changes))
	for _, c := range p.Changes {
		data, err := c.Content()
		if err != nil {
			return nil, err
		}
		files[path.Join(dir, c.Path())] = data
	}
	return files, nil
}

// Publish are the files of the package that are to be published, nil in the place of one that is
// removed; none if nothing is. Facts are published with a changed output only, or where those that are
// published were last changed maxAge ago, 0 for never. factsChanged is the time of the commit that did,
// zero if there is none.
func (j *Judgement) Publish(factsChanged, now time.Time, maxAge time.Duration) map[string][]byte {
	switch {
	case j.Failed():
		return nil
	case len(j.rendered) > 0:
		return j.Changed()
	case maxAge > 0 && now.Sub(factsChanged) >= maxAge:
		return j.inventory
	}
	return nil
}

// FactsAlone reports whether the facts differ from those in Git, and nothing else does: whether they are
// published depends on when those in Git were last changed.
func (j *Judgement) FactsAlone() bool {
	return !j.Failed() && len(j.rendered) == 0 && len(j.inventory) > 0
}

// Changed are all files of the package that have other contents now, nil in the place of one that is removed.
func (j *Judgement) Changed() map[string][]byte {
	files := make(map[string][]byte, len(j.inventory)+len(j.rendered))
	for _, some := range []map[string][]byte{j.inventory, j.rendered} {
		for name, data := range some {
			files[name] = data
		}
	}
	return files
}

// DueAt is when facts that are not published for now are to be: zero for never.
func (j *Judgement) DueAt(factsChanged time.Time, maxAge time.Duration) time.Time {
	if maxAge <= 0 || !j.FactsAlone() {
		return time.Time{}
	}
	return factsChanged.Add(maxAge)
}

// Reason is why there is no judgement, as a condition of a Hydration has it.
type Reason string

// The reasons.
const (
	ReasonInvalid        Reason = "Invalid"        // the package has to be mended
	ReasonClusterChanged Reason = "ClusterChanged" // the facts are of another cluster
	ReasonFactsStale     Reason = "FactsStale"     // the facts are older than those that are published
)

// Refusal is why there is no judgement.
type Refusal struct {
	Reason Reason
	Msg    string
}

func (r *Refusal) Error() string { return r.Msg }

func refuse(reason Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Msg: fmt.Sprintf(format, args...)}
}

// ReasonOf is the reason of an error, "" for another error.
func ReasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}
