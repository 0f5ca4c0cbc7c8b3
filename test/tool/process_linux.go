package tool

import "syscall"

// DieWithParent has the kernel end a process with the test binary, however that ends.
func DieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
