package disk

import (
	"slices"
	"strings"
)

// byID is where udev links a disk by what it is, and not by where it is.
const byID = "/dev/disk/by-id/"

// linkKind is what a link below /dev/disk/by-id says of its disk.
type linkKind int

const (
	opaque    linkKind = iota // nothing beyond being the same text
	worldWide                 // a WWN, EUI or NGUID: hexadecimal digits
	serialNo                  // a serial number, or the name that a cloud gave to a disk
)

// readLink reads what a by-id link says (the names of systemd's 60-persistent-storage.rules and
// multipath's dm-uuid-mpath): the digits of a WWN, or a serial number, in the spelling in which
// two of them are compared. The value of an opaque link is the link.
func readLink(link string) (kind linkKind, value string) {
	name, found := strings.CutPrefix(link, byID)
	if !found || strings.IndexByte(name, '/') >= 0 {
		name = baseOf(link)
	}
	if wwid, found := strings.CutPrefix(name, "dm-uuid-mpath-"); found {
		switch {
		case strings.HasPrefix(wwid, "eui."), strings.HasPrefix(wwid, "uuid."), strings.HasPrefix(wwid, "nvme."):
			name = "nvme-" + wwid
		default:
			name = "scsi-" + wwid
		}
	}
	bus, rest, _ := strings.Cut(name, "-")
	switch bus {
	case "wwn":
		if digits, found := strings.CutPrefix(rest, "0x"); found && isHex(digits) {
			return worldWide, strings.ToLower(digits)
		}
	case "scsi":
		// The first character says what follows, as scsi_id prints it: 3 is an NAA name, 2 an EUI-64.
		if digits := rest[min(1, len(rest)):]; (strings.HasPrefix(rest, "3") || strings.HasPrefix(rest, "2")) && isWWN(digits) {
			return worldWide, strings.ToLower(digits)
		}
		return ending(link, rest)
	case "nvme":
		if digits, found := strings.CutPrefix(rest, "eui."); found && isHex(digits) {
			return worldWide, strings.ToLower(digits)
		}
		if uuid, found := strings.CutPrefix(rest, "uuid."); found {
			return opaque, "uuid." + strings.ToLower(uuid)
		}
		if strings.HasPrefix(rest, "nvme.") {
			return opaque, rest
		}
		if rest, found := strings.CutSuffix(rest, "-ns-1"); found { // the first namespace is the disk
			return ending(link, rest)
		}
		if rest, found := strings.CutSuffix(rest, "_1"); found {
			return ending(link, rest)
		}
		if at := strings.LastIndexByte(rest, '_'); at >= 0 && len(rest)-at <= 3 && strings.Trim(rest[at+1:], "0123456789") == "" {
			return opaque, link // another namespace: a disk of its own, with the same serial number
		}
		return ending(link, rest)
	case "ata":
		return ending(link, rest)
	case "virtio", "google":
		return numbered(link, rest)
	}
	return opaque, link
}

// ending reads the serial number that ends a link such as ata-MODEL_SERIAL.
func ending(link, rest string) (linkKind, string) {
	return numbered(link, rest[strings.LastIndexByte(rest, '_')+1:])
}

// numbered is a serial number, unless it is so short that it may be anything: a person or a cloud
// calls disks disk1 or vol-1 on each bus.
func numbered(link, number string) (linkKind, string) {
	if len(number) < 8 {
		return opaque, link
	}
	return serialNo, number
}

// number is a serial number, or what stands for one, in the spelling in which two are compared:
// capitals, as most have. One that is made of the digits of a WWN is spelled like that.
func number(serial string) string {
	text := strings.ToUpper(strings.TrimSpace(serial))
	digits := text
	for _, prefix := range [...]string{"NAA.", "EUI.", "WWN-", "0X"} {
		if rest, found := strings.CutPrefix(text, prefix); found {
			digits = strings.TrimPrefix(rest, "0X")
		}
	}
	switch {
	case isWWN(digits):
		return strings.ToLower(digits)
	case (strings.HasPrefix(text, "3") || strings.HasPrefix(text, "2")) && isWWN(text[1:]):
		return strings.ToLower(text[1:]) // as scsi_id prints a WWN
	}
	if len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' {
		return text[:20] // the UUID of a volume, of which virtio shows 20 characters
	}
	if strings.IndexByte(text, ' ') >= 0 {
		text = strings.Join(strings.Fields(text), "_") // as udev writes it
	}
	return text
}

// isWWN reports whether a text has the form of a WWN's digits: 64 or 128 bits.
func isWWN(digits string) bool { return (len(digits) == 16 || len(digits) == 32) && isHex(digits) }

