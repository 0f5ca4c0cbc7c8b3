package diskpool

import (
	"strings"
	"testing"

	"github.com/poolwright/poolwright/fn/disk"
)

// FuzzRelease holds that every text has a form, and that the form of a release is that of
// the newest row of the table that is not newer.
func FuzzRelease(f *testing.F) {
	for _, text := range []string{"2.10", "2.0", "2.5.1", "2.9-rc.1", "3.0", "2.", "", "v2.6", "2.10.1-develop.5", "2.99999999999999999999", "-1.-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := parseRelease(text)
		form := r.form()
		if form.apiVersion == "" {
			t.Fatalf("%q has no form", text)
		}
		if suffixed := parseRelease(text + "-rc.1"); strings.Count(text, ".") == 1 && suffixed != r {
			t.Errorf("%q is %v, and with a suffix %v", text, r, suffixed)
		}
		for _, row := range releases() {
			if r.newerThan(row.minor-1) && len(row.fields) > len(form.fields) {
				t.Errorf("%q has not the fields of 2.%d", text, row.minor)
			}
		}
	})
}

// FuzzURI holds that a disk is found by a path below /dev, or by its place on the bus, and
// that neither a query nor slashes before the path change which one it is.
func FuzzURI(f *testing.F) {
	for _, uri := range []string{
		"/dev/sdb", "aio:///dev/sdb?blk_size=512", "uring:///dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "uring://dev/sdb", "pcie:///0000:01:00.0",
		"nvme://0000:01:00.0", "malloc:///m0?size_mb=64", "aio://", "://", "", " /dev/sdb ", "aio:///dev/disk/by-path/pci-0000:3b:00.0-scsi-0:0:1:0", "?", "pcie:///",
	} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		hold, found := holdOf("n1", uri)
		if scheme, path := splitURI(uri); strings.Contains(path, "?") || strings.Contains(scheme, "?") {
			t.Errorf("%q has a query: %q, %q", uri, scheme, path)
		}
		if !found {
			return
		}
		if hold.Matches == nil && hold.Identity.Path == "" && len(hold.Identity.Links) == 0 {
			t.Errorf("%q names no disk: %+v", uri, hold)
		}
		again, found := holdOf("n1", uri+"?blk_size=512")
		if !found || again.Identity.String() != hold.Identity.String() {
			t.Errorf("%q is %v, and with a query %v", uri, hold.Identity, again.Identity)
		}
	})
}

// FuzzMark holds that what is remembered of a disk is read as it was written.
func FuzzMark(f *testing.F) {
	for _, text := range []string{"wwn=0x5000c500a1b2c3d4,serial=Z1,size=107374182400", "serial=a,b=c,size=1", "size=5", "serial=size=3", "wwn=,serial=,size=", "nonsense", "wwn=eui.0025385b71b0a5c1"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, text, serial string) {
		m := readMark(text)
		if strings.Contains(m.wwn, ",") || strings.Contains(m.size, ",") && strings.Contains(m.size, "size=") {
			t.Errorf("%q is read as %+v", text, m)
		}
		if strings.Contains(serial, "size=") {
			return // no serial number is like that
		}
		want := mark{wwn: disk.WWN("0x5000c500a1b2c3d4"), serial: serial, size: "42"}
		if got := readMark(want.String()); got != want {
			t.Errorf("%q is read as %+v", want.String(), got)
		}
	})
}

// FuzzSizes holds that a size is written in Mayastor's units, whatever is given.
func FuzzSizes(f *testing.F) {
	for _, text := range []string{"800Gi", "800GiB", "5x", "1.5x", "", "i", "2Gi", "0", "1e999999999", "-5Ki", "9223372036854775808"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if once := inBytes(text); inBytes(once) != once {
			t.Errorf("%q is %q, and again %q", text, once, inBytes(once))
		}
	})
}
