//go:build unix

package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// exclude keeps other controllers out of the work tree, until the process ends.
func (w *WorkTree) exclude() error {
	f, err := os.OpenFile(filepath.Join(w.git, ownLock), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("%s: another controller commits to this work tree; stop it, or give each a work tree of its own with git worktree add", w.Dir)
		}
		return err
	}
	w.lock = f
	return nil
}
