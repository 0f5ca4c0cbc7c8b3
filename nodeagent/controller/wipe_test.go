package controller_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// wipe changes spec.wipe of a Volume.
func (c *cluster) wipe(t *testing.T, name, policy string) error {
	t.Helper()
	_, err := c.Resource(volume).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"wipe":"`+policy+`"}}`), metav1.PatchOptions{})
	return err
}

// TestWipeNone: with the reclaim policy Delete, none is refused before anything is made, and before anything is
// erased; with Retain it is taken.
func TestWipeNone(t *testing.T) {
	n := newDiskNode(t, 0, "ONE", "TWO")
	c := newCluster(t)
	for name, class := range map[string]string{"one": "delete", "two": "keep"} {
		c.apply(t, strings.Replace(rawVolume(name, strings.ToUpper(name), class, "Filesystem"), "mode:", "wipe: none, mode:", 1))
	}
	c.start(t, c.token(t, "n1"), t.TempDir(), n.line("")...)
	const refused = "spec.wipe is none, and the reclaim policy is Delete, which erases the data: write wipe: full or discard, or set the reclaim policy to Retain"
	says := func(reason string) {
		t.Helper()
		await(t, "it is not refused with "+reason, func() (bool, string) {
			got := c.get(t, volume, "one", "status", "conditions")
			return strings.Contains(got, refused) && strings.Contains(got, `"reason":"`+reason+`"`), got
		})
	}
	says("CreationError")
	c.phase(t, "two", "Available")
	if err := c.wipe(t, "one", "full"); err != nil {
		t.Fatal(err)
	}
	c.phase(t, "one", "Available")
	if err := c.wipe(t, "one", "none"); err != nil {
		t.Fatal(err)
	}
	if err := c.Resource(volume).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	says("DestructionError")
	if err := c.wipe(t, "one", "discard"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if err := c.Resource(volume).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !strings.Contains(err.Error(), "not found") {
			t.Fatal(err)
		}
		c.gone(t, name)
	}
	if got := n.inspect(t)["/dev/sda"]; !got.Usable {
		t.Errorf("what was to be erased: %+v", got)
	}
	if got := n.inspect(t)["/dev/sdb"]; len(got.Content) != 1 || got.Content[0] != "ext4" {
		t.Errorf("what was to be kept: %+v", got)
	}
}

// gone waits for the end of a Volume.
func (c *cluster) gone(t *testing.T, name string) {
	t.Helper()
	await(t, name+" is not gone", func() (bool, string) {
		got := c.get(t, volume, name, "status")
		return strings.Contains(got, "not found"), got
	})
}

// TestWipeProgress: how far an erase has come is in the status; a device that does not discard is written with zeros,
// and that is said; the policy cannot be changed meanwhile; and an agent that is started meanwhile continues.
func TestWipeProgress(t *testing.T) {
	n := newDiskNode(t, 1, "SLOW")
	c := newCluster(t)
	folder, token := t.TempDir(), c.token(t, "n1")
	c.apply(t, strings.Replace(rawVolume("slow", "SLOW", "delete", "Filesystem"), "mode:", "wipe: discard, mode:", 1))
	a := c.start(t, token, folder, n.line("")...)
	c.phase(t, "slow", "Available")

	n.hanging["SLOW"].HoldWrites(32 << 20)
	if err := c.Resource(volume).Delete(t.Context(), "slow", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the status does not say how far it has come", func() (bool, string) {
		got := c.get(t, volume, "slow", "status")
		return strings.Contains(got, `"wipe":{"bytes":67108864,"bytesDone":16777216,"policy":"full"}`), got
	})
	const note = "its device is being erased: zeros are written, because the device does not discard so that it reads as zeros"
	if got := c.get(t, volume, "slow", "status", "conditions"); !strings.Contains(got, note) {
		t.Errorf("the condition says %s", got)
	}
	if err := c.wipe(t, "slow", "full"); err == nil || !strings.Contains(err.Error(), "spec.wipe cannot be changed while the device is being erased") {
		t.Errorf("spec.wipe was changed: %v", err)
	}

	a.stop()
	c.start(t, token, folder, n.line("")...)
	await(t, "the next agent does not wait for what runs", func() (bool, string) {
		got := c.get(t, volume, "slow", "status", "conditions")
		return strings.Contains(got, "a program that was started earlier still runs"), got
	})
	n.hanging["SLOW"].HoldWrites(0)
	c.gone(t, "slow")
	if got := n.inspect(t)["/dev/sda"]; !got.Usable {
		t.Errorf("what was erased: %+v", got)
	}
}
