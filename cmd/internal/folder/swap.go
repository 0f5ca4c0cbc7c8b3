package folder

import (
	"fmt"
	"os"
)

// swap puts next in the place of target, in one step where the system can do
// that. What target held is then in next.
func swap(target, next string) error {
	if !exists(target) {
		return os.Rename(next, target)
	}
	if exchange(target, next) == nil {
		return nil
	}
	old := next + "-old"
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(next, target); err != nil {
		if back := os.Rename(old, target); back != nil {
			return fmt.Errorf("%w; the old content is in %s: move it back by hand", err, old)
		}
		return err
	}
	return os.Rename(old, next)
}
