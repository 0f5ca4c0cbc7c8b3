package transition_test

import (
	"testing"

	"github.com/poolwright/poolwright/fn/transition"
	"github.com/poolwright/poolwright/schema/finding"
)

func TestNumber(t *testing.T) {
	done, now, next := transition.Step{State: transition.Done}, transition.Step{State: transition.Now}, transition.Step{State: transition.Next}
	for _, test := range []struct {
		steps []transition.Step
		want  string
	}{
		{nil, "step 1 of about 1"},
		{[]transition.Step{now}, "step 1 of about 1"},
		{[]transition.Step{next, next}, "step 1 of about 2"},
		{[]transition.Step{done, now, next, next}, "step 2 of about 4"},
		{[]transition.Step{done, now, now}, "step 3 of about 3"},
	} {
		if got := (&transition.Transition{Steps: test.steps}).String(); got != test.want {
			t.Errorf("%v: %s, want %s", test.steps, got, test.want)
		}
	}
}

// TestUnder finds a step by what it is rendered in, unless it is done or comes next.
func TestUnder(t *testing.T) {
	pools, volume := finding.Ref{Kind: "CStorPoolCluster", Name: "prod"}, finding.Ref{Kind: "CStorVolumeConfig", Name: "db"}
	all := []transition.Transition{{Steps: []transition.Step{
		{State: transition.Done, Kind: "replacement", Objects: []finding.Ref{pools}},
		{State: transition.Now, Kind: "drain", Objects: []finding.Ref{volume}},
		{State: transition.Next, Kind: "removal", Objects: []finding.Ref{pools}},
	}}}
	if at, found := transition.Under(all, volume); !found || at.Kind != "drain" || at.Number != 2 || at.Of != 3 {
		t.Errorf("%v, %t", at, found)
	}
	if at, found := transition.Under(all, pools); found {
		t.Errorf("%v is not under way", at)
	}
}
