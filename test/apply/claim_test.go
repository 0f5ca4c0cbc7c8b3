package apply

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/poolwright/poolwright/fn/krm"
)

// bind plays what provisions the volume of a claim, of a class that lets volumes grow, and
// waits until Kubernetes has bound it: the API server lets bound claims alone be raised.
func bind(t *testing.T, claim *krm.Object) {
	t.Helper()
	live := get(t, claim)
	if live.Str("status", "phase") == "Bound" {
		return
	}
	class, spec := live.Str("spec", "storageClassName"), live.Get("spec")
	for _, o := range parse(t, "volume", fmt.Appendf(nil, `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %[1]s}
provisioner: csi.example.com
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pvc-%[2]s}
spec:
  storageClassName: %[1]s
  volumeMode: %[3]s
  accessModes: [%[4]s]
  capacity: {storage: %[5]s}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: %[6]s, name: %[7]s, uid: %[2]s}
  csi: {driver: csi.example.com, volumeHandle: %[2]s}
`, class, live.Str("metadata", "uid"), cmp.Or(spec.Str("volumeMode"), "Filesystem"), spec.Seq("accessModes")[0].Value(), spec.Str("resources", "requests", "storage"), claim.Namespace, claim.Name)) {
		apply(t, o)
	}
	for deadline := time.Now().Add(5 * time.Minute); get(t, claim).Str("status", "phase") != "Bound"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not bound within a minute", claim.Ref)
		}
	}
}
