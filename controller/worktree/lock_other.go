//go:build !unix

package worktree

import "errors"

func (w *WorkTree) exclude() error {
	return errors.New("a controller in a work tree needs the file locks of Unix; run it under Linux or macOS")
}
