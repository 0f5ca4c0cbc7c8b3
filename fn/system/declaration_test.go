package system

import "testing"

func TestReads(t *testing.T) {
	for _, c := range []struct {
		only []string
		name string
		want bool
	}{
		{nil, "anything", true},
		{[]string{"cdi-operator"}, "cdi-operator", true},
		{[]string{"cdi-operator"}, "cdi-operator-2", false},
		{[]string{"*.ceph.rook.io", "cdis.cdi.kubevirt.io"}, "cephclusters.ceph.rook.io", true},
		{[]string{"*.ceph.rook.io", "cdis.cdi.kubevirt.io"}, "volumes.example.com", false},
		{[]string{"["}, "[", false},
	} {
		kind := Kind{Only: c.only}
		if got := kind.Reads(c.name); got != c.want {
			t.Errorf("of %q %s: %t", c.only, c.name, got)
		}
	}
}
