package folder

import (
	"fmt"
	"os"
)

// swap puts next in the place of target, in one step where the system can do
// that. What target held is then in next, or gone.
func swap(target, next string) error {
	if exists(target) {
		if exchange(target, next) == nil {
			return nil
		}
		return swapByName(target, next)
	}
	if err := os.Rename(next, target); err != nil {
		return fmt.Errorf("%w; nothing was changed", cause(err))
	}
	return nil
}

// swapByName does it with two renames, and goes back where the second one fails.
func swapByName(target, next string) error {
	old := next + oldSuffix
	if err := os.Rename(target, old); err != nil {
		return fmt.Errorf("%w; nothing was changed", cause(err))
	}
	if err := os.Rename(next, target); err != nil {
		if os.Rename(old, target) != nil {
			return fmt.Errorf("%w; the old content is in %s: move it back by hand", cause(err), old)
		}
		return fmt.Errorf("%w; nothing was changed", cause(err))
	}
	// The new content is in place. If the old one cannot be removed, it is
	// hidden, and harms nobody.
	_ = os.RemoveAll(old)
	return nil
}