func isHex(text string) bool {
	for i := range len(text) {
		c := text[i] | 0x20
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return text != ""
}

// perNode reports whether a name is given to one disk of each node, as clouds name their boot and
// local disks.
func perNode(number string) bool {
	return strings.HasPrefix(number, "PERSISTENT-DISK-") || strings.HasPrefix(number, "LOCAL-SSD-") || strings.HasPrefix(number, "LOCAL-NVME-SSD-") ||
		strings.HasPrefix(number, "NVME_CARD")
}

// keys adds the names by which two reports are known to be of one disk. A WWN and the serial
// number that repeats its digits are one key.
func (id *Identity) keys(keys []string) []string {
	keys = addKey(keys, strings.TrimPrefix(id.WWN, "0x"))
	keys = addKey(keys, id.numberKey(id.Serial))
	for _, link := range id.Links {
		if digits, found := strings.CutPrefix(link, byID+"wwn-"); found && digits == id.WWN {
			continue
		}
		if ContentLink(link) {
			continue // of a lock that was written before
		}
		kind, value := readLink(link)
		if kind == serialNo {
			if value == id.Serial {
				continue
			}
			value = id.numberKey(value)
		}
		keys = addKey(keys, value)
	}
	return keys
}

// numberKey is the key of a serial number.
func (id *Identity) numberKey(serial string) string {
	key := number(serial)
	if perNode(key) {
		key = id.Node + "\x00" + key
	}
	return key
}

func addKey(keys []string, value string) []string {
	if value == "" || slices.Contains(keys, value) {
		return keys
	}
	return append(keys, value)
}

// evidence is what distinguishes disks: WWNs and serial numbers of everything that is said of one.
type evidence struct {
	wwns    []string // digits
	serials []string
	slots   []slot
	size    int64
}

// add adds what an identity and further links say.
func (e *evidence) add(id *Identity, links []string) {
	e.addWWN(strings.TrimPrefix(id.WWN, "0x"))
	e.addSerial(number(id.Serial))
	for _, link := range id.Links {
		switch kind, value := readLink(link); kind {
		case worldWide:
			e.addWWN(value)
		case serialNo:
			e.addSerial(number(value))
		}
	}
	for _, link := range append(links[:len(links):len(links)], id.Path) {
		if s, found := readSlot(link); found && !slices.Contains(e.slots, s) {
			e.slots = append(e.slots, s)
		}
	}
}

func (e *evidence) addWWN(digits string) {
	if digits != "" && !slices.Contains(e.wwns, digits) {
		e.wwns = append(e.wwns, digits)
	}
}

// addSerial leaves out what may be a WWN in the place of a serial number: it joins reports, and
// distinguishes none.
func (e *evidence) addSerial(serial string) {
	if serial != "" && !isWWN(serial) && !perNode(serial) && !slices.Contains(e.serials, serial) {
		e.serials = append(e.serials, serial)
	}
}

// differs reports whether two are proven to be of different disks: they have a WWN each, or a
// serial number each, or a place in the same bus each, or a size, and no two are the same.
func (e *evidence) differs(other *evidence) bool {
	if contradict(e.wwns, other.wwns) {
		return true
	}
	return otherSerial(e.serials, other.serials) || otherSlot(e.slots, other.slots) || e.size > 0 && other.size > 0 && e.size != other.size
}

// otherSerial reports whether both have serial numbers, and none is, or is a part of, one of the other.
func otherSerial(a, b []string) bool {
	alike := slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return strings.Contains(x, y) || strings.Contains(y, x) })
	})
	return len(a) > 0 && len(b) > 0 && !alike
}

// contradict reports whether two lists of WWNs are of different disks: WWNs of one length are
// compared, and none is in both. A longer one with the shorter at its beginning, as a LUN extends
// the name of its array, says nothing.
func contradict(a, b []string) bool {
	compared := false
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return false
			}
			compared = compared || len(x) == len(y)
		}
	}
	return compared
}

// slot is where a disk is plugged in: the bus, as a by-path link with its last number taken off,
// and that number.
type slot struct{ bus, number string }

// readSlot reads a by-path link of which a disk has one: SAS and Fibre Channel have a path for each
// port. An NVMe controller is a slot by itself.
func readSlot(path string) (slot, bool) {
	const byPath = "/dev/disk/by-path/"
	if !strings.HasPrefix(path, byPath) {
		return slot{}, false
	}
	name := strings.TrimPrefix(wholeDisk(path)[len(byPath):], "virtio-")
	if address, _, nvme := strings.Cut(name, "-nvme-"); nvme {
		return slot{"nvme", address}, true
	}
	if at := strings.LastIndex(name, "-ata-"); at >= 0 {
		return slot{"ata", strings.TrimSuffix(name, ".0")}, true
	}
	if strings.Contains(name, "-scsi-") {
		return slot{"scsi", name}, true
	}
	if address, found := strings.CutPrefix(name, "pci-"); found && !strings.Contains(address, "-") {
		return slot{"virtio", name}, true
	}
	return slot{}, false
}

// otherSlot reports whether both have a place in the same kind of bus, and none in common.
func otherSlot(a, b []slot) bool {
	compared := false
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return false
			}
			compared = compared || x.bus == y.bus
		}
	}
	return compared
}
