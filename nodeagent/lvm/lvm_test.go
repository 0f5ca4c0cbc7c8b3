package lvm_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/lvm"
)

// tools answer for lvm with a text.
func tools(t *testing.T, text string) *host.Tools {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncat <<'END'\n" + text + "\nEND\n"
	if err := os.WriteFile(filepath.Join(dir, "lvm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &host.Tools{Root: "/", Folders: []string{dir, "/bin", "/usr/bin"}}
}

const two = `{"report": [
  {"vg": [{"vg_name":"fast","vg_uuid":"G1","vg_size":"1000","vg_free":"400","vg_extent_size":"100","vg_tags":"poolwright.io_uuid=u1,tier=fast","vg_systemid":"","vg_lock_type":"","vg_exported":"","vg_partial":""}],
   "pv": [{"pv_uuid":"P1","pv_name":"/dev/sda","pe_start":"0","pv_size":"1000","pv_free":"400","pv_missing":"","pv_duplicate":"","vg_uuid":"G1"}],
   "lv": [{"lv_name":"data","lv_uuid":"L1","lv_path":"/dev/fast/data","lv_size":"600","lv_tags":"","lv_active":"active","lv_device_open":"open","origin":"","origin_uuid":"","vg_uuid":"G1"},
          {"lv_name":"snap","lv_uuid":"L2","lv_path":"","lv_size":"100","lv_tags":"","lv_active":"","lv_device_open":"","origin":"data","origin_uuid":"L1","vg_uuid":"G1"}],
   "pvseg": [], "seg": []},
  {"vg": [{"vg_name":"fast","vg_uuid":"G0","vg_size":"1","vg_free":"1","vg_extent_size":"1","vg_tags":"","vg_systemid":"","vg_lock_type":"","vg_exported":"","vg_partial":"partial"}],
   "pv": [{"pv_uuid":"P2","pv_name":"[unknown]","pe_start":"0","pv_size":"1","pv_free":"1","pv_missing":"missing","pv_duplicate":"","vg_uuid":"G0"}], "lv": []},
  {"pv": [{"pv_uuid":"P3","pv_name":"/dev/sdc","pe_start":"0","pv_size":"5","pv_free":"5","pv_missing":"","pv_duplicate":"","vg_uuid":""}]}
]}`

func TestRead(t *testing.T) {
	state, err := lvm.Read(context.Background(), tools(t, two), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Named("fast")) != 2 || len(state.Orphans) != 1 {
		t.Fatalf("%+v", state)
	}
	group := func(uuid string) *lvm.Group {
		return &state.Groups[slices.IndexFunc(state.Groups, func(g lvm.Group) bool { return g.UUID == uuid })]
	}
	g := group("G1")
	if g.Free != 400 || g.Whole() != nil || g.Extents(401) != 500 || len(g.PVs) != 1 || len(g.Tags) != 2 {
		t.Errorf("%+v, %v", g, g.Whole())
	}
	if data := g.Find("data"); !data.Active || !data.Open || !data.Snapshots || data.Size != 600 {
		t.Errorf("%+v", data)
	}
	if partial := group("G0"); partial.Whole() == nil || partial.MissingPVs[0] != "P2" {
		t.Errorf("a group that misses a physical volume is whole: %+v", partial)
	}
	if state.Of("/dev/sda") != g || state.Of("/dev/sdz") != nil {
		t.Error("the group of a device is not found")
	}
}

// TestWhole: nothing is written to a group that is not plainly this node's.
func TestWhole(t *testing.T) {
	for want, g := range map[string]lvm.Group{
		"the group fast is exported":                                                     {Exported: true},
		"the group fast misses physical volumes: P1, P2":                                 {Partial: true, MissingPVs: []string{"P1", "P2"}},
		`the group fast has the system ID "other": it belongs to one host among several`: {SystemID: "other"},
		"the group fast is shared (lock type sanlock)":                                   {LockType: "sanlock"},
		"the group fast has a physical volume that is there twice: /dev/sdb":             {PVs: []lvm.PV{{Path: "/dev/sda"}, {Path: "/dev/sdb", Duplicate: true}}},
	} {
		g.Name = "fast"
		if err := g.Whole(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if g := (lvm.Group{LockType: "none"}); g.Whole() != nil {
		t.Error(g.Whole())
	}
}

// TestGarbage: what is not understood is an error, and never an empty list.
func TestGarbage(t *testing.T) {
	const noJSON = "lvm fullreport: its answer is not JSON: "
	for text, want := range map[string]string{
		"": noJSON, "{": noJSON, `{"report": [`: noJSON, `[]`: noJSON, two[:len(two)/2]: noJSON,
		`{}`: "lvm fullreport: its answer has no report",
		strings.Replace(two, `"1000"`, `"1.0g"`, 1):               `lvm: vg_size is "1.0g", which is no number of bytes`,
		strings.Replace(two, `"vg_uuid":"G1"`, `"vg_uuid":""`, 1): "lvm: a group has no UUID",
	} {
		state, err := lvm.Read(context.Background(), tools(t, text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q was read as %+v, %v, want %s", text, state, err, want)
		}
	}
}

// TestSystemID: a group of this host is its own, whatever gives the host its system ID; one of another host, or
// of a host that does not say its own, is not.
func TestSystemID(t *testing.T) {
	report := strings.Replace(two, `"vg_systemid":""`, `"vg_systemid":"n1"`, 1)
	for own, want := range map[string]string{
		"  system ID: n1": "", "  system ID: n2": "n1", "  system ID: ": "n1", "": "n1",
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\nif [ $1 = systemid ]; then echo '" + own + "'; exit; fi\ncat <<'END'\n" + report + "\nEND\n"
		if err := os.WriteFile(filepath.Join(dir, "lvm"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		state, err := lvm.Read(t.Context(), &host.Tools{Root: "/", Folders: []string{dir, "/bin", "/usr/bin"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(state.Groups, func(g lvm.Group) bool { return g.UUID == "G1" })
		if got := state.Groups[at].SystemID; got != want {
			t.Errorf("%q: the group is of the system %q, want %q", own, got, want)
		}
	}
}

// TestHidden: no command of LVM looks at logical volumes or at what is hidden, and what the host's own filter
// rejects stays rejected.
func TestHidden(t *testing.T) {
	const noFilter = `echo '  Configuration node devices/global_filter not found' >&2; exit 5`
	for name, test := range map[string]struct {
		hidden lvm.Hidden
		host   string // what lvm dumpconfig does
		want   string
	}{
		"nothing":     {nil, "exit 1", "devices { scan_lvs=0 }"},
		"a partition": {lvm.Hidden{"/dev/sdb1", "/dev/disk/by-id/a+b"}, noFilter, `devices { scan_lvs=0 global_filter=[ "r|^/dev/sdb1$|", "r|^/dev/disk/by-id/a.b$|" ] }`},
		"a list":      {lvm.Hidden{"/dev/sdb1"}, `echo '  global_filter=["r|^/dev/sdz|","a|.*|"]'`, `devices { scan_lvs=0 global_filter=[ "r|^/dev/sdb1$|", "r|^/dev/sdz|","a|.*|" ] }`},
		"a text":      {lvm.Hidden{"/dev/sdb1"}, `echo 'global_filter="r|^/dev/sdz|"'`, `devices { scan_lvs=0 global_filter=[ "r|^/dev/sdb1$|", "r|^/dev/sdz|" ] }`},
		"garbage":     {lvm.Hidden{"/dev/sdb1"}, `echo '{['`, "error: lvm dumpconfig: its answer is not understood: \"{[\""},
		"a failure":   {lvm.Hidden{"/dev/sdb1"}, `echo no >&2; exit 3`, "error: lvm dumpconfig: its answer is not understood: \"\"\nlvm dumpconfig: exit 3: no"},
		"too much":    {slices.Repeat(lvm.Hidden{"/dev/nvme0n1p1"}, 10_000), noFilter, "error: lvm: the filter that hides 10000 names of devices has 230039 bytes, and may have 122880"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lvm"), []byte("#!/bin/sh\n"+test.host+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		args, err := test.hidden.Command(t.Context(), &host.Tools{Root: "/", Folders: []string{dir, "/bin", "/usr/bin"}}, "vgs", "-v")
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else if got = args[2]; args[0] != "vgs" || args[1] != "--config" || args[3] != "-v" {
			t.Errorf("%s: %q", name, args)
		}
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}
