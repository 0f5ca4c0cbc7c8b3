// Package host is the machine that the agent looks after: its root folder, and its own
// programs. The agent's image holds the agent alone. LVM, mkfs and RAID programs are the
// node's, because they have to fit the node's kernel, its LVM locks and its udev.
package host

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/apart"
)

// Host is the machine.
type Host struct {
	// Root is the folder that is the machine's /, such as /proc/1/root in a container.
	Root string
	// Tools are the machine's programs.
	Tools *Tools
	// Apart is where devices are read, or nil where this process reads them itself.
	Apart *apart.Pool
}

// New is the machine whose root is in a folder. Programs are run in the namespaces of
// process 1 if the folder belongs to that process.
func New(root string) Host {
	return Host{Root: root, Tools: &Tools{
		Root: root, Folders: DefaultFolders(), Enter: strings.HasPrefix(root, "/proc/1/"),
	}}
}

// Path is where a path of the machine is found from here. Absolute symbolic links on the
// way would lead back to the agent's own root, so it is for /sys, /proc, /dev and /run.
func (h Host) Path(path string) string { return filepath.Join(h.Root, path) }

// Text is a file of the machine without spaces around it, or "" where it cannot be read.
func (h Host) Text(path string) string {
	data, err := os.ReadFile(h.Path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// BootID distinguishes one boot of the machine from another, or is "".
func (h Host) BootID() string { return h.Text("/proc/sys/kernel/random/boot_id") }
