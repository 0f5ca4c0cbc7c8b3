package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Changes sends when a block device comes, goes or changes, and when what is mounted, swapped
// on or assembled by md does. It is quiet else: it waits for the kernel, and has no timer.
// Messages that were lost count as a change.
func (h Host) Changes(ctx context.Context, log *slog.Logger) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	socket, err := ueventSocket()
	if err != nil {
		return nil, err
	}
	files := []*os.File{}
	for _, path := range []string{"/proc/1/mountinfo", "/proc/swaps", "/proc/mdstat"} {
		f, err := os.Open(h.Path(path))
		if err != nil {
			log.Info("no changes will be seen but by the resync", "file", path, "error", err)
			continue
		}
		files = append(files, f)
	}
	end, ender, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, unix.Close(socket))
	}
	context.AfterFunc(ctx, func() { _ = ender.Close() }) // ends the poll
	go func() {
		poll(ctx, socket, end, files, tell)
		// Closed here, and not by the garbage collector while the poll has their numbers.
		_ = end.Close()
		for _, f := range files {
			_ = f.Close()
		}
		_ = unix.Close(socket)
	}()
	return changed, nil
}

// ueventSocket listens to udev's own messages (group 2), which come when a device's links are
// there, and to the kernel's (group 1), for a machine without udev. Both are sent in the
// machine's network namespace alone.
func ueventSocket() (int, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return 0, fmt.Errorf("uevents: %w", err)
	}
	// A burst of a thousand disks; without the right to force it the kernel's limit has to do.
	if unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20) != nil {
		_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<20)
	}
	if err := unix.Bind(socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 | 2}); err != nil {
		return 0, errors.Join(fmt.Errorf("uevents: %w", err), unix.Close(socket))
	}
	return socket, nil
}

func poll(ctx context.Context, socket int, end *os.File, files []*os.File, tell func()) {
	// Files of /proc say POLLPRI when their content has changed.
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}, {Fd: int32(end.Fd()), Events: unix.POLLIN}}
	for _, f := range files {
		fds = append(fds, unix.PollFd{Fd: int32(f.Fd()), Events: unix.POLLPRI})
	}
	buffer := make([]byte, 64<<10)
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if ctx.Err() != nil || fds[1].Revents != 0 || fds[0].Revents != 0 && !readEvents(socket, buffer, tell) {
			return
		}
		for i, f := range files {
			if fds[i+2].Revents == 0 {
				continue
			}
			tell()
			// mdstat says so for ever to whoever does not open it again.
			again, err := os.Open(f.Name())
			if err != nil {
				fds[i+2].Fd = -1
				continue
			}
			_ = f.Close()
			files[i], fds[i+2].Fd = again, int32(again.Fd())
		}
	}
}

// readEvents reads all messages there are, and reports whether more may come.
func readEvents(socket int, buffer []byte, tell func()) bool {
	for {
		n, _, err := unix.Recvfrom(socket, buffer, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return true
		case errors.Is(err, unix.ENOBUFS):
			tell() // some were lost
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false
		case strings.Contains(string(buffer[:n]), "SUBSYSTEM=block"):
			tell()
		}
	}
}
