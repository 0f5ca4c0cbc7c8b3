package vm

import (
	"os/exec"
	"testing"
)

// TestEmulatorFailed: only what no disk can be the reason of is tried again.
func TestEmulatorFailed(t *testing.T) {
	for name, test := range map[string]struct {
		end, console string
		want         bool
	}{
		"an assertion":             {"kill -ABRT $$", "", true},
		"an assertion, later":      {"kill -ABRT $$", "\n" + drivers + "\r\n", true},
		"it hung":                  {"kill -KILL $$", "", true},
		"it hung over its disks":   {"kill -KILL $$", "\n" + drivers + "\r\n", false},
		"it ended over its disks":  {"exit 1", drivers, false},
		"a wrong option of QEMU's": {"exit 1", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := emulatorFailed(exec.Command("sh", "-c", test.end).Run(), []byte(test.console)); got != test.want {
				t.Errorf("%t", got)
			}
		})
	}
}
