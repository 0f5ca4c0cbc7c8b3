package schema

import (
	"encoding/json"
	"fmt"
	"testing"

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
