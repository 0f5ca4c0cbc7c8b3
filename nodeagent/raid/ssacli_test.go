package raid_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/raid"
)

const smartArray = `
Smart Array P408i-a in Slot 0 (Embedded)
   Bus Interface: PCI
   Slot: 0
   Serial Number: PAAAA0BBBBBB1C
   Controller Status: OK

   Array A
      Interface Type: SAS
      Status: OK

      Logical Drive: 1
         Size: 279.37 GB
         Fault Tolerance: 0
         Status: OK
         Unique Identifier: 600508B1001C00112233445566778899
         Disk Name: /dev/sdb
         Logical Drive Label: data

      physicaldrive 1I:1:2
         Port: 1I
         Box: 1
         Bay: 2
         Status: OK
         Drive Type: Data Drive
         Serial Number: W460AAAA
         WWID: 5000C500A1B2C3D5
         Model: HP      EG0300FBLSE

   Unassigned
      physicaldrive 1I:1:1
         Status: OK
         Drive Type: Unassigned Drive
         Serial Number: W460BBBB
         WWID: 5000C500A1B2C3D6
         Model: HP      EG0300FBLSE

      physicaldrive 1I:1:3
         Status: Failed
         Drive Type: Unassigned Drive
         Serial Number: W460CCCC
`

// TestSmartArray: HPE's program is read, and nothing is changed with it.
func TestSmartArray(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssacli"), []byte("#!/bin/sh\n[ \"$*\" = 'controller all show config detail' ] && cat <<'END'\n"+smartArray+"END\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	reader, c, err := raid.Find(t.Context(), raid.Readers(&host.Tools{Root: "/", Folders: []string{dir, "/bin", "/usr/bin"}}), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, writes := reader.(raid.Adapter); writes {
		t.Error("it would be written with")
	}
	if c.Serial != "PAAAA0BBBBBB1C" || c.Model != "Smart Array P408i-a" || len(c.Drives) != 3 || len(c.Virtual) != 1 {
		t.Fatalf("%+v", c)
	}
	for i, want := range []raid.State{raid.Unconfigured, raid.Configured, raid.Unusable} {
		if d := c.Drives[i]; d.State != want || d.Slot != i+1 || *d.Enclosure != 1 {
			t.Errorf("%+v, want %s", d, want)
		}
	}
	if d, err := c.Drive("0x5000c500a1b2c3d6", "W460BBBB"); err != nil || d == nil || d.Model != "HP EG0300FBLSE" {
		t.Errorf("%+v, %v", d, err)
	}
	// The drives are sorted by box and bay, and not as they are reported.
	if v := c.Virtual[0]; !slices.Equal(v.Places, []string{"1I:1:2"}) || c.Over(c.Drives[1]) != &c.Virtual[0] || c.Over(c.Drives[0]) != nil || !c.Shows(c.Drives[1], v.WWN) {
		t.Errorf("%+v", v)
	}
	if v := c.Virtual[0]; v.ID != 1 || v.Level != raid.RAID0 || v.WWN != "0x600508b1001c00112233445566778899" || v.Name != "data" || !v.Optimal() {
		t.Errorf("%+v", v)
	}
}
