package tutorial_test

import (
	"path/filepath"
	"testing"

	"github.com/poolwright/poolwright/test/tool"
	"github.com/poolwright/poolwright/test/tutorial"
)

// TestTopics runs the commands of the pages that need no cluster.
func TestTopics(t *testing.T) {
	reader := tutorial.StartAlone(t, root)
	for _, page := range []string{"docs/package.md", "docs/inventory.md", "docs/plan.md", "docs/status.md", "docs/verify.md", "docs/doctor.md", "docs/kustomize.md", "docs/diskpool.md", "docs/listed-pools.md", "docs/cstor-volumes.md", "docs/hypercloud.md"} {
		t.Run(page, func(t *testing.T) {
			if page == "docs/kustomize.md" {
				tool.Need(t, "kustomize")
				tool.Need(t, "kubectl")
			}
			tutorial.Run(t, filepath.Join(root, page), reader)
		})
	}
}
