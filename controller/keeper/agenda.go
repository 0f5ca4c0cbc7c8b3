package keeper

import "time"

const (
	firstPause  = 5 * time.Second
	longestRest = 5 * time.Minute // between two tries
)

// agenda says when a Hydration is looked at next.
type agenda struct {
	changed  time.Time // the first change that was not judged yet; zero if there is none
	atOnce   bool      // a person waits
	poll     time.Time // next look at the branch
	looked   time.Time // the last one
	retry    time.Time // next try, whatever changes until then; zero if nothing failed
	later    time.Time // a judgement that is due although nothing changes; zero if there is none
	failures int       // in a row

	report  time.Time // next try to write what was not written; zero if there is nothing
	reports int       // that failed, in a row
}

// note takes down that something changed.
func (a *agenda) note(now time.Time) {
	if a.changed.IsZero() {
		a.changed = now
	}
}

// due reports whether it is time for a judgement: the debounce after the first change, however many
// have followed.
func (a *agenda) due(now time.Time, debounce time.Duration) bool {
	at := a.judgement(debounce)
	return !at.IsZero() && !now.Before(at)
}

// judgement is when the next one is due, zero for never.
func (a *agenda) judgement(debounce time.Duration) time.Time {
	switch {
	case a.atOnce:
		return time.Unix(0, 0)
	case !a.retry.IsZero():
		return a.retry
	case !a.changed.IsZero():
		return earlier(a.changed.Add(debounce), a.later)
	}
	return a.later
}

// next is when there is anything to do.
func (a *agenda) next(debounce time.Duration) time.Time {
	if !a.retry.IsZero() {
		return a.judgement(debounce) // which looks at the branch, too
	}
	return earlier(a.poll, a.judgement(debounce))
}

// begun takes down that a judgement has begun: what changes from now on is new.
func (a *agenda) begun() {
	a.changed, a.atOnce, a.retry, a.later = time.Time{}, false, time.Time{}, time.Time{}
}

// failed plans another try, after a pause that grows.
func (a *agenda) failed(now time.Time) {
	a.retry = now.Add(pauseAfter(a.failures))
	a.failures++
}

// pauseAfter is the pause after a failure that followed so many.
func pauseAfter(failures int) time.Duration {
	if failures < 6 {
		return firstPause << failures
	}
	return longestRest
}

// settled ends a row of failures.
func (a *agenda) settled() { a.failures = 0 }

// unreported plans another try to write a report, after a pause that grows.
func (a *agenda) unreported(now time.Time) {
	a.report = now.Add(pauseAfter(a.reports))
	a.reports++
}

// reported ends a row of reports that were not written.
func (a *agenda) reported() { a.report, a.reports = time.Time{}, 0 }

// rested is an agenda with nothing to do but to report.
func (a *agenda) rested() agenda { return agenda{report: a.report, reports: a.reports} }

// earlier is the earlier of two times of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
