//go:build !linux

package folder

import "errors"

// exchange swaps two folders in one step, which only Linux can.
func exchange(string, string) error { return errors.ErrUnsupported }
