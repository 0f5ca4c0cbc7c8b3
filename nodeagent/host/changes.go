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

// Changes are notifications of the kernel. One of each waits until it is received.
type Changes struct {
	// Devices notifies of added, removed and changed block devices, and of changes of swaps and md arrays. Lost
	// messages count as a change.
	Devices <-chan struct{}
	// Mounts notifies of mounts and unmounts.
	Mounts <-chan struct{}
}

// watched is a file of /proc. The kernel reports a change once per open file. It is not an os.File, because Go's runtime
// polls that as well, and would consume the report.
type watched struct {
	path string
	fd   int
	tell func()
}

func (w *watched) open() (err error) {
	w.fd, err = unix.Open(w.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return err
}

// signal returns a channel of one message, and a function that sends without blocking.
func signal() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	return c, func() {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Changes waits for the kernel until ctx ends, and has no timer.
func (h Host) Changes(ctx context.Context, log *slog.Logger) (Changes, error) {
	devices, tell := signal()
	mounts, mounted := signal()
	socket, err := ueventSocket()
	if err != nil {
		return Changes{}, err
	}
	var files []watched
	for _, file := range []watched{
		{path: "/proc/1/mountinfo", tell: mounted}, {path: "/proc/swaps", tell: tell}, {path: "/proc/mdstat", tell: tell},
	} {
		file.path = h.Path(file.path)
		if err := file.open(); err != nil {
			log.Info("no changes will be seen but by the resync", "file", file.path, "error", err)
			continue
		}
		files = append(files, file)
	}
	end, ender, err := os.Pipe()
	if err != nil {
		return Changes{}, errors.Join(err, unix.Close(socket))
	}
	context.AfterFunc(ctx, func() { _ = ender.Close() }) // ends the poll
	go func() {
		poll(ctx, socket, end, files, tell)
		// Closed here, and not by the garbage collector while the poll has its number.
		_ = end.Close()
		for _, f := range files {
			_ = unix.Close(f.fd)
		}
		_ = unix.Close(socket)
	}()
	return Changes{devices, mounts}, nil
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

func poll(ctx context.Context, socket int, end *os.File, files []watched, tell func()) {
	// Files of /proc say POLLPRI when their content has changed.
	fds := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}, {Fd: int32(end.Fd()), Events: unix.POLLIN}}
	for _, f := range files {
		fds = append(fds, unix.PollFd{Fd: int32(f.fd), Events: unix.POLLPRI})
	}
	buffer := make([]byte, 64<<10)
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if ctx.Err() != nil || fds[1].Revents != 0 || fds[0].Revents != 0 && !readEvents(socket, buffer, tell) {
			return
		}
		for i := range files {
			f := &files[i]
			if fds[i+2].Revents == 0 {
				continue
			}
			f.tell()
			// mdstat says so for ever to whoever does not open it again.
			_ = unix.Close(f.fd)
			if f.open() != nil {
				f.fd = -1 // of which poll and close say nothing
			}
			fds[i+2].Fd = int32(f.fd)
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
