package hypercloud

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/finding"
)

// Status implements system.Reporter: level by level, in the order in which storage comes
// about. What is on its way says which level it has reached.
func (System) Status(facts *inventory.Facts, spec *system.Spec, out system.Output) health.Status {
	if finding.Failed(out.Findings) {
		var r health.Report
		r.Step("spec").Add(health.Problem{Phase: health.Error, Reason: health.CannotRender, Message: health.FirstError(out.Findings)})
		return r.Status(spec.Object.Ref, "")
	}
	cfg, err := readConfig(spec)
	if err != nil {
		var r health.Report
		r.Step("spec").Add(health.Problem{Phase: health.Error, Reason: health.InvalidSpec, Message: err.Error()})
		return r.Status(spec.Object.Ref, "")
	}
	s := &survey{facts: facts, spec: spec, cfg: &cfg, objects: wanted(spec, out), reached: -1}
	if !s.begun(out) {
		return s.report.Status(spec.Object.Ref, "")
	}
	s.definitions()
	s.operators()
	s.nodes()
	s.each(levelCluster, "part of CSI", gk(csiGroup, operatorConfKind), gk(csiGroup, driverKind))
	s.each(levelCluster, "Ceph cluster", gk(cephGroup, clusterKind))
	s.replaced(s.rendered(gk(cephGroup, clusterKind)))
	s.each(levelPools, "pool", gk(cephGroup, poolKind))
	s.each(levelPools, "filesystem", gk(cephGroup, filesystemKind))
	s.each(levelPools, "group of subvolumes", gk(cephGroup, subvolumesKind))
	s.each(levelPools, "object store", gk(cephGroup, storeKind))
	s.each(levelClasses, "class", gk(storageGroup, classKind), gk(snapshotGroup, snapshotKind))
	s.each(levelCDI, "CDI", gk(cdiGroup, cdiKind))
	s.toolbox()
	s.leaving()
	status := s.report.Status(spec.Object.Ref, s.well())
	if status.Phase == health.Progressing && s.reached >= 0 {
		status.Message = "level " + s.reached.String() + ": " + status.Message
	}
	return status
}

// survey goes through what a spec became.
type survey struct {
	facts   *inventory.Facts
	spec    *system.Spec
	cfg     *config
	objects []*krm.Object // that are wanted
	report  health.Report
	reached level // the first with something amiss; -1 for none
}

// wanted are the objects that a spec asks for, and those that were rendered for it and are
// held. Where the specs are those in a cluster, what was rendered is what was applied, so
// that only a render knows what is still to come.
func wanted(spec *system.Spec, out system.Output) []*krm.Object {
	var objects []*krm.Object
	seen := map[krm.ID]bool{}
	for i := range out.Objects {
		objects = append(objects, out.Objects[i].Object)
		seen[out.Objects[i].ID()] = true
	}
	for _, o := range spec.Before {
		if !seen[o.ID()] && !out.Released[o.ID()] {
			objects = append(objects, o)
		}
	}
	return objects
}

// begun reports whether anything is rendered; if not, it says so.
func (s *survey) begun(out system.Output) bool {
	definitions := s.facts.Objects(definitionGroup, definitionKind)
	told := s.facts.Tells(definitionGroup, definitionKind, "") || s.facts.Tells(cephGroup, clusterKind, s.spec.Object.Namespace)
	switch {
	case s.spec.IsRendered() && !told:
		s.report.Step("spec").Add(health.Problem{
			Phase: health.Progressing, Reason: health.NotApplied,
			Message: "rendered, but the inventory shows none of it in the cluster yet; commit and apply it",
		})
		return false
	case s.spec.IsRendered() || len(definitions) > 0:
		return true
	case len(s.objects) > 0 && s.spec.Object.Node.Str("metadata", "uid") != "":
		return true // the spec is in the cluster, and nothing else is yet
	}
	p := health.Problem{Phase: health.Progressing, Reason: health.NotRendered}
	p.Message = "nothing is rendered for it yet; run poolwright render, commit and apply what it writes"
	for _, f := range out.Findings {
		if f.Severity == finding.Warning && len(out.Objects) == 0 {
			p.Message = f.Message // what it waits for
			break
		}
	}
	s.report.Step("spec").Add(p)
	return false
}

// rendered lists what is wanted of some kinds.
func (s *survey) rendered(kinds ...krm.GroupKind) []*krm.Object {
	return slices.DeleteFunc(slices.Clone(s.objects), func(o *krm.Object) bool { return !slices.Contains(kinds, o.GroupKind()) })
}

