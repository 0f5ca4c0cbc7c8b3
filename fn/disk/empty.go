package disk

// NotEmpty says why a disk is not known to be empty, or "". nil is a disk that nobody
// reports.
func (d *Disk) NotEmpty() string {
	if d == nil {
		return "the inventory does not have it"
	}
	known := false
	if b := d.Device; b != nil {
		switch spec := b.Object.Node.Get("spec"); {
		case b.Filesystem != "" || b.Partitioned:
			return "block device " + b.Name + " has a filesystem or partitions"
		case spec.Get("filesystem") != nil && spec.Str("partitioned") != "":
			known = true
		}
	}
	if e := d.Entry; e != nil {
		if len(e.Content)+len(e.Partitions) > 0 {
			return "node " + e.Object.Name + " reports content on it"
		}
		known = true
	}
	if !known {
		return "it is not known to be empty: the inventory does not show its filesystem and partitions"
	}
	return ""
}
