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
   "pv": [{"pv_uuid":"P1","pv_name":"/dev/sda","pv_size":"1000","pv_free":"400","pv_missing":"","pv_duplicate":"","vg_uuid":"G1"}],
   "lv": [{"lv_name":"data","lv_uuid":"L1","lv_path":"/dev/fast/data","lv_size":"600","lv_tags":"","lv_active":"active","lv_device_open":"open","origin":"","origin_uuid":"","vg_uuid":"G1"},
          {"lv_name":"snap","lv_uuid":"L2","lv_path":"","lv_size":"100","lv_tags":"","lv_active":"","lv_device_open":"","origin":"data","origin_uuid":"L1","vg_uuid":"G1"}],
   "pvseg": [], "seg": []},
  {"vg": [{"vg_name":"fast","vg_uuid":"G0","vg_size":"1","vg_free":"1","vg_extent_size":"1","vg_tags":"","vg_systemid":"","vg_lock_type":"","vg_exported":"","vg_partial":"partial"}],
   "pv": [{"pv_uuid":"P2","pv_name":"[unknown]","pv_size":"1","pv_free":"1","pv_missing":"missing","pv_duplicate":"","vg_uuid":"G0"}], "lv": []},
  {"pv": [{"pv_uuid":"P3","pv_name":"/dev/sdc","pv_size":"5","pv_free":"5","pv_missing":"","pv_duplicate":"","vg_uuid":""}]}
]}`

func TestRead(t *testing.T) {
	state, err := lvm.Read(context.Background(), tools(t, two))
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
		state, err := lvm.Read(context.Background(), tools(t, text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q was read as %+v, %v, want %s", text, state, err, want)
		}
	}
}
