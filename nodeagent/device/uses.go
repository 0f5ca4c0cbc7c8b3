package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// readLinks reads the links below /dev/disk and /dev/mapper, by the names of their devices.
func readLinks(h host.Host) (map[string][]string, error) {
	links := map[string][]string{}
	folders, err := filepath.Glob(h.Path("/dev/disk/*"))
	if err != nil {
		return nil, err
	}
	for _, folder := range append(folders, h.Path("/dev/mapper")) {
		dir, err := os.ReadDir(folder)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("links of devices: %w", err)
		}
		for _, entry := range dir {
			path := filepath.Join(folder, entry.Name())
			target, err := os.Readlink(path)
			if err != nil {
				continue // a node, or gone
			}
			name := filepath.Base(target)
			links[name] = append(links[name], filepath.Join("/", strings.TrimPrefix(path, filepath.Clean(h.Root))))
		}
	}
	for _, l := range links {
		slices.Sort(l)
	}
	return links, nil
}

// ReadLink is the name of the kernel's device that a link of the machine leads to, or "".
func ReadLink(h host.Host, link string) string {
	target, err := os.Readlink(h.Path(link))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// readUses reads what is mounted and swapped on, in the view of process 1.
func readUses(h host.Host, ds *Devices) error {
	mounts, err := ReadMounts(h)
	if err != nil {
		return err
	}
	ds.System = map[string]string{}
	for _, m := range mounts {
		d := ds.Numbered(m.Major, m.Minor)
		if d == nil && strings.HasPrefix(m.Source, "/dev/") {
			// btrfs and others mount by a number of their own.
			d = ds.resolve(h, m.Source)
		}
		if d == nil {
			continue
		}
		if !slices.Contains(d.Mounts, m.Point) {
			d.Mounts = append(d.Mounts, m.Point)
		}
		if m.Root == "/" && !slices.Contains(d.Roots, m.Point) {
			d.Roots = append(d.Roots, m.Point)
		}
		if slices.Contains(systemMounts(), m.Point) {
			ds.markSystem(d, m.Point+" is on it")
		}
	}
	for _, d := range ds.All {
		slices.Sort(d.Mounts)
		slices.Sort(d.Roots)
	}
	swaps, err := os.ReadFile(h.Path("/proc/swaps"))
	if err != nil && !os.IsNotExist(err) { // a kernel without swap has no such file
		return fmt.Errorf("swap: %w", err)
	}
	for i, line := range strings.Split(string(swaps), "\n") {
		fields := strings.Fields(line)
		if i == 0 || len(fields) == 0 {
			continue
		}
		if d := ds.resolve(h, unescape(fields[0])); d != nil {
			d.Swap = true
			ds.markSystem(d, "it is swapped on")
		}
	}
	for _, field := range strings.Fields(h.Text("/proc/cmdline")) {
		key, value, _ := strings.Cut(field, "=")
		if key != "root" && key != "resume" {
			continue
		}
		if d := ds.resolve(h, byTag(value)); d != nil {
			ds.markSystem(d, "the kernel was started with "+field)
		}
	}
	return nil
}

// systemMounts are the file systems of the machine itself, and of its containers.
func systemMounts() []string {
	return []string{
		"/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/var/lib", "/etc", "/home", "/root", "/opt",
		"/var/lib/kubelet", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/etcd",
		"/var/lib/rancher", "/var/log", "/sysroot", "/nix", "/nix/store", "/ostree", "/oem",
	}
}

func (ds *Devices) markSystem(d *Device, why string) {
	for _, name := range ds.Below(d) {
		if ds.System[name] == "" {
			ds.System[name] = why
		}
	}
}

// resolve finds a device by its path, a link below /dev, or a name of device mapper.
func (ds *Devices) resolve(h host.Host, path string) *Device {
	if d := ds.At(path); d != nil {
		return d
	}
	if name := ReadLink(h, path); name != "" {
		return ds.Named(name)
	}
	return nil
}

// byTag is the link for UUID=, PARTUUID=, LABEL= of the kernel's command line.
func byTag(value string) string {
	key, tag, found := strings.Cut(value, "=")
	if !found {
		return value
	}
	return "/dev/disk/by-" + strings.ToLower(key) + "/" + tag
}

// unescape undoes the kernel's octal escapes of spaces and the like.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			b.WriteByte((text[i+1]-'0')<<6 | (text[i+2]-'0')<<3 | (text[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
