package physical

import (
	"fmt"
	"slices"
	"strings"
)

// event is something that happens to a cluster, or that a person does.
type event struct {
	name   string
	weight int
	happen func(*History) string // says what has happened; "" if it could not
}

func events() []event {
	return []event{
		{"apply", 4, (*History).apply},
		{"rename a node", 1, (*History).rename},
		{"lose a node, or have it back", 1, (*History).leave},
		{"add a node", 1, (*History).join},
		{"add a disk", 1, (*History).add},
		{"carry a disk", 2, (*History).carry},
		{"lose a disk", 1, (*History).fail},
		{"replace a disk", 1, (*History).swap},
		{"boot", 1, (*History).reboot},
		{"clone a disk", 1, (*History).clone},
		{"take a disk by hand", 2, (*History).byHand},
		{"give a disk up by hand", 1, (*History).removeByHand},
		{"wipe a disk", 2, (*History).wipe},
		{"move content", 1, (*History).moveContent},
		{"report other facts", 1, (*History).tool},
		{"lose reports", 1, (*History).blind},
		{"consent", 2, (*History).consent},
		{"withdraw consent", 1, (*History).withdraw},
		{"edit a spec", 1, (*History).spec},
		{"take a spec out", 1, (*History).unspec},
		{"hand over", 2, (*History).handOver},
		{"revert", 1, (*History).revert},
	}
}

// event lets something happen, what is planned or anything, and returns the name of that.
func (h *History) event() string {
	all := events()
	if len(h.planned) > 0 && h.In(2, 3) {
		i := slices.IndexFunc(all, func(e event) bool { return e.name == h.planned[0] })
		h.planned = h.planned[1:]
		if text := all[i].happen(h); text != "" {
			h.tell(text)
			return all[i].name
		}
	}
	total := 0
	for _, e := range all {
		total += e.weight
	}
	for {
		at, i := h.IntN(total), 0
		for ; at >= all[i].weight; i++ {
			at -= all[i].weight
		}
		if text := all[i].happen(h); text != "" {
			h.tell(text)
			return all[i].name
		}
	}
}

func (h *History) report() {
	for _, host := range h.World.Hosts {
		if host.Name != "" {
			h.World.Report(h.Rand, host)
		}
	}
}

func (h *History) apply() string {
	h.World.Apply(h.Lock)
	return "what is rendered is applied"
}

func (h *History) host() *Host { return Pick(h.Rand, h.World.Hosts) }

// rename: the node is made again under another name, on the same machine.
func (h *History) rename() string {
	host := h.host()
	if host.Name == "" {
		return ""
	}
	was := host.Name
	host.Was = append(host.Was, host.Name, host.Label)
	n := h.World.next()
	host.Name, host.UID = fmt.Sprintf("w%d", n), fmt.Sprintf("uid-%d", n)
	if host.Label = host.Name; h.In(1, 4) {
		host.Label = "host-" + host.Name
	}
	h.report()
	return "node " + was + " is " + host.Name + " now"
}

// leave: the node is gone from the cluster; or back, as it was.
func (h *History) leave() string {
	host := h.host()
	if host.Name == "" {
		return h.back(host)
	}
	others := slices.ContainsFunc(h.World.Hosts, func(other *Host) bool { return other != host && other.Name != "" })
	if !others && h.In(9, 10) {
		return "" // a snapshot without nodes renders nothing
	}
	host.Was = append(host.Was, host.Name, host.Label)
	text := "node " + host.Name + " is gone"
	host.Name, host.Label = "", ""
	if h.In(1, 2) {
		h.World.Devices = slices.DeleteFunc(h.World.Devices, func(b *Device) bool { return b.Host == host })
	}
	h.World.Entries = slices.DeleteFunc(h.World.Entries, func(e *Entry) bool { return e.Host == host })
	return text
}

// back: the node of a machine is there again, as it was.
func (h *History) back(host *Host) string {
	host.Name, host.Label = host.Was[len(host.Was)-2], host.Was[len(host.Was)-1]
	h.report()
	return "node " + host.Name + " is back"
}

func (h *History) join() string {
	if len(h.World.Hosts) > 4 {
		return ""
	}
	host := h.World.AddHost(h.Rand)
	for range 1 + h.IntN(4) {
		h.World.AddDisk(h.Rand, host, h.World.bus(h.Rand, h.In(1, 4)))
	}
	h.report()
	return "node " + host.Name + " joins"
}

func (h *History) add() string {
	d := h.World.AddDisk(h.Rand, h.host(), h.World.bus(h.Rand, h.In(1, 4)))
	h.report()
	return "a disk is added: " + h.World.called(d)
}

// carry: a disk is plugged into another machine.
func (h *History) carry() string {
	d, to := Pick(h.Rand, h.World.Disks), h.host()
	if _, here := d.On(to); here {
		return ""
	}
	text := h.World.called(d) + " is carried to node " + to.Name
	d.Places = nil
	h.World.Plug(h.Rand, d, to)
	h.report()
	return text
}

