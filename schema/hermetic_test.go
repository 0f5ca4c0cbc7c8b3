package schema

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// CUE reads its environment variables once in each process, so another process
// shows that they change nothing.
func TestEnvironmentChangesNothing(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal("no path of the test binary:", err)
	}
	for _, env := range [][]string{
		{"CUE_DEBUG=opendef,sortfields,sharing=0,strict", "CUE_EXPERIMENT=evalv3=0,toposort=0,keepvalidators=0"},
		{"CUE_DEBUG=nonsense", "CUE_EXPERIMENT=nonsense"},
	} {
		cmd := exec.Command(exe, "-test.v", "-test.run=^(TestComplete|TestExport)$")
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", env, err, out)
		}
		for _, test := range []string{"TestComplete", "TestExport"} {
			if !bytes.Contains(out, []byte("--- PASS: "+test+" ")) {
				t.Errorf("%s: %s did not run", env, test)
			}
		}
	}
}
