package place

import (
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

func TestSummarize(t *testing.T) {
	small := func(size int64, text string) Refusal {
		return Refusal{Reason: "it is too small: " + text + ", wanted 3Ti", Size: size}
	}
	reasons := func(texts ...string) (refusals []Refusal) {
		for _, text := range texts {
			refusals = append(refusals, Refusal{Reason: text})
		}
		return refusals
	}
	for _, c := range []struct {
		name     string
		refusals []Refusal
		want     string
	}{
		{"none", nil, ""},
		{"the largest was near", []Refusal{small(1<<30, "1Gi"), small(2<<40, "2Ti"), small(1<<40, "1Ti")}, "3 too small with 2Ti at most"},
		{"of unknown size", []Refusal{small(0, "?")}, "1 too small"},
		{"the most frequent first", reasons("it has partitions", "it has a filesystem: ext4", "it has a filesystem: xfs"), "2 with a filesystem, 1 with partitions"},
		{"names do not count", reasons(
			"it is PersistentVolume pv-1 of claim a/b", "it is PersistentVolume pv-2",
			"it has the same serial number or by-id link as bd-1", "it has the same serial number or by-id link as bd-2",
			`it is tagged "a"`, `it is tagged "b"`, "it is claimed by x", "it is claimed, and the claim is not in the inventory",
		), "2 claimed, 2 tagged, 2 used as a PersistentVolume, 2 with the same serial number or by-id link"},
		{"a state", reasons("it is Inactive, not Active"), "1 Inactive"},
		{"of nodes", reasons("it is cordoned", "it has the taint a=b:NoSchedule, which is not tolerated", "it has no label kubernetes.io/hostname"),
			"1 cordoned, 1 with no label kubernetes.io/hostname, 1 with the taint a=b:NoSchedule"},
		{"no sentence about it", reasons("the data disks are cloud disks", "its capacity cannot be read"), "1 where the data disks are cloud disks, 1 whose capacity cannot be read"},
		{"a long list is cut", reasons("it is a", "it is b", "it is c", "it is d", "it is e", "it is f", "it is g"), "1 a, 1 b, 1 c, 1 d, 1 e, 2 others"},
	} {
		if got := Summarize(c.refusals); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTallies(t *testing.T) {
	node := func(name string) finding.Ref { return finding.Ref{Kind: "Node", Name: name} }
	disk := func(name string) finding.Ref { return finding.Ref{Kind: "BlockDevice", Name: name} }
	got := ""
	for _, tally := range Tallies([]Choice{
		{Subject: node("a"), Verdict: Kept, Reason: "it is in the plan"},
		{Subject: node("a"), Verdict: Held, Reason: "it is too many"},
		{Subject: disk("d1"), Verdict: Refused, Reason: "it is too small: 1, wanted 2"},
		{Subject: node("b"), Verdict: Chosen},
		{Subject: disk("d2"), Verdict: Free},
		{Subject: disk("d3"), Verdict: Chosen},
	}, func(finding.Ref) int64 { return 1 << 30 }) {
		got += tally.String() + "\n"
	}
	want := `2 nodes: 1 chosen, 1 held
3 block devices: 1 chosen, 1 free, 1 refused: 1 too small with 1Gi at most
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestInOrder(t *testing.T) {
	node := func(name string, v Verdict) Choice {
		return Choice{Subject: finding.Ref{Kind: "Node", Name: name}, Node: name, Verdict: v}
	}
	disk := func(name, node string, v Verdict) Choice {
		return Choice{Subject: finding.Ref{Kind: "BlockDevice", Namespace: "x", Name: name}, Node: node, Verdict: v}
	}
	got := ""
	for _, c := range InOrder([]Choice{
		disk("d1", "b", Refused), node("c", Refused), disk("d2", "gone", Held), node("b", Chosen), disk("d3", "a", Free),
		node("a", Refused), disk("d4", "b", Chosen), disk("d5", "c", Free), disk("d6", "b", Chosen), disk("d7", "", Refused),
	}) {
		got += c.Subject.Name + " "
	}
	if want := "b a c d4 d6 d1 d3 d5 d2 d7 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
