package controlplane

import "syscall"

// dieWithParent has the kernel end a process with the test binary, however that
// ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
