package watch_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// deploy applies deploy/status strictly; the API server warns of nothing.
func deploy(t *testing.T, k *kube) {
	t.Helper()
	before := len(k.warnings.all)
	for _, file := range []string{"namespace.yaml", "rbac.yaml", "deployment.yaml"} {
		k.apply(t, read(t, filepath.Join("../../deploy/status", file)))
	}
	settled(t, plane.AwaitAllowed)
	if warned := k.warnings.all[before:]; len(warned) > 0 {
		t.Errorf("deploy/status: warned of: %v", warned)
	}
}

// impersonating writes a kubeconfig with which one is somebody else.
func impersonating(t *testing.T, user string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range config.AuthInfos {
		auth.Impersonate = user
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
