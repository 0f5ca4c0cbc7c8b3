package storcli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// appear has the machine find the disk that is the drive, under a WWN of the controller's.
func (d *Drive) appear(wwn string) error {
	switch {
	case d.Address != "":
		host, rest, _ := strings.Cut(d.Address, ":")
		return os.WriteFile(filepath.Join("/sys/class/scsi_host", "host"+host, "scan"), []byte(strings.ReplaceAll(rest, ":", " ")), 0o200)
	case d.File != "":
		return d.attach(strings.ToLower(wwn))
	}
	return nil
}

// vanish takes it away from the machine. One that is not there is none to take.
func (d *Drive) vanish() error {
	switch {
	case d.Address != "":
		path := filepath.Join("/sys/class/scsi_device", d.Address, "device", "delete")
		if _, err := os.Stat(path); err == nil {
			return os.WriteFile(path, []byte("1"), 0o200)
		}
	case d.File != "":
		return d.detach()
	}
	return nil
}

// Hide takes the disks of drives that no virtual drive shows away from the machine, and brings the
// others.
func (s State) Hide() error {
	for _, c := range s.Controllers {
		for _, d := range c.Drives {
			if err := d.vanish(); err != nil {
				return err
			}
			wwn := d.WWN
			for _, v := range c.Virtual {
				if v.Drive == d.place() {
					wwn = v.NAA
				}
			}
			if d.State != "Onln" && d.State != "JBOD" {
				continue
			}
			if err := d.appear(wwn); err != nil {
				return err
			}
		}
	}
	return nil
}

// Name is that of the disk on a machine that is a folder.
func (d *Drive) Name() string { return "sd" + string(rune('a'+d.Slot)) }

// block is the folder of sysfs for the disk.
func (d *Drive) block() string {
	return filepath.Join(d.Root, fmt.Sprintf("sys/devices/pci0000:00/host0/target0:2:%[1]d/0:2:%[1]d:0/block", d.Slot), d.Name())
}

// attach puts a loop device over the file, and lets the machine have it as a SCSI disk: its sysfs has the
// kernel's own files of the loop device and of its partition, and what makes it a disk of a controller.
func (d *Drive) attach(wwn string) error {
	out, err := exec.Command("losetup", "--find", "--show", "--partscan", d.File).Output()
	if err != nil {
		return fmt.Errorf("losetup: %w", err)
	}
	loop := filepath.Base(strings.TrimSpace(string(out)))
	name, block := d.Name(), d.block()
	links := map[string]string{}
	for _, file := range []string{"dev", "size", "ro", "removable", "diskseq", "queue", "holders", "slaves"} {
		links[filepath.Join(block, file)] = filepath.Join("/sys/class/block", loop, file)
	}
	// The partition is there once the kernel has it: until then these lead nowhere.
	for _, file := range []string{"dev", "size", "ro", "start", "partition", "holders"} {
		links[filepath.Join(block, name+"1", file)] = filepath.Join("/sys/class/block", loop+"p1", file)
	}
	links[filepath.Join(d.Root, "dev", name)] = filepath.Join("/dev", loop)
	links[filepath.Join(d.Root, "dev", name+"1")] = filepath.Join("/dev", loop+"p1")
	for link, to := range links {
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
			return err
		}
	}
	for file, text := range map[string]string{
		"model": "STANDIN", "wwid": "naa." + wwn, "vpd_pg80": "\x00\x80\x00" + string(rune(len(d.Serial))) + d.Serial,
	} {
		path := filepath.Join(block, "device", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	for _, part := range []string{name, filepath.Join(name, name+"1")} {
		if err := os.Symlink(filepath.Join(filepath.Dir(block), part), filepath.Join(d.Root, "sys/class/block", filepath.Base(part))); err != nil {
			return err
		}
	}
	return nil
}

// detach takes the disk from the machine, and then the loop device away: where somebody has it open,
// the kernel does so when he closes it.
func (d *Drive) detach() error {
	dev := filepath.Join(d.Root, "dev", d.Name())
	loop, err := os.Readlink(dev)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	class := filepath.Join(d.Root, "sys/class/block", d.Name())
	err = errors.Join(err, os.Remove(class), os.Remove(class+"1"), os.Remove(dev), os.Remove(dev+"1"), os.RemoveAll(d.block()))
	if err != nil {
		return err
	}
	if out, err := exec.Command("losetup", "--detach", loop).CombinedOutput(); err != nil {
		return fmt.Errorf("losetup: %w: %s", err, out)
	}
	return nil
}
