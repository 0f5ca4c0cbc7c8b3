package api

// Inventory is the status of a NodeInventory: without times and sorted, so that an
// unchanged node has the same.
type Inventory struct {
	Disks       []InventoryDisk       `json:"disks"`
	Controllers []InventoryController `json:"controllers"`
	Groups      []InventoryGroup      `json:"groups"`
	Modules     []string              `json:"modules"`
	HugePages   map[string]int64      `json:"hugepages"` // bytes, by the size of a page
	Tools       []InventoryTool       `json:"tools"`
	Leftovers   []Leftover            `json:"leftovers"`
	BootID      string                `json:"bootID,omitempty"`
}

// InventoryDisk is a disk of a node.
type InventoryDisk struct {
	Path       string         `json:"path"`
	Links      []string       `json:"links"`
	WWN        string         `json:"wwn,omitempty"`
	Serial     string         `json:"serial,omitempty"`
	Model      string         `json:"model,omitempty"`
	Size       int64          `json:"size"` // bytes
	Rotational bool           `json:"rotational"`
	Transport  string         `json:"transport,omitempty"`
	Content    []string       `json:"content"`
	Partitions []string       `json:"partitions"` // paths
	Mounts     []string       `json:"mounts"`     // paths
	Holder     string         `json:"holder,omitempty"`
	Owner      string         `json:"owner,omitempty"` // Kind/name
	Usable     bool           `json:"usable"`
	Reason     string         `json:"reason,omitempty"`
	RAID       *InventoryRAID `json:"raid,omitempty"`
}

// InventoryRAID is where a RAID controller has a disk.
type InventoryRAID struct {
	Controller int  `json:"controller"`
	Enclosure  *int `json:"enclosure,omitempty"`
	Slot       *int `json:"slot,omitempty"`
}

// InventoryController is a RAID controller, or a program whose answer names none. Reason says why the answer was
// not understood: then nothing is known of the drives.
type InventoryController struct {
	Program string           `json:"program"`
	Number  *int             `json:"number,omitempty"`
	Model   string           `json:"model,omitempty"`
	Serial  string           `json:"serial,omitempty"`
	Drives  []InventoryDrive `json:"drives"`
	Reason  string           `json:"reason,omitempty"`
}

// InventoryDrive is a drive behind a RAID controller, whether the machine has a disk of it or not.
type InventoryDrive struct {
	Port      string `json:"port,omitempty"`
	Enclosure *int   `json:"enclosure,omitempty"`
	Slot      int    `json:"slot"`
	WWN       string `json:"wwn,omitempty"`
	Serial    string `json:"serial,omitempty"`
	Model     string `json:"model,omitempty"`
	State     string `json:"state"`
	Path      string `json:"path,omitempty"`  // of the disk that it alone is, or ""
	Owner     string `json:"owner,omitempty"` // Kind/name
	Usable    bool   `json:"usable"`
	Reason    string `json:"reason,omitempty"`
}

// InventoryGroup is a volume group of LVM.
type InventoryGroup struct {
	Name       string            `json:"name"`
	UUID       string            `json:"uuid"`
	Size       int64             `json:"size"`
	Free       int64             `json:"free"`
	ExtentSize int64             `json:"extentSize,omitempty"`
	Devices    []string          `json:"devices"`
	Missing    []string          `json:"missing"`
	Owner      string            `json:"owner,omitempty"`
	Volumes    []InventoryVolume `json:"volumes"`
}

// InventoryVolume is a logical volume.
type InventoryVolume struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	Owner string `json:"owner,omitempty"`
}

// InventoryTool is a program that the agent uses.
type InventoryTool struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"` // "" where it is missing
	Version string `json:"version,omitempty"`
}

// Leftover is data of ours whose object is gone.
type Leftover struct {
	Path  string `json:"path"`
	UUID  string `json:"uuid"`
	Owner string `json:"owner,omitempty"` // whose it was, where that is known
}
