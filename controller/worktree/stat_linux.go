package worktree

import (
	"encoding/binary"
	"io/fs"
	"syscall"
)

// statOf is what the index keeps of a file, but for its mode.
func statOf(info fs.FileInfo) (stat [statSize]byte, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat, false
	}
	for i, v := range []uint32{
		uint32(s.Ctim.Sec), uint32(s.Ctim.Nsec), uint32(s.Mtim.Sec), uint32(s.Mtim.Nsec), uint32(s.Dev), uint32(s.Ino), 0, s.Uid, s.Gid, uint32(s.Size),
	} {
		binary.BigEndian.PutUint32(stat[4*i:], v)
	}
	return stat, true
}
