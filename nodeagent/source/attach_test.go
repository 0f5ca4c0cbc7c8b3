package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/mark"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// TestAttach: after a boot the file of each complete Volume gets one loop device, from the journal alone, with its data.
// No other file is attached, and one that cannot be attached does not stop the others.
func TestAttach(t *testing.T) {
	needLoops(t)
	folder := filepath.Join(t.TempDir(), "agent")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dropLoops(t)(folder) })
	operations := []operation{{Apply: sparse("data", "40Mi", api.Filesystem), FS: "ext4"}, {Apply: sparse("block", "40Mi", api.Block)}}
	apply := func() (points []string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(folder, "progress")); err != nil {
			t.Fatal(err)
		}
		points, _, err := start(t, run{Folder: folder, Root: "/", KillAt: -1, Operations: operations})
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(points, "\n"))
		}
		return points
	}
	apply()
	engine, err := run{Folder: folder, Root: "/"}.engine(nil)
	if err != nil {
		t.Fatal(err)
	}
	engine.Cluster, engine.Node = "", "" // not needed
	journal := engine.Runner.Journal
	// Files that must not be attached, each with its entry in the journal.
	for object, e := range map[string]step.Entry{
		"Volume/kept":    {Made: true, Released: true},
		"Volume/begun":   {Step: "create-file", Done: true},
		"Volume/ending":  {Made: true, Step: "detach-loop"},
		"Volume/strange": {Made: true, UUID: "../journal/Volume_data.json"},
	} {
		e.Object = object
		if e.UUID == "" {
			e.UUID = uuid.NewString()
			write(t, filepath.Join(folder, "sparse", e.UUID), make([]byte, 1<<20))
		}
		if err := journal.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(folder, "sparse", uuid.NewString()), make([]byte, 1<<20)) // in no journal
	gone := step.Entry{Object: "Volume/gone", UUID: uuid.NewString(), Made: true}
	if err := journal.Write(gone); err != nil {
		t.Fatal(err)
	}
	before := journalText(t, journal.Folder)

	dropLoops(t)(folder) // as a boot does
	attached, err := engine.Attach()
	if err != nil {
		t.Error(err)
	}
	if len(attached) != 2 || !strings.HasPrefix(attached[0], "Volume/block: /dev/loop") || !strings.HasPrefix(attached[1], "Volume/data: /dev/loop") {
		t.Errorf("attached: %q", attached)
	}
	if now := journalText(t, journal.Folder); now != before {
		t.Errorf("the journal was %s\nand is %s", before, now)
	}
	for _, point := range apply() {
		// The kernel of this machine may not read partition tables by itself.
		if fields := strings.Fields(point); fields[2] != "announce-partition" {
			t.Errorf("left to be done: %s", point)
		}
	}
	if again, err := engine.Attach(); err != nil || len(again) > 0 {
		t.Errorf("what is attached was attached again: %q %v", again, err)
	}

	// A damaged journal of one, and a loop device over a part of the file of another.
	dropLoops(t)(folder)
	write(t, filepath.Join(journal.Folder, "Volume_broken.json"), []byte(`{"obj`))
	file := filepath.Join(folder, "sparse", mark.Cluster("test").Of(api.KindVolume, "block", "n1"))
	shell(t, "losetup --find --offset 1048576 "+file)
	attached, err = engine.Attach()
	if err == nil || !strings.Contains(err.Error(), "Volume/broken") || !strings.Contains(err.Error(), "Volume/block") || !strings.Contains(err.Error(), "rule twin") {
		t.Errorf("%v does not name both", err)
	}
	if len(attached) != 1 || !strings.HasPrefix(attached[0], "Volume/data: ") {
		t.Errorf("attached: %q", attached)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// journalText is all of the journal.
func journalText(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	slices.Sort(files)
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(file + "\n" + string(data))
	}
	return text.String()
}
