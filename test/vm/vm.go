// Package vm runs a program in a virtual machine with disks of its own: Debian's kernel, in
// QEMU, with LVM, md and udev. It is emulated, and slow: a boot takes about
// five seconds. POOLWRIGHT_VM_ACCEL=kvm makes it faster where that works.
package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poolwright/poolwright/test/tool"
)

// Disk is a disk of the machine.
type Disk struct {
	Bus    string // virtio, scsi or nvme
	Serial string
	WWN    string // of scsi: 0x and 16 digits
	File   string // its content, kept over boots
}

// Machine is a machine with its disks, in the order in which they are attached.
type Machine struct {
	Disks   []Disk
	Memory  int // MiB
	Timeout time.Duration
	// Network says that the machine reaches this one, and nothing else, as Gateway.
	Network bool
}

// Gateway is the machine that the tests run on, as a machine with a network sees it.
const Gateway = "10.0.2.2"

// Built builds what the machine boots, once, and returns its folder. Where a program is
// missing the test is left out, or fails where nothing may be.
func Built(t *testing.T) string {
	t.Helper()
	qemu := "qemu-system-x86_64"
	if _, err := exec.LookPath(qemu); err != nil {
		tool.Missing(t, qemu+" is not on this machine")
	}
	root := tool.Root(t)
	dir := filepath.Join(root, ".cache", "vm")
	out, err := exec.Command(filepath.Join(root, "test", "vm", "build.sh"), dir).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		tool.Missing(t, "the virtual machine cannot be built: "+strings.TrimSpace(string(out)))
	case err != nil:
		t.Fatalf("the virtual machine cannot be built: %v\n%s", err, out)
	}
	return dir
}

// NewDisk makes the file of a disk, full of zeros.
func NewDisk(t *testing.T, bus, serial, wwn string, size int64) Disk {
	t.Helper()
	d := Disk{Bus: bus, Serial: serial, WWN: wwn, File: filepath.Join(t.TempDir(), serial+".img")}
	f, err := os.Create(d.File)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// begun is what the machine prints before the script runs.
const begun = "PAYLOAD-BEGUN\n"

// drivers is what it prints on its console once they are loaded, before udev and LVM look at the disks.
const drivers = "DRIVERS-LOADED"

var exitLine = regexp.MustCompile(`(?m)^PAYLOAD-EXIT rc=(\d+)\r?$`)

// Run boots the machine with the files, below /, and runs the shell script as root. It
// returns what the script printed and its exit code.
func (m Machine) Run(t *testing.T, script string, files map[string]string) (string, int) {
	t.Helper()
	built := Built(t)
	dir := t.TempDir()
	console, result := filepath.Join(dir, "console.log"), filepath.Join(dir, "result.out")
	// Within a virtual machine KVM may be there and not work, so that it is asked for.
	acceleration := "tcg,thread=multi"
	if name := os.Getenv("POOLWRIGHT_VM_ACCEL"); name != "" {
		acceleration = name
	}
	args := []string{
		// One processor: as many machines run at the same time as this one has, and a second one costs more to
		// emulate than it does.
		"-nodefaults", "-no-user-config", "-machine", "q35", "-accel", acceleration, "-cpu", "max", "-smp", "1",
		"-m", strconv.Itoa(max(m.Memory, 1024)), "-display", "none", "-no-reboot",
		"-kernel", filepath.Join(built, "vmlinux"),
		// Nobody attacks the machine: what protects its kernel costs a tenth of the time, and tests of its ciphers some.
		"-append", "console=ttyS0 quiet loglevel=4 panic=-1 tsc=reliable no_timer_check cryptomgr.notests mitigations=off init_on_alloc=0 rdinit=/init random.trust_cpu=on",
		"-device", "virtio-rng-pci", "-serial", "file:" + console, "-serial", "file:" + result,
	}
	if m.Network {
		args = append(args, "-netdev", "user,id=net,restrict=off", "-device", "virtio-net-pci,netdev=net")
		script = "modprobe virtio_net; udevadm settle; for i in /sys/class/net/e*; do ip link set ${i##*/} up; ip addr add 10.0.2.15/24 dev ${i##*/}; done\n" + script
	} else {
		args = append(args, "-nic", "none")
	}
	initrd := filepath.Join(dir, "initrd.cpio")
	m.overlay(t, built, initrd, script, files)
	args = append(args, "-initrd", initrd)
	args = append(args, m.diskArgs()...)
	timeout := max(m.Timeout, time.Minute)
	var out, text []byte
	var err error
	for range 3 {
		out, err = emulate(args, timeout, result)
		text, _ = os.ReadFile(result)
		log, _ := os.ReadFile(console)
		if err == nil || bytes.HasPrefix(text, []byte(begun)) || !emulatorFailed(err, log) {
			break
		}
		t.Logf("QEMU failed before the machine had its disks, and is started again: %v\n%s", err, out)
	}
	text = bytes.TrimPrefix(text, []byte(begun))
	answer := exitLine.FindSubmatch(text)
	if err != nil || answer == nil {
		log, _ := os.ReadFile(console)
		t.Fatalf("the virtual machine (at most %s): %v\n%s\n%s\n%s", timeout, err, out, tail(log), tail(text))
	}
	code, _ := strconv.Atoi(string(answer[1]))
	return string(exitLine.ReplaceAll(text, nil)), code
}

// emulatorFailed reports whether QEMU, and not the machine, ended before the script: QEMU 7.2 seldom aborts by an
// assertion of its own, or hangs, while the drivers set up their interrupts. A machine that hangs once it looks
// at its disks may do so for what the agent has left on them, and is not started again.
func emulatorFailed(err error, console []byte) bool {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGABRT {
			return true
		}
	}
	return !bytes.Contains(console, []byte(drivers))
}