// add adds what is amiss at a level.
func (s *survey) add(step *health.Step, at level, subject string, st state) {
	if st.phase == health.OK {
		s.report.Unchanged(st.since)
		return
	}
	if s.reached < 0 {
		s.reached = at
	}
	step.Add(health.Problem{Phase: st.phase, Outage: st.outage, Reason: st.reason, What: st.what, Subject: subject, Note: st.note, Message: st.message, Since: st.since})
}

// told reports whether the facts list a kind; if not, that is a problem: what nobody has
// looked at is not well.
func (s *survey) told(step *health.Step, at level, kind krm.GroupKind) bool {
	if s.facts.Tells(kind.Group, kind.Kind, s.spec.Object.Namespace) {
		return true
	}
	if s.reached < 0 {
		s.reached = at
	}
	step.Add(health.Problem{
		Phase: health.Progressing, Reason: "NotTold",
		Message: fmt.Sprintf("the inventory does not contain the kind %s; refresh it with poolwright inventory", kind.Kind),
	})
	return false
}

// definitions looks whether the API server knows all kinds.
func (s *survey) definitions() {
	step := s.report.Step("definition")
	kind := gk(definitionGroup, definitionKind)
	if !s.told(step, levelDefinitions, kind) {
		return
	}
	for _, name := range definitionsOf(s.cfg, s.objects) {
		step.Count()
		st := stateOf(s.facts.Object(krm.ID{Group: kind.Group, Kind: kind.Kind, Name: name}))
		if st.reason == health.NotApplied {
			st.reason = "DefinitionsMissing"
		}
		s.add(step, levelDefinitions, name, st)
	}
}

// operators looks whether those who do the work are there.
func (s *survey) operators() {
	step := s.report.Step("operator")
	if !s.told(step, levelOperators, gk(appsGroup, deploymentKind)) {
		return
	}
	for _, n := range operatorsOf(s.cfg, s.objects) {
		step.Count()
		st := s.deployment(n)
		if st.phase != health.OK && st.reason != "Terminating" {
			st.reason = "OperatorNotAvailable"
		}
		s.add(step, levelOperators, n.name, st)
	}
}

// deployment is the state of one that is needed: the best of all that are called so.
func (s *survey) deployment(n need) state {
	best := stateOf(nil)
	for i, o := range s.facts.Objects(appsGroup, deploymentKind) {
		if o.Name != n.name || n.namespace != "" && n.namespace != o.Namespace {
			continue
		}
		if st := stateOf(o); i == 0 || best.reason == health.NotApplied || best.phase.WorseThan(st.phase) {
			best = st
		}
	}
	return best
}

// nodes looks at those that give disks: one that is down explains what is missing.
func (s *survey) nodes() {
	step := s.report.Step("node")
	for _, o := range s.rendered(gk(cephGroup, clusterKind)) {
		hosts := o.Node.Seq("spec", "storage", "nodes")
		for i := range hosts {
			step.Count()
			name := hosts[i].Str("name")
			nodes := s.facts.Host(name)
			if len(nodes) == 0 {
				s.add(step, levelCluster, name, state{phase: health.Error, reason: "NodeMissing", what: "missing from the cluster"})
				continue
			}
			for _, c := range nodes[0].Object.Node.Seq("status", "conditions") {
				if c.Str("type") == "Ready" && c.Str("status") != "True" {
					since, _ := time.Parse(time.RFC3339, c.Str("lastTransitionTime"))
					s.add(step, levelCluster, name, state{phase: health.Error, reason: "NodeNotReady", what: "not ready", note: c.Str("reason"), since: since})
				}
			}
		}
	}
}

// each looks at all objects of some kinds that are rendered.
func (s *survey) each(at level, noun string, kinds ...krm.GroupKind) {
	step := s.report.Step(noun)
	asked := map[krm.GroupKind]bool{}
	for _, o := range s.rendered(kinds...) {
		kind := o.GroupKind()
		if told, before := asked[kind]; before && !told {
			continue
		} else if !before {
			if asked[kind] = s.told(step, at, kind); !asked[kind] {
				continue
			}
		}
		step.Count()
		live := s.facts.Object(o.ID())
		st := stateOf(live)
		if st.reason == osdsMissing && s.isReplacing(live) {
			st = state{phase: health.OK} // which is a step of its own
		}
		if kind == gk(cephGroup, clusterKind) && st.phase == health.OK && declaredOSDs(live) != declaredOSDs(o) {
			st = state{
				phase: health.Progressing, reason: health.NotApplied,
				what: fmt.Sprintf("as it was, with %s in place of %d", finding.Count(declaredOSDs(live), "OSD"), declaredOSDs(o)), note: "commit and apply it",
			}
		}
		if differs := differences(o, live); live != nil && len(differs) > 0 {
			st = state{
				phase: health.Error, reason: "ClassDiffers", what: "not as rendered", note: strings.Join(differs, ", ") + "; a class is immutable: delete it, and apply it again",
			}
		}
		if at == levelCluster || at == levelCDI {
			st.message = alone(noun+" "+o.Name, st)
		}
		s.add(step, at, o.Name, st)
	}
}

