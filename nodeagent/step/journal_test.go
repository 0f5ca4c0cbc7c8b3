package step_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/nodeagent/step"
)

// TestNoJournalNoStep: where the journal cannot be written, the step is not taken.
func TestNoJournalNoStep(t *testing.T) {
	journal := step.Journal{Folder: filepath.Join(t.TempDir(), "gone")}
	written := false
	err := step.Runner{Journal: journal}.Run(context.Background(), step.Step{
		Entry: step.Entry{Object: "Volume/data"},
		Do:    func(context.Context, io.Closer) error { written = true; return nil },
		Check: func(context.Context) error { return nil },
	})
	if err == nil || written {
		t.Errorf("written %v, %v", written, err)
	}
}

// TestRunner: the journal is on the disk before the step, and says that it has ended only
// when its effect is there. What was refused was not begun.
func TestRunner(t *testing.T) {
	journal, err := step.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bad := errors.New("bad")
	for name, test := range map[string]struct {
		prepare, do, check error
		begun, done        bool
	}{
		"whole":          {nil, nil, nil, true, true},
		"refused":        {bad, nil, nil, false, false},
		"failed":         {nil, bad, nil, true, false},
		"without effect": {nil, nil, bad, true, false},
	} {
		object := "Volume/" + name
		err := step.Runner{Journal: journal}.Run(context.Background(), step.Step{
			Kind: "make", Entry: step.Entry{Object: object},
			Prepare: func(context.Context) (io.Closer, error) { return nil, test.prepare },
			Do: func(context.Context, io.Closer) error {
				if e, err := journal.Read(object); err != nil || e.Step != "make" || e.Done {
					t.Errorf("%s: the journal has %+v, %v while it is written", name, e, err)
				}
				return test.do
			},
			Check: func(context.Context) error { return test.check },
		})
		if (err == nil) != test.done {
			t.Errorf("%s: %v", name, err)
		}
		e, err := journal.Read(object)
		if err != nil || (e.Step != "") != test.begun || e.Done != test.done {
			t.Errorf("%s: the journal has %+v, %v", name, e, err)
		}
	}
}

// TestCutOff: what was cut off counts on the same disk alone.
func TestCutOff(t *testing.T) {
	disk := step.Disk{Serial: "S1", Size: 10, Seq: 7, Boot: "a"}
	e := step.Entry{Step: "make", Disk: disk}
	for name, test := range map[string]struct {
		disk step.Disk
		want bool
	}{
		"same":                   {disk, true},
		"plugged in again":       {step.Disk{Serial: "S1", Size: 10, Seq: 8, Boot: "a"}, false},
		"after a boot":           {step.Disk{Serial: "S1", Size: 10, Seq: 3, Boot: "b"}, true},
		"another after a boot":   {step.Disk{Serial: "S2", Size: 10, Seq: 7, Boot: "b"}, false},
		"another size":           {step.Disk{Serial: "S1", Size: 11, Seq: 7, Boot: "a"}, false},
		"another logical volume": {step.Disk{Serial: "S1", Size: 10, Seq: 7, Boot: "a", UUID: "LVM-x"}, false},
	} {
		if got := e.CutOff(test.disk, "make"); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if e.CutOff(disk, "other") || (step.Entry{Step: "make", Done: true, Disk: disk}).CutOff(disk, "make") {
		t.Error("another step, or one that has ended, counts as cut off")
	}
}

// TestJournal: a file that is not understood is an error, and no reason to start again; a lock
// is held once.
func TestJournal(t *testing.T) {
	journal, err := step.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Write(step.Entry{Object: "Volume/data", UUID: "u"}); err != nil {
		t.Fatal(err)
	}
	all, err := journal.All()
	if err != nil || len(all) != 1 || all[0].Object != "Volume/data" {
		t.Errorf("%+v, %v", all, err)
	}
	lock, err := journal.Lock("Volume/data")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Lock("Volume/data"); !errors.Is(err, step.ErrBusy) {
		t.Errorf("locked twice: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(journal.Folder, "Volume_data.json"), []byte(`{"obj`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Read("Volume/data"); err == nil {
		t.Error("a damaged entry was read")
	}
}
