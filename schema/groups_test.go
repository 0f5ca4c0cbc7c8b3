package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwright/poolwright/schema/finding"
	"github.com/poolwright/poolwright/schema/raid"
)

// Disk counts and group sizes, given or not, for every small count: a count is right
// where groups of the right size make it.
func TestGroups(t *testing.T) {
	s := Load()
	for _, raidType := range []string{"stripe", "mirror", "raidz", "raidz2"} {
		for count := range 25 { // 0: not given
			for group := range 12 {
				text := fmt.Sprintf(`{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: a, namespace: b},
spec: {diskConfig: {local: {}, minCount: %s, groupSize: %s}, poolConfig: {raidType: %s}}}`, given(count), given(group), raidType)
				src, ref, n := parsed(t, text)
				completed, findings := s.Complete(src.Position, ref, n)
				wantCount, wantGroup, ok := groups(raidType, count, group)
				if ok == finding.Failed(findings) {
					t.Fatalf("%s minCount %s groupSize %s: want ok %v, got %v", raidType, given(count), given(group), ok, findings)
				}
				if !ok {
					continue
				}
				var got struct {
					Spec struct {
						DiskConfig struct{ MinCount, GroupSize int }
					}
				}
				if err := json.Unmarshal(completed, &got); err != nil {
					t.Fatal(err)
				}
				if d := got.Spec.DiskConfig; d.MinCount != wantCount || d.GroupSize != wantGroup {
					t.Fatalf("%s minCount %s groupSize %s: want %d in groups of %d, got %+v", raidType, given(count), given(group), wantCount, wantGroup, d)
				}
			}
		}
	}
}

// An entry of spec.pools takes the groups of diskConfig where these fit it, and else has its
// own, whatever of it is given.
func TestListedGroups(tb *testing.T) {
	s := Load()
	types := []string{"stripe", "mirror", "raidz", "raidz2"}
	rapid.Check(tb, func(t *rapid.T) {
		all, own := rapid.SampledFrom(types).Draw(t, "all"), rapid.SampledFrom(append(types, "")).Draw(t, "own")
		count, group := rapid.IntRange(0, 12).Draw(t, "count"), rapid.IntRange(0, 6).Draw(t, "group")
		listedCount, listedGroup := rapid.IntRange(0, 12).Draw(t, "listed count"), rapid.IntRange(0, 6).Draw(t, "listed group")
		text := fmt.Sprintf(`{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: a, namespace: b},
spec: {diskConfig: {local: {}, minCount: %s, groupSize: %s}, poolConfig: {raidType: %s}, pools: [{node: n, minCount: %s, groupSize: %s, raidType: %s}]}}`,
			given(count), given(group), all, given(listedCount), given(listedGroup), own)
		src, ref, n := parsed(tb, text)
		completed, findings := s.Complete(src.Position, ref, n)
		wantCount, wantGroup, ok := groups(all, count, group)
		raidType := cmp.Or(own, all)
		if listedCount == 0 && raidType == all {
			listedCount = wantCount
		}
		if listedGroup == 0 && ok && raidType == all && raidType != "stripe" && listedCount%wantGroup == 0 {
			listedGroup = wantGroup
		}
		wantCount, wantGroup, listedOK := groups(raidType, listedCount, listedGroup)
		if ok = ok && listedOK; ok == finding.Failed(findings) {
			t.Fatalf("%s: want ok %v, got %v", text, ok, findings)
		}
		if !ok {
			return
		}
		var got struct {
			Spec struct {
				Pools []struct {
					RAIDType            string
					MinCount, GroupSize int
				}
			}
		}
		if err := json.Unmarshal(completed, &got); err != nil {
			t.Fatal(err)
		}
		if p := got.Spec.Pools[0]; p.RAIDType != raidType || p.MinCount != wantCount || p.GroupSize != wantGroup {
			t.Fatalf("%s: want %s, %d in groups of %d, got %+v", text, raidType, wantCount, wantGroup, p)
		}
	})
}

func given(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func groups(raidType string, count, group int) (int, int, bool) {
	if count == 0 {
		count = map[string]int{"stripe": 2, "mirror": 2, "raidz": 3, "raidz2": 6}[raidType]
	}
	valid := func(size int) bool {
		return raid.IsGroup(raidType, size) && (raidType != "stripe" || size == count)
	}
	if group == 0 {
		switch {
		case raidType == "mirror":
			group = 2
		case valid(count):
			group = count
		default:
			for size := 1; size <= count && group == 0; size++ {
				if valid(size) && count%size == 0 {
					group = size
				}
			}
		}
	}
	return count, group, group > 0 && valid(group) && count%group == 0
}
