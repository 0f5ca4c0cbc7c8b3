package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/poolwright/poolwright/nodeagent/device"
)

// ErrBusy says that a program of an earlier run still works for the object: it has
// inherited the object's lock.
var ErrBusy = errors.New("a program that was started earlier still runs")

// Journal keeps one file an object. What is done is decided on facts; the journal only
// distinguishes work of ours that was cut off from what somebody else has left.
type Journal struct {
	// Folder has the files; /var/lib/poolwright/journal.
	Folder string
}

// Entry is what the journal has of an object.
type Entry struct {
	Object string `json:"object"` // Kind/name
	UUID   string `json:"uuid"`   // its mark
	Disk   Disk   `json:"disk"`
	// Step is that last begun; Done says that it has ended and its check was passed.
	Step string `json:"step,omitempty"`
	Done bool   `json:"done,omitempty"`
	// Erased says that what the object is made of was zeroed, for its removal: what remains is to
	// take it away.
	Erased bool `json:"erased,omitempty"`
	// Wipe is how far a step that erases a device has come, should it be cut off.
	Wipe *Wipe `json:"wipe,omitempty"`
	// Labels are the physical volumes of a group that is being removed: a copy of a disk has the same UUID.
	Labels []Label `json:"labels,omitempty"`
	// Made says that the object was whole once: what is missing from then on is lost, and
	// not to be made.
	Made bool `json:"made,omitempty"`
	// Released says that the object was deleted and that its data was kept, in Path.
	Released bool   `json:"released,omitempty"`
	Path     string `json:"path,omitempty"`
}

// Wipe is an erase from the end of a device to its beginning.
type Wipe struct {
	Policy string `json:"policy"` // as it was asked for
	Left   int64  `json:"left"`   // bytes from the beginning that are not erased yet
}

// Label is that of an LVM physical volume, and the disk that it is on.
type Label struct {
	PV   string `json:"pv"` // LVM's UUID
	Disk Disk   `json:"disk"`
}

// Disk is the disk that a step has written to.
type Disk struct {
	WWN    string `json:"wwn,omitempty"`
	Serial string `json:"serial,omitempty"`
	UUID   string `json:"uuid,omitempty"` // of a logical volume
	Size   int64  `json:"size,omitempty"` // of the device written, bytes
	Seq    uint64 `json:"diskseq,omitempty"`
	Boot   string `json:"boot,omitempty"`
}

// DiskOf is the record of a device.
func DiskOf(ds *device.Devices, d *device.Device, boot string) Disk {
	whole := ds.Whole(d)
	return Disk{WWN: whole.WWN, Serial: whole.Serial, UUID: d.UUID, Size: d.Size, Seq: d.Seq, Boot: boot}
}

// Same reports whether it is the same disk. A disk keeps its number for as long as it is
// there; after a boot the rest has to do.
func (d Disk) Same(o Disk) bool {
	if d.Boot != o.Boot || d.Boot == "" {
		d.Seq, o.Seq = 0, 0
	}
	d.Boot, o.Boot = "", ""
	return d == o
}

// CutOff reports whether one of the kinds of steps was begun on the disk and not ended.
func (e Entry) CutOff(disk Disk, kinds ...string) bool {
	return !e.Done && slices.Contains(kinds, e.Step) && e.Disk.Same(disk)
}

// Erase is the kind of the step that zeroes what an object is made of, for its removal.
const Erase = "erase"

// IsErased reports whether that was done.
func (e Entry) IsErased() bool { return e.Erased || e.Step == Erase && e.Done }

// Open makes the folder of the journal below that of the agent.
func Open(folder string) (Journal, error) {
	j := Journal{Folder: filepath.Join(folder, "journal")}
	if err := os.MkdirAll(j.Folder, 0o700); err != nil {
		return Journal{}, err
	}
	return j, syncFolder(folder)
}

// file is that of an object; names of objects have no underscore.
func (j Journal) file(object, ending string) string {
	return filepath.Join(j.Folder, strings.ReplaceAll(object, "/", "_")+ending)
}

// Read is what the journal has of an object; an empty entry where it has nothing. A file
// that cannot be read is an error, and no reason to start again.
func (j Journal) Read(object string) (Entry, error) {
	data, err := os.ReadFile(j.file(object, ".json"))
	if errors.Is(err, os.ErrNotExist) {
		return Entry{Object: object}, nil
	}
	if err != nil {
		return Entry{}, fmt.Errorf("journal: %w", err)
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("journal of %s: %w; it is in %s", object, err, j.file(object, ".json"))
	}
	return e, nil
}

// All are the entries of all objects, sorted by object. With an error there are those that can be read.
func (j Journal) All() ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(j.Folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var unread []error
	for _, file := range files {
		object := strings.Replace(strings.TrimSuffix(filepath.Base(file), ".json"), "_", "/", 1)
		e, err := j.Read(object)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		entries = append(entries, e)
	}
	return entries, errors.Join(unread...)
}

// Write replaces the entry. When it returns the entry is on the disk, or there is an error
// and the old one is: a full disk stops the work before it begins.
func (j Journal) Write(e Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file := j.file(e.Object, ".json")
	if err := writeSync(file+".new", append(data, '\n')); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return syncFolder(j.Folder)
}

// Remove forgets an object.
func (j Journal) Remove(object string) error {
	for _, ending := range []string{".json", ".lock"} {
		if err := os.Remove(j.file(object, ending)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return syncFolder(j.Folder)
}

// Lock takes the lock of an object, which programs that work for it inherit. The error is
// ErrBusy where one of them still runs.
func (j Journal) Lock(object string) (*os.File, error) {
	f, err := os.OpenFile(j.file(object, ".lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("%s: %w", object, ErrBusy)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func writeSync(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
