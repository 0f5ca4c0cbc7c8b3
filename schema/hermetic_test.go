package schema

import (
	"os"
	"os/exec"
	"testing"
)

// CUE reads its environment variables once a process, so another process shows
// that they change nothing.
func TestEnvironmentChangesNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("no path of the test binary:", err)
	}
	for _, env := range []string{
		"CUE_DEBUG=opendef,sortfields,sharing=0,strict",
		"CUE_DEBUG=nonsense",
		"CUE_EXPERIMENT=evalv3=0,toposort=0,keepvalidators=0",
		"CUE_EXPERIMENT=nonsense",
	} {
		cmd := exec.Command(exe, "-test.run=^(TestComplete|TestExport)$")
		cmd.Env = append(os.Environ(), env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", env, err, out)
		}
	}
}
