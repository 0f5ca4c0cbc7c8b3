package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/poolwright/poolwright/schema/finding"
)

// The rules of RAID groups, worked out once more in Go, for every small count.
func TestGroups(t *testing.T) {
	s := Load()
	for _, raid := range []string{"stripe", "mirror", "raidz", "raidz2"} {
		for count := range 25 { // 0: not given
			for group := range 12 {
				text := fmt.Sprintf(`{apiVersion: dao.mayadata.io/v1alpha1, kind: CStorClusterConfig, metadata: {name: a, namespace: b},
spec: {diskConfig: {local: {}, minCount: %s, groupSize: %s}, poolConfig: {raidType: %s}}}`, given(count), given(group), raid)
				src, ref, n := parsed(t, text)
				completed, findings := s.Complete(src.Position, ref, n)
				wantCount, wantGroup, ok := groups(raid, count, group)
				if ok == finding.Failed(findings) {
					t.Fatalf("%s minCount %s groupSize %s: want ok %v, got %v", raid, given(count), given(group), ok, findings)
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
					t.Fatalf("%s minCount %s groupSize %s: want %d in groups of %d, got %+v", raid, given(count), given(group), wantCount, wantGroup, d)
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

func groups(raid string, count, group int) (int, int, bool) {
	if count == 0 {
		count = map[string]int{"stripe": 2, "mirror": 2, "raidz": 3, "raidz2": 6}[raid]
	}
	valid := func(size int) bool {
		switch raid {
		case "mirror":
			return size%2 == 0
		case "raidz":
			return size >= 3 && powerOfTwo(size-1)
		case "raidz2":
			return size >= 6 && powerOfTwo(size-2)
		}
		return size == count
	}
	if group == 0 {
		switch {
		case raid == "mirror":
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

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }
