package source_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poolwright/poolwright/nodeagent/api"
	"github.com/poolwright/poolwright/nodeagent/guard"
	"github.com/poolwright/poolwright/nodeagent/host"
	"github.com/poolwright/poolwright/nodeagent/source"
	"github.com/poolwright/poolwright/nodeagent/step"
)

// TestNotCarriedOut: what has no source, and what is not on the node, is refused by the rule's name, and
// nothing of it is begun.
func TestNotCarriedOut(t *testing.T) {
	folder := t.TempDir()
	journal, err := step.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	h := host.New("/")
	h.Tools.Folders = []string{t.TempDir()} // without any program
	e := &source.Engine{Host: h, Cluster: "test", Node: "n1", Folder: folder, Runner: step.Runner{Journal: journal}}
	for name, test := range map[string]struct {
		spec api.VolumeSpec
		want guard.Rule
	}{
		"no program":   {api.VolumeSpec{RAID: &api.RAIDDAS{}}, guard.RuleTool},
		"missing part": {api.VolumeSpec{Partition: &api.PartitionSource{DevicePath: "/dev/disk/by-id/wwn-0x0", Size: "1Gi"}}, guard.RuleNotFound},
		"nothing":      {api.VolumeSpec{}, guard.RuleSource},
		"missing disk": {api.VolumeSpec{Raw: &api.RawBlockDevice{Disk: &api.DiskID{Serial: "of-no-disk"}}}, guard.RuleNotFound},
		"size alone":   {api.VolumeSpec{Raw: &api.RawBlockDevice{Disk: &api.DiskID{Size: "1Ti"}}}, guard.RuleIdentity},
		"missing link": {api.VolumeSpec{Raw: &api.RawBlockDevice{DevicePath: "/dev/disk/by-id/wwn-0x0"}}, guard.RuleNotFound},
	} {
		v := &api.Volume{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: test.spec}
		_, err := e.Apply(context.Background(), source.Request{Volume: v, Filesystem: source.Filesystem{Type: "ext4"}})
		var refusal guard.Refusal
		if !errors.As(err, &refusal) || refusal.Rule != test.want {
			t.Errorf("%s: %v, want the rule %s", name, err, test.want)
		}
	}
	e.Host.Tools.Folders = []string{t.TempDir()}
	_, err = e.Apply(context.Background(), source.Request{Volume: logical("data", "fast", "1Gi", api.Block)})
	var missing guard.Refusal
	if !errors.As(err, &missing) || missing.Rule != guard.RuleTool || missing.Reason() != api.ReasonToolMissing || !strings.Contains(err.Error(), "lvm is not on the node") {
		t.Errorf("a node without LVM: %v", err)
	}
	g := &api.VolumeGroup{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	_, err = e.ApplyGroup(context.Background(), source.GroupRequest{Group: g})
	var refusal guard.Refusal
	if !errors.As(err, &refusal) || refusal.Rule != guard.RuleSource {
		t.Errorf("a group: %v", err)
	}
	if entries, _ := filepath.Glob(filepath.Join(folder, "*", "*.json")); len(entries) > 0 {
		t.Errorf("something was begun: %v", entries)
	}
}
