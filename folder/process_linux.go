package folder

import "golang.org/x/sys/unix"

// isGone reports that there is no process with this number.
func isGone(pid int) bool { return pid > 0 && unix.Kill(pid, 0) == unix.ESRCH }