// fail: a disk is not seen any more.
func (h *History) fail() string {
	d := Pick(h.Rand, h.World.Disks)
	text := h.World.called(d) + " fails"
	d.Places = nil
	h.report()
	return text
}

// swap: a new disk is in the slot of an old one.
func (h *History) swap() string {
	old := Pick(h.Rand, h.World.Disks)
	if len(old.Places) == 0 {
		return ""
	}
	host := old.Places[0].Host
	text := h.World.called(old) + " is replaced by "
	old.Places = nil
	d := h.World.AddDisk(h.Rand, host, old.Bus)
	d.Size = old.Size
	h.report()
	return text + h.World.called(d)
}

func (h *History) reboot() string {
	host := h.host()
	if h.kernelNamed(host) {
		return "" // what such an object is on after a boot, nobody knows
	}
	h.World.Reboot(h.Rand, host)
	h.report()
	return "node " + host.Name + " boots, and its disks have other kernel names"
}

// kernelNamed reports whether an object goes by the kernel name of a disk of a machine.
func (h *History) kernelNamed(host *Host) bool {
	return slices.ContainsFunc(h.World.Live, func(l *Live) bool {
		return slices.ContainsFunc(l.Disks, func(d *Disk) bool {
			at, here := d.On(host)
			return here && (strings.Contains(l.Text, "/dev/"+at.Kernel+"\n") || strings.Contains(l.Text, "name: "+at.Kernel+"\n") || strings.Contains(l.Text, "^"+at.Kernel+"$"))
		})
	})
}

func (h *History) byHand() string {
	free := h.World.unrendered(h.Lock)
	if len(free) == 0 {
		return ""
	}
	return h.World.HoldByHand(h.Rand, Pick(h.Rand, free))
}

// unrendered lists the free disks that are not rendered, which would be applied later.
func (w *World) unrendered(lock []Chunk) []*Disk {
	rendered := map[*Disk]bool{}
	for _, o := range parsed(lock) {
		for _, hold := range HoldsOf(o) {
			for _, d := range w.On(&hold) {
				rendered[d] = true
			}
		}
	}
	return slices.DeleteFunc(w.free(), func(d *Disk) bool { return rendered[d] })
}

func (h *History) removeByHand() string {
	for _, l := range h.World.Live {
		if !l.Rendered && h.In(1, 2) {
			h.World.remove(l)
			for _, d := range l.Disks {
				if h.In(1, 2) {
					d.Wipe()
				}
			}
			return l.Plural + " " + l.Name + " is removed by hand"
		}
	}
	return ""
}

// wipe empties a disk that nothing holds.
func (h *History) wipe() string {
	for _, d := range h.World.Disks {
		if d.Content != "" && len(h.World.holders(d)) == 0 && h.In(1, 2) {
			d.Wipe()
			return h.World.called(d) + " is wiped"
		}
	}
	return ""
}

// tool: another version of an agent reports other parts of a disk.
func (h *History) tool() string {
	w := h.World
	if len(w.Devices) > 0 && h.In(1, 2) {
		b := Pick(h.Rand, w.Devices)
		b.Facts = DrawFacts(h.Rand)
		return "BlockDevice " + b.Name + " has other facts"
	}
	if len(w.Entries) == 0 {
		return ""
	}
	e := Pick(h.Rand, w.Entries)
	e.Facts = DrawFacts(h.Rand)
	return "the NodeInventory of " + e.Host.Name + " has other facts of " + w.called(e.Disk)
}

// moveContent: what is on a disk is copied to another, and the link that names it goes with it.
func (h *History) moveContent() string {
	free := h.World.free()
	for _, d := range h.World.Disks {
		if len(d.ContentLinks) > 0 && len(free) > 0 {
			to := Pick(h.Rand, free)
			to.Content, to.ContentLinks, d.ContentLinks = d.Content, d.ContentLinks, nil
			return "what is on " + h.World.called(d) + " moves to " + h.World.called(to)
		}
	}
	return ""
}

// blind: one of the agents of a machine is removed, and with it what it said.
func (h *History) blind() string {
	host := h.host()
	if h.In(1, 2) {
		h.World.Entries = slices.DeleteFunc(h.World.Entries, func(e *Entry) bool { return e.Host == host })
		return "node " + host.Name + " has no NodeInventory"
	}
	h.World.Devices = slices.DeleteFunc(h.World.Devices, func(b *Device) bool { return b.Host == host && b.Inactive })
	return "BlockDevices of node " + host.Name + " that are Inactive are removed"
}

// clone: a disk is added that has the WWN of another one, as a copied image or a cheap bridge does.
func (h *History) clone() string {
	of := Pick(h.Rand, h.World.Disks)
	if of.WWN == "" {
		return ""
	}
	d := h.World.AddDisk(h.Rand, h.host(), of.Bus)
	d.WWN = of.WWN
	h.report()
	return h.World.called(d) + " is added, which has the WWN of " + of.ID
}
