//go:build !linux

package tool

import "syscall"

// DieWithParent is for Linux alone: elsewhere a process outlives a test binary that is killed.
func DieWithParent() *syscall.SysProcAttr { return nil }
