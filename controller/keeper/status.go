package keeper

import (
	"context"
	"strings"
	"time"

	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/live/hydrations"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	mostFindings = 10
	mostWaiting  = 64
	mostMessage  = 1000 // bytes of a condition; the rest is in status.findings, or in logs
)

// unwritten is a report that the API server did not take.
type unwritten struct {
	status  hydrations.Status
	verdict verdict
	why     error
}

// lastStatus is what is known of the object, whether it is written or not.
func (w *worker) lastStatus() hydrations.Status {
	if w.unwritten != nil {
		return w.unwritten.status
	}
	return w.object.Status
}

// report writes a verdict into the status. What cannot be written is kept, and written soon: what was
// published is in no other place.
func (w *worker) report(ctx context.Context, status hydrations.Status, v verdict) {
	err := w.write(ctx, status, v)
	switch {
	case err == nil:
		w.unwritten = nil
		w.agenda.reported()
	case ctx.Err() == nil:
		w.keeper.Log.Warn("the status was not written", "hydration", w.object.Key().String(), "error", err)
		w.unwritten = &unwritten{status, v, err}
		w.agenda.unreported(time.Now())
	}
}

// reportAgain writes what was not written, once that is due. It is for the object as it was then.
func (w *worker) reportAgain(ctx context.Context) {
	if w.unwritten != nil && !time.Now().Before(w.agenda.report) {
		w.report(ctx, w.unwritten.status, w.unwritten.verdict)
	}
}

// insist writes what was not written, again and again for some minutes: nobody comes later to do it.
func (w *worker) insist(ctx context.Context) error {
	for last := time.Now().Add(patience); w.unwritten != nil; w.reportAgain(ctx) {
		if w.agenda.report.After(last) {
			return w.unwritten.why
		}
		select {
		case <-ctx.Done():
			return nil // which the caller knows
		case <-time.After(time.Until(w.agenda.report)):
		}
	}
	return nil
}

// write writes a verdict into the status, with an event where it is another one than before.
func (w *worker) write(ctx context.Context, status hydrations.Status, v verdict) error {
	if err := w.keeper.step(ctx); err != nil {
		return err
	}
	h := w.object
	before := h.Status.Condition("Ready")
	status.ObservedGeneration = h.Metadata.Generation
	status.LastHandledReconcileAt = w.handled
	status.Conditions = conditionsOf(&h.Status, v, h.Metadata.Generation, time.Now())
	wrote, err := w.keeper.Store.WriteStatus(ctx, h, status)
	if err != nil {
		return err
	}
	w.keeper.Metrics.verdict(h.Key(), v.reason)
	if wrote && (before.Reason != string(v.reason) || v.reason == published && before.Message != v.message) {
		if v.reason != published || status.Published == w.announced {
			w.keeper.Store.Event(h, v.reason.class() != ready && v.reason != applying, string(v.reason), v.message)
		}
		w.keeper.Log.Info(v.message, "hydration", h.Key().String(), "reason", string(v.reason))
	}
	return w.announce(ctx, status.Published, v)
}

// eventLife is how long an API server keeps events by default.
const eventLife = time.Hour

// announce makes the event of what was published. It follows from the status alone, so that whoever comes after a
// controller that was killed before its report makes up for it. A pull request has events of its own.
func (w *worker) announce(ctx context.Context, p hydrations.Published, v verdict) error {
	spec := &w.object.Spec
	proposed := spec.Head() != "" && (spec.AutoMerge != "Safe" || strings.HasPrefix(p.Revision, spec.Head()+"@"))
	if p == w.announced || p.Revision == "" || proposed || time.Since(p.Time) >= eventLife {
		return nil
	}
	message := v.message
	if v.reason != published {
		message = p.Revision + " was published"
	}
	err := w.keeper.Store.Announce(ctx, w.object, string(published), message, p.Revision+" "+p.Time.UTC().Format(time.RFC3339))
	if err == nil {
		w.announced = p
	}
	return err
}

// conditionsOf are the conditions of a verdict; the times of those that stay the same are kept.
func conditionsOf(before *hydrations.Status, v verdict, generation int64, now time.Time) []hydrations.Condition {
	message := v.message
	if len(message) > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage-3], "") + "..."
	}
	make := func(kind string, holds bool) hydrations.Condition {
		c := hydrations.Condition{
			Type: kind, Status: "False", Reason: string(v.reason), Message: message,
			LastTransitionTime: now.UTC().Truncate(time.Second), ObservedGeneration: generation,
		}
		if holds {
			c.Status = "True"
		}
		if old := before.Condition(kind); old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		return c
	}
	class := v.reason.class()
	conditions := []hydrations.Condition{make("Ready", class == ready), make("Reconciling", class == retried && v.reason != suspended)}
	if class == stalled {
		conditions = append(conditions, make("Stalled", true))
	}
	return conditions
}

// findingsOf counts what a render reported, and has the first of it: errors, then warnings.
func findingsOf(all []finding.Finding) *hydrations.Findings {
	found := &hydrations.Findings{}
	for _, severity := range []finding.Severity{finding.Error, finding.Warning} {
		for i := range all {
			if all[i].Severity != severity {
				continue
			}
			if severity == finding.Error {
				found.Errors++
			} else {
				found.Warnings++
			}
			if len(found.First) < mostFindings {
				found.First = append(found.First, all[i].String())
			}
		}
	}
	return found
}

// waitingOf is what the specs wait for.
func waitingOf(all []finding.Finding) []string {
	var waiting []string
	for i := range all {
		if f := &all[i]; strings.HasPrefix(f.Rule, "awaiting-") && len(waiting) < mostWaiting {
			waiting = append(waiting, f.Message)
		}
	}
	return waiting
}

// judged is the status of a judgement, before its verdict.
func judged(status hydrations.Status, j *hydration.Judgement) hydrations.Status {
	status.Risk = string(j.Risk())
	status.Findings = findingsOf(j.Findings)
	status.WaitingFor = waitingOf(j.Findings)
	return status
}
