//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become goes on as another program, in this process: signals reach it.
func become(path string, args []string) error {
	return fmt.Errorf("%s cannot be started: %w", path, syscall.Exec(path, args, os.Environ()))
}