// alone reports an object that exists once.
func alone(name string, st state) string {
	verb := "is"
	if st.reason == "Failed" || st.reason == "CDIFailed" {
		verb = "has"
	}
	text := name + " " + verb + " " + st.what
	if st.note != "" {
		text += ": " + st.note
	}
	return text
}

// differences lists the fields in which a live class is not as it was rendered, of those
// that can never be changed. What a snapshot does not keep is not compared.
func differences(rendered, live *krm.Object) []string {
	if live == nil || rendered.GroupKind() != gk(storageGroup, classKind) && rendered.GroupKind() != gk(snapshotGroup, snapshotKind) {
		return nil
	}
	var fields []string
	for _, field := range []string{"provisioner", "driver", "reclaimPolicy", "deletionPolicy", "volumeBindingMode"} {
		if want := rendered.Node.Str(field); want != "" && want != live.Node.Str(field) {
			fields = append(fields, field)
		}
	}
	want, have := rendered.Node.StrMap("parameters"), live.Node.StrMap("parameters")
	for key := range want {
		if _, there := have[key]; want[key] != have[key] && (there || !strings.Contains(key, "secret")) {
			fields = append(fields, "parameters."+key)
		}
	}
	for key := range have {
		if _, there := want[key]; !there {
			fields = append(fields, "parameters."+key)
		}
	}
	slices.Sort(fields)
	return fields
}

// toolbox looks at the Deployment with the tools of Ceph.
func (s *survey) toolbox() {
	step := s.report.Step("toolbox")
	for _, o := range s.rendered(gk(appsGroup, deploymentKind)) {
		if o.Name != toolboxName || !s.told(step, levelToolbox, o.GroupKind()) {
			continue
		}
		step.Count()
		st := s.deployment(need{o.Name, o.Namespace})
		if st.phase != health.OK && st.reason != "Terminating" {
			st.reason = "ToolboxNotAvailable"
		}
		st.message = alone("Deployment "+o.Name, st)
		s.add(step, levelToolbox, o.Name, st)
	}
}

// leaving reports what holds data, exists, and is no longer rendered.
func (s *survey) leaving() {
	step := s.report.Step("object")
	for _, kind := range (System{}).Declare().Kinds {
		if !kind.Stateful {
			continue
		}
		for _, o := range s.facts.Objects(kind.Group, kind.Kind) {
			isRendered := slices.ContainsFunc(s.objects, func(b *krm.Object) bool { return b.ID() == o.ID() })
			if o.Owner() != s.spec.Object.OwnerKey() || isRendered {
				continue
			}
			step.Count()
			st := state{phase: health.Progressing, reason: "NotRendered", what: "there and no longer rendered"}
			if o.Deleting() {
				st.reason, st.what = "Terminating", "being deleted"
			}
			step.Add(health.Problem{Phase: st.phase, Reason: st.reason, What: st.what, Subject: o.Kind + " " + o.Name})
		}
	}
}

// well is what to say where nothing is amiss.
func (s *survey) well() string {
	var parts []string
	warning := ""
	for _, o := range s.rendered(gk(cephGroup, clusterKind)) {
		parts = append(parts, fmt.Sprintf("%s on %s", finding.Count(declaredOSDs(o), "OSD"), finding.Count(len(o.Node.Seq("spec", "storage", "nodes")), "host")))
		if live := s.facts.Object(o.ID()); live != nil {
			warning = readCluster(live).warning()
		}
	}
	for _, of := range []struct{ kind, noun string }{{poolKind, "pool"}, {filesystemKind, "filesystem"}, {storeKind, "object store"}} {
		if n := len(s.rendered(gk(cephGroup, of.kind))); n > 0 {
			parts = append(parts, finding.Count(n, of.noun))
		}
	}
	if len(s.rendered(gk(cdiGroup, cdiKind))) > 0 {
		parts = append(parts, "CDI")
	}
	text := strings.Join(parts, ", ")
	if warning != "" {
		text += "; " + warning
	}
	return text
}
