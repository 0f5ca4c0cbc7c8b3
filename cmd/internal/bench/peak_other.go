//go:build !unix

package bench

import "os"

// peak is the most memory that a process had, which this system does not report.
func peak(*os.ProcessState) int64 { return 0 }