// booting is far above the seconds that a boot takes: QEMU may have a twentieth of a processor.
const booting = 15 * time.Minute

// emulate runs QEMU until the machine is switched off, or the script has not begun after so long.
func emulate(args []string, timeout time.Duration, result string) ([]byte, error) {
	cmd := exec.Command("qemu-system-x86_64", args...)
	cmd.SysProcAttr = tool.DieWithParent()
	kill := func() { _ = cmd.Process.Kill() }
	defer time.AfterFunc(timeout, kill).Stop()
	defer time.AfterFunc(min(timeout, booting), func() {
		if text, _ := os.ReadFile(result); !bytes.HasPrefix(text, []byte(begun)) {
			kill()
		}
	}).Stop()
	return cmd.CombinedOutput()
}

func (m Machine) diskArgs() []string {
	args := []string{"-device", "virtio-scsi-pci,id=scsi0"}
	for i, d := range m.Disks {
		id := fmt.Sprintf("d%d", i)
		device := fmt.Sprintf("virtio-blk-pci,drive=%s,serial=%s", id, d.Serial)
		switch d.Bus {
		case "scsi":
			device = fmt.Sprintf("scsi-hd,bus=scsi0.0,scsi-id=%d,drive=%s,serial=%s,vendor=ACME,product=HARDDISK", i+1, id, d.Serial)
			if d.WWN != "" {
				device += ",wwn=" + d.WWN
			}
		case "nvme":
			device = fmt.Sprintf("nvme,drive=%s,serial=%s", id, d.Serial)
		}
		args = append(args, "-drive", fmt.Sprintf("file=%s,if=none,id=%s,format=raw,cache=unsafe", d.File, id), "-device", device)
	}
	return args
}

// overlay is the initial file system: that of all machines, and this one's files after it.
func (m Machine) overlay(t *testing.T, built, initrd, script string, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	var list strings.Builder
	add := func(path, from string, data []byte) {
		to := filepath.Join(root, path)
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil && from != "" {
			data, err = os.ReadFile(from)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		// The kernel makes no folder that is not listed before what is in it.
		name := strings.TrimPrefix(path, "/")
		for i, c := range name {
			if c == '/' {
				list.WriteString(name[:i] + "\n")
			}
		}
		list.WriteString(name + "\n")
	}
	add("/payload", "", []byte("#!/bin/sh\necho PAYLOAD-BEGUN\n"+script))
	for path, from := range files {
		add(path, from, nil)
	}
	cpio := exec.Command("cpio", "-o", "-H", "newc", "--quiet")
	cpio.Dir, cpio.Stdin = root, strings.NewReader(list.String())
	more, err := cpio.Output()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(filepath.Join(built, "base.cpio"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(initrd, append(base, more...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }
