package hypercloud

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestToolboxFollows runs the script of the toolbox while the key is rotated and the
// monitors move.
func TestToolboxFollows(t *testing.T) {
	dir := t.TempDir()
	script := strings.NewReplacer("/etc/rook/", dir+"/", "/var/lib/rook-ceph-mon/", dir+"/", "/etc/ceph/", dir+"/", "sleep 10", "sleep 0.02").Replace(follow)
	write := func(name, text string) {
		t.Helper()
		// As the kubelet does it: in one step.
		if err := os.WriteFile(filepath.Join(dir, name+".new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name, want string) {
		t.Helper()
		var data []byte
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if data, _ = os.ReadFile(filepath.Join(dir, name)); string(data) == want {
				return
			}
		}
		t.Fatalf("%s has\n%s\nand not\n%s", name, data, want)
	}
	write("mon-endpoints", "a=10.0.0.1:6789,b=10.0.0.2:6789")
	write("secret.keyring", "AQold==")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Env = append(os.Environ(), "CEPH_USER=client.admin")
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	expect("keyring", "[client.admin]\nkey = AQold==\n")
	expect("ceph.conf", "[global]\nmon_host = 10.0.0.1:6789,10.0.0.2:6789\n\n[client.admin]\nkeyring = "+dir+"/keyring\n")
	write("secret.keyring", "Agnew==")
	expect("keyring", "[client.admin]\nkey = Agnew==\n")
	write("mon-endpoints", "c=10.0.0.3:6789")
	expect("ceph.conf", "[global]\nmon_host = 10.0.0.3:6789\n\n[client.admin]\nkeyring = "+dir+"/keyring\n")
}
