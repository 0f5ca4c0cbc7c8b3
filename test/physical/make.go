package physical

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Rand draws; the same seed gives the same draws.
type Rand struct{ *rand.Rand }

// NewRand is the source of a seed.
func NewRand(seed uint64) Rand { return Rand{rand.New(rand.NewPCG(seed, 20))} }

// In reports true in n of m cases.
func (r Rand) In(n, m int) bool { return r.IntN(m) < n }

// Pick draws one of several.
func Pick[T any](r Rand, of []T) T { return of[r.IntN(len(of))] }

// Hex draws so many hexadecimal digits.
func (r Rand) Hex(n int) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for range n {
		b.WriteByte(digits[r.IntN(16)])
	}
	return b.String()
}

// NewWorld makes some machines with disks in them.
func NewWorld(r Rand) *World {
	w := &World{Bound: map[string][]*Disk{}, Names: map[string]*Disk{}}
	cloud := r.In(1, 4)
	for range 1 + r.IntN(3) {
		h := w.AddHost(r)
		if len(w.Hosts) == 1 {
			h.Groups = "a"
		}
		for range 3 + r.IntN(6) {
			w.AddDisk(r, h, w.bus(r, cloud))
		}
	}
	if r.In(1, 6) {
		w.clone(r)
	}
	return w
}

// AddHost makes a machine, and a node of it.
func (w *World) AddHost(r Rand) *Host {
	n := w.next()
	h := &Host{ID: fmt.Sprintf("h%d", n), Name: fmt.Sprintf("w%d", n), UID: fmt.Sprintf("uid-%d", n), Boot: 1, Groups: Pick(r, []string{"a", "a", "b"})}
	h.Label = h.Name
	if r.In(1, 4) {
		h.Label = "host-" + h.Name
	}
	w.Hosts = append(w.Hosts, h)
	return h
}

func (w *World) bus(r Rand, cloud bool) Bus {
	if cloud {
		return Pick(r, []Bus{EBS, GCE, Azure, Cinder, Virtio})
	}
	return Pick(r, []Bus{SATA, SATA, SAS, SAS, NVMe, NVMe, NVMeUUID, Virtio, Bare, Multipath, ISCSI})
}

// AddDisk makes an empty disk, and plugs it in.
func (w *World) AddDisk(r Rand, h *Host, bus Bus) *Disk {
	n := w.next()
	d := &Disk{
		ID: fmt.Sprintf("d%d", n), Bus: bus, Vendor: "ACME", Model: Pick(r, []string{"M100", "M200"}), LUN: n,
		Serial: fmt.Sprintf("S%03d%s", n, strings.ToUpper(r.Hex(4))), Size: int64(20+10*r.IntN(3)) << 30, Spins: r.In(1, 2),
	}
	switch bus {
	case SATA, SAS:
		d.WWN = "5000c500" + r.Hex(8)
	case NVMe:
		d.WWN = "00253" + r.Hex(11)
	case NVMeUUID:
		d.UUID = r.Hex(8) + "-" + r.Hex(4) + "-4" + r.Hex(3) + "-8" + r.Hex(3) + "-" + r.Hex(12)
	case Multipath, ISCSI, Azure:
		d.WWN = "600" + r.Hex(29)
		d.Portal, d.IQN = fmt.Sprintf("10.0.0.%d", n), "iqn.2025-01.example:t"+r.Hex(4)
	case EBS:
		d.Handle = "vol-0" + r.Hex(16)
		d.Serial = strings.Replace(d.Handle, "-", "", 1)
	case GCE:
		d.Handle, d.Serial = "pvc-"+r.Hex(8), ""
	case Cinder:
		d.Handle = r.Hex(8) + "-" + r.Hex(4) + "-4" + r.Hex(3) + "-8" + r.Hex(3) + "-" + r.Hex(12)
		d.Serial = d.Handle[:20]
	case Bare:
		d.Serial = ""
	}
	w.Disks = append(w.Disks, d)
	w.Plug(r, d, h)
	return d
}

// Plug puts a disk into a slot of a machine that no other has.
func (w *World) Plug(_ Rand, d *Disk, h *Host) {
	slot := 1
	for taken := true; taken; {
		taken = false
		for _, other := range w.Disks {
			if at, there := other.On(h); there && at.Slot == slot {
				slot, taken = slot+1, true
			}
		}
	}
	d.Places = append(d.Places, w.place(d, h, slot))
}

// place is a slot of a machine, as a disk shows it.
func (w *World) place(d *Disk, h *Host, slot int) Place {
	at := Place{Host: h, Slot: slot, Kernel: "sd" + string(rune('a'+slot))}
	switch d.Bus {
	case NVMe, NVMeUUID, EBS:
		at.Kernel = fmt.Sprintf("nvme%dn1", slot)
		at.PCI = fmt.Sprintf("0000:%02x:00.0", 16+slot)
		at.Path = "pci-" + at.PCI + "-nvme-1"
	case Virtio, Cinder:
		at.Kernel = "vd" + string(rune('a'+slot))
		at.Path = fmt.Sprintf("virtio-pci-0000:00:%02x.0", slot)
	case Multipath:
		at.Kernel = fmt.Sprintf("dm-%d", slot)
		at.Path = fmt.Sprintf("pci-0000:05:00.0-fc-0x50060e80%08x-lun-%d", d.LUN, d.LUN)
	case ISCSI:
		at.Path = fmt.Sprintf("ip-%s:3260-iscsi-%s-lun-%d", d.Portal, d.IQN, d.LUN)
	default:
		at.Path = fmt.Sprintf("pci-0000:00:1f.2-ata-%d", slot)
	}
	return at
}

// clone gives one disk the WWN of another, as a copied image or a cheap bridge does.
func (w *World) clone(r Rand) {
	a := Pick(r, w.Disks)
	for _, b := range w.Disks {
		if a != b && a.WWN != "" && b.Bus == a.Bus {
			b.WWN = a.WWN
			return
		}
	}
}

// Reboot gives the disks of a machine other kernel names.
func (w *World) Reboot(r Rand, h *Host) {
	h.Boot++
	classes := map[string][]*string{}
	for _, d := range w.Disks {
		for i := range d.Places {
			if at := &d.Places[i]; at.Host == h {
				class := at.Kernel[:2]
				classes[class] = append(classes[class], &at.Kernel)
			}
		}
	}
	for _, class := range []string{"sd", "vd", "nv", "dm"} {
		names := classes[class]
		r.Shuffle(len(names), func(i, j int) { *names[i], *names[j] = *names[j], *names[i] })
	}
}
