package source_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/internal/fixture"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// vgOf is what lvm says of a group fast, with tags and with logical volumes.
func vgOf(uuid, tags, more string, lvs ...string) string {
	return `{"vg": [{"vg_name":"fast","vg_uuid":"` + uuid + `","vg_size":"1000","vg_free":"400","vg_extent_size":"100","vg_tags":"` + tags +
		`","vg_systemid":"","vg_lock_type":"","vg_exported":"` + more + `","vg_partial":""}], "pv": [], "lv": [` + strings.Join(lvs, ",") + `]}`
}

// onDisk is the same of a group on the second disk.
func onDisk(group string) string {
	return strings.Replace(group, `"pv": []`, `"pv": [{"pv_uuid":"P2","pv_name":"/dev/sdb","pe_start":"0","pv_size":"1000","pv_free":"400","pv_missing":"","pv_duplicate":"","vg_uuid":"G1"}]`, 1)
}

// lvOf is what lvm says of a logical volume logs of the group G1.
func lvOf(tags string) string {
	return `{"lv_name":"logs","lv_uuid":"L1","lv_path":"","lv_size":"200","lv_tags":"` + tags + `","lv_active":"","lv_device_open":"","origin":"","origin_uuid":"","vg_uuid":"G1"}`
}

// saidEngine is an engine on a machine with two disks, for which lvm answers with some groups. It writes
// nothing: what it is asked for is a plan.
func saidEngine(t *testing.T, entry *step.Entry, groups ...string) *source.Engine {
	t.Helper()
	h := fixture.Machine(t, fixture.Disk("sda", "8:0", "naa.5000c500a1b2c3d4", "S1")+fixture.Disk("sdb", "8:16", "naa.5000c500a1b2c3d5", "S2")+
		"-- proc/1/mountinfo --\n-- proc/swaps --\nFilename Type Size Used Priority\n-- proc/cmdline --\nquiet\n")
	programs := t.TempDir()
	answer := "#!/bin/sh\ncat <<'END'\n{\"report\": [" + strings.Join(groups, ",") + "]}\nEND\n"
	if len(groups) == 1 && groups[0] == "" {
		answer = "#!/bin/sh\necho {}\n"
	}
	if err := os.WriteFile(filepath.Join(programs, "lvm"), []byte(answer), 0o755); err != nil {
		t.Fatal(err)
	}
	h.Tools = &host.Tools{Root: "/", Folders: []string{programs, "/bin", "/usr/bin", "/sbin", "/usr/sbin"}}
	folder := t.TempDir()
	journal, err := step.Open(folder)
	if err == nil && entry != nil {
		err = journal.Write(*entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &source.Engine{Host: h, Cluster: "test", Node: "n1", Folder: folder, Runner: step.Runner{Journal: journal}}
}

// TestSaid: what the condition Ready says on a bad day, with the name of the rule.
func TestSaid(t *testing.T) {
	const gone = "6f1f3c86-4d3e-5c6e-9c0a-0a8a7a6b5c4d"
	ours := mark.Cluster("test").Of(api.KindVolume, "logs", "n1")
	tag, ofGroup := mark.Tag(ours), mark.Tag(mark.Cluster("test").Of(api.KindVolumeGroup, "fast-n1", "n1"))
	raw := func(id api.DiskID) api.VolumeSpec { return api.VolumeSpec{Raw: &api.RawBlockDevice{Disk: &id}} }
	path := func(p string) api.VolumeSpec { return api.VolumeSpec{Raw: &api.RawBlockDevice{DevicePath: p}} }
	slice := api.VolumeSpec{LVM: &api.LVMLogicalVolume{VGName: "fast", Size: "500"}}
	made := &step.Entry{Object: "Volume/logs", UUID: ours, Made: true, Disk: step.Disk{WWN: "0x5000c500a1b2c3ff", Serial: "S9"}}
	for _, c := range []struct {
		spec   api.VolumeSpec
		adopt  string
		entry  *step.Entry
		groups []string
		want   string
	}{
		{spec: raw(api.DiskID{Serial: "S9"}), want: "rule not-found: no disk of this node has serial S9"},
		{spec: raw(api.DiskID{Size: "4Mi"}), want: "rule identity: neither wwn nor serial is declared"},
		{spec: path("/dev/disk/by-id/wwn-0x0"), want: "rule not-found: /dev/disk/by-id/wwn-0x0 is not on this node"},
		{spec: raw(api.DiskID{Serial: "S1"}), entry: made, want: `rule identity: /dev/sda (serial S1) is another disk than that of this object, which had wwn "0x5000c500a1b2c3ff" and serial "S9"`},
		{spec: raw(api.DiskID{Serial: "S1"}), adopt: "x", want: `rule adopt: the annotation poolwright.io/adopt is "x", which is no UUID in lower case`},
		{spec: raw(api.DiskID{Serial: "S1"}), entry: &step.Entry{Object: "Volume/logs", UUID: ours, Released: true, Path: "/dev/sda"},
			want: `rule adopt: a Volume of this name was deleted and its data kept (/dev/sda): annotate poolwright.io/adopt: "` + ours + `" to take it over, or give this Volume another name`},
		{spec: api.VolumeSpec{Sparse: &api.SparseLoopDevice{Size: "much"}}, want: `size "much" is no amount of bytes`},
		{spec: slice, want: "rule group: there is no volume group fast on this node"},
		{spec: slice, groups: []string{""}, want: "rule tool: LVM's state is not known: lvm fullreport: its answer has no report"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, ""), vgOf("G0", "", "")}, want: "rule group: two volume groups are named fast: G0 and G1"},
		{spec: slice, groups: []string{onDisk(vgOf("G1", ofGroup, ""))}, want: "rule group: the volume group fast on this node carries the mark of VolumeGroup/fast-n1, but /dev/sdb is no declared device of it"},
		{spec: slice, groups: []string{vgOf("G1", "", "")}, want: "rule group: the volume group fast on this node is not that of VolumeGroup/fast-n1"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "exported")}, want: "rule group: the group fast is exported"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "")}, want: "rule space: the group fast has 400 bytes free, and 500 are needed"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "")}, entry: made, want: "rule not-found: the logical volume of this Volume is gone from the group fast: it is not recreated; restore it, or delete the Volume"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "", lvOf(""))}, want: "rule content: the logical volume fast/logs is there, and does not carry the mark of this Volume"},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "", lvOf(tag+","+mark.Released))}, want: `rule adopt: fast/logs was given up: annotate poolwright.io/adopt: "` + ours + `" to take it over`},
		{spec: slice, groups: []string{vgOf("G1", ofGroup, "", lvOf(mark.Tag(gone)))}, want: "rule content: the logical volume fast/logs is there, and does not carry the mark of this Volume"},
	} {
		v := &api.Volume{ObjectMeta: metav1.ObjectMeta{Name: "logs", UID: "uid"}, Spec: c.spec}
		if c.adopt != "" {
			v.Annotations = map[string]string{api.AdoptAnnotation: c.adopt}
		}
		request := source.Request{Volume: v, Filesystem: source.Filesystem{Type: "ext4"}}
		if c.spec.LVM != nil {
			request.Group = &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "fast-n1"}}
		}
		if _, err := saidEngine(t, c.entry, c.groups...).Plan(context.Background(), request); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// TestGroupSaid is the same of a VolumeGroup.
