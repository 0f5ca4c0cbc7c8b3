package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Create copies files into a folder that is new or empty.
func Create(dir string, files fs.FS) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s cannot be used: %w", dir, cause(err))
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new folder, or empty this one first", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s cannot be made: %w", dir, cause(err))
	}
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
