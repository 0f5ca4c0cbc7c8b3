package cstor

import "testing"

// The webhook claims the disk that replaces another, and only that.
func TestDryRunEffect(t *testing.T) {
	for _, c := range []struct{ name, live, wanted, want string }{
		{"nothing", "n1 mirror a,b", "n1 mirror a,b", ""},
		{"another order", "n1 mirror a,b c,d", "n1 mirror d,c b,a", ""},
		{"one disk", "n1 mirror a,b c,d", "n1 mirror a,b c,x", "x"},
		{"one disk, and the groups in another order", "n1 mirror a,b c,d", "n1 mirror x,d a,b", "x"},
		{"two disks of two groups", "n1 mirror a,b c,d;n2 mirror e,f", "n1 mirror a,y c,d;n2 mirror e,x", "x, y"},
		{"of a write cache", "n1 mirror a,b|mirror c,d", "n1 mirror a,b|mirror c,x", "x"},
		{"disks swap groups: refused before anything is claimed", "n1 mirror a,b c,d", "n1 mirror a,c b,d", ""},
		{"both disks: refused before anything is claimed", "n1 mirror a,b", "n1 mirror x,y", ""},
		{"a group more", "n1 mirror a,b", "n1 mirror a,b c,d", ""},
		{"a pool more", "n1 mirror a,b", "n1 mirror a,b;n2 mirror c,d", ""},
		{"a stripe grows", "n1 stripe a", "n1 stripe a,b", ""},
		{"a group shrinks", "n1 mirror a,b", "n1 mirror a", ""},
		{"another node", "n1 mirror a,b", "n2 mirror a,b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = "the admission webhook of cStor claims " + want + " even then"
			}
			live, wanted := parse(t, writtenCluster(c.live))[0], parse(t, writtenCluster(c.wanted))[0]
			if got := (System{}).DryRunEffect(live, wanted); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}"
	if got := (System{}).DryRunEffect(parse(t, claim)[0], parse(t, claim)[0]); got != "" {
		t.Errorf("a claim: %q", got)
	}
}