func TestGroupSaid(t *testing.T) {
	ours := mark.Tag(mark.Cluster("test").Of(api.KindVolumeGroup, "fast-n1", "n1"))
	made := &step.Entry{Object: "VolumeGroup/fast-n1", Made: true}
	on := func(devices ...api.GroupDevice) api.VolumeGroupSpec {
		return api.VolumeGroupSpec{Name: "fast", Devices: devices}
	}
	disk := api.GroupDevice{DiskID: api.DiskID{Serial: "S1"}}
	for _, c := range []struct {
		spec   api.VolumeGroupSpec
		entry  *step.Entry
		groups []string
		want   string
	}{
		{spec: api.VolumeGroupSpec{Name: "fast"}, want: "rule source: the group has no source"},
		{spec: on(api.GroupDevice{}), want: "rule identity: a device of the group has neither wwn, serial nor devicePath"},
		{spec: api.VolumeGroupSpec{Name: "fast", VolumeRef: &api.VolumeRef{Name: "raw"}}, want: "rule not-found: there is no Volume raw on this node"},
		{spec: on(disk), groups: []string{vgOf("G1", "", "")}, want: "rule content: there is a volume group fast on this node that does not carry our mark (UUID G1)"},
		{spec: on(disk), groups: []string{onDisk(vgOf("G1", ours, ""))}, want: "rule group: the volume group fast (UUID G1) carries our mark, but /dev/sdb is no declared device of this VolumeGroup"},
		{spec: on(disk), groups: []string{vgOf("G1", ours, ""), vgOf("G0", ours, "")}, want: "rule twin: two volume groups have our mark: G0 and G1"},
		{spec: api.VolumeGroupSpec{Name: "slow", Devices: []api.GroupDevice{disk}}, groups: []string{vgOf("G1", ours, "")}, want: "rule group: the group of this VolumeGroup is named fast on the node"},
		{spec: on(disk), groups: []string{vgOf("G1", ours, "exported")}, want: "rule group: the group fast is exported"},
		{spec: on(disk), entry: made, want: "rule not-found: the volume group fast is gone: it is not recreated; restore it, or delete the VolumeGroup"},
	} {
		g := &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "fast-n1"}, Spec: c.spec}
		if _, err := saidEngine(t, c.entry, c.groups...).PlanGroup(context.Background(), source.GroupRequest{Group: g}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}
