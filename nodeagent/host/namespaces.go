package host

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces are those of process 1 that programs need: its files, the semaphores by
// which LVM and udev wait for each other, its host name (LVM's system ID), its network
// (in which udev sends).
var namespaces = []struct {
	name string
	kind int
}{
	{"ipc", unix.CLONE_NEWIPC}, {"uts", unix.CLONE_NEWUTS}, {"net", unix.CLONE_NEWNET}, {"mnt", unix.CLONE_NEWNS},
}

// start starts a program, in the namespaces of process 1 if it is to. A thread that has
// entered them is never used for anything else: it ends with its goroutine.
func (t *Tools) start(cmd *exec.Cmd) error {
	if !t.Enter {
		return cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := enter(); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

func enter() error {
	// The mount namespace is entered last: after it /proc may be another.
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, ns := range namespaces {
		f, err := os.Open("/proc/1/ns/" + ns.name)
		if err != nil {
			return fmt.Errorf("the node's %s namespace: %w (the pod needs hostPID and privileged)", ns.name, err)
		}
		files = append(files, f)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	for i, ns := range namespaces {
		if err := unix.Setns(int(files[i].Fd()), ns.kind); err != nil {
			return fmt.Errorf("the node's %s namespace: %w", ns.name, err)
		}
	}
	return nil
}
