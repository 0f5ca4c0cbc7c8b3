// Package raid is the RAID controllers of a node: their drives, their virtual drives, and the
// few changes that the agent makes to them. What a program says is read from its JSON, and never from its exit
// code alone. Nothing is forced, no foreign configuration is cleared, and no drive is turned from JBOD
// into RAID or back: drives count such turns, and refuse them in the end.
package raid

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// Levels of a Volume on a drive.
const (
	RAID0 = "raid0" // a virtual drive of one drive
	JBOD  = "jbod"  // the drive as it is
)

// State is what a controller has made of a drive.
type State string

// The states.
const (
	Unconfigured State = "unconfigured" // good, and in no virtual drive
	AsJBOD       State = "jbod"         // given to the machine as it is
	Configured   State = "configured"   // in a virtual drive
	Foreign      State = "foreign"      // with a configuration of another controller
	Unusable     State = "unusable"     // failed, a hot spare, rebuilding, and all that is not known here
)

// Controller is a RAID controller.
type Controller struct {
	Index         int
	Model, Serial string
	// Foreign says that a drive of it has a configuration of another controller.
	Foreign bool
	// Battery says that what its memory holds survives a power failure.
	Battery bool
	Drives  []Drive   // sorted by enclosure and slot
	Virtual []Virtual // sorted by ID
	// Err says that what the program reports about this controller is not understood, so that nothing may be concluded
	// of it: an adapter without RAID beside one that has it, say.
	Err error
}

// Drive is a drive of a controller.
type Drive struct {
	Port      string // of a Smart Array controller
	Enclosure *int   // nil where it is in none
	Slot      int
	Serial    string
	WWN       string // as disk.WWN writes it
	Model     string
	State     State
	Said      string // what the program calls its state
}

// Place is the drive's place, as the program of its controller writes it.
func (d Drive) Place() string {
	place := fmt.Sprintf(":%d", d.Slot)
	if d.Enclosure != nil {
		place = fmt.Sprint(*d.Enclosure) + place
	}
	if d.Port != "" {
		place = d.Port + ":" + place
	}
	return place
}

// Is reports whether all that is declared of a drive is so, and at least one of both is.
func (d Drive) Is(wwn, serial string) bool {
	wwn, serial = disk.WWN(wwn), strings.TrimSpace(serial)
	return (wwn != "" || serial != "") && (wwn == "" || wwn == d.WWN) && (serial == "" || serial == d.Serial)
}

// Virtual is a virtual drive.
type Virtual struct {
	ID     int
	Name   string
	WWN    string // of the device that the machine has, as disk.WWN writes it
	Level  string // in lower case: raid0, raid1
	Said   string // what the program calls its state
	Cache  Cache
	Places []string // of its drives
}

// Optimal reports whether the virtual drive is well.
func (v Virtual) Optimal() bool { return v.Said == "Optl" || v.Said == "OK" }

// Cache is how a virtual drive uses the controller's memory. What is empty is not asked for.
type Cache struct {
	Read  string // ra or nora
	Write string // wt, wb or awb
	IO    string // direct or cached
}

// Holds reports whether all that is asked for is so. A controller of the second grammar has no
// policy for I/O.
func (c Cache) Holds(have Cache) bool {
	return (c.Read == "" || c.Read == have.Read) && (c.Write == "" || c.Write == have.Write) && (c.IO == "" || have.IO == "" || c.IO == have.IO)
}

// Reader is a program that knows RAID controllers.
type Reader interface {
	// Name is that of the program.
	Name() string
	// Controllers are all that it knows. An error means that nothing may be concluded, not even of how
	// many there are.
	Controllers(ctx context.Context) ([]Controller, error)
}

// Adapter is a program with which the agent changes them as well.
type Adapter interface {
	Reader
	// Create makes a virtual drive of level 0 of one drive, with a name.
	Create(ctx context.Context, controller int, d Drive, name string, cache Cache, run Run) error
	// SetJBOD gives a drive to the machine as it is.
	SetJBOD(ctx context.Context, controller int, d Drive, run Run) error
	// SetCache changes how a virtual drive uses the memory.
	SetCache(ctx context.Context, controller, virtual int, cache Cache, run Run) error
	// Delete takes a virtual drive away. What is on the drive stays there.
	Delete(ctx context.Context, controller, virtual int, run Run) error
}

// Run runs a program that writes.
type Run func(ctx context.Context, name string, args ...string) (host.Result, error)

// Readers are the programs that are on the node.
func Readers(tools *host.Tools) []Reader {
	var found []Reader
	for _, name := range []string{"storcli2", "perccli2", "storcli64", "storcli", "perccli64", "perccli"} {
		// storcli64 and storcli are one program under two names.
		if _, err := tools.Find(name); err == nil && !slices.ContainsFunc(found, func(a Reader) bool { return a.Name()+"64" == name || a.Name() == name+"64" }) {
			found = append(found, storcli{tools: tools, name: name, second: strings.HasSuffix(name, "2")})
		}
	}
	if _, err := tools.Find("ssacli"); err == nil {
		found = append(found, ssacli{tools: tools})
	}
	return found
}

// Find is the controller of a number, with the program that has it. Two programs that each have another
// one of that number are an error: the number does not say which is meant.
func Find(ctx context.Context, readers []Reader, index int) (Reader, Controller, error) {
	if len(readers) == 0 {
		return nil, Controller{}, fmt.Errorf("no program for RAID controllers %w: storcli, storcli2, perccli, perccli2", host.ErrMissing)
	}
	var by Reader
	var found Controller
	for _, a := range readers {
		controllers, err := a.Controllers(ctx)
		if err != nil {
			return nil, Controller{}, err
		}
		for _, c := range controllers {
			switch {
			case c.Index != index:
			case c.Err != nil:
				return nil, Controller{}, c.Err
			case by == nil:
				by, found = a, c
			case c.Serial == "" || c.Serial != found.Serial:
				return nil, Controller{}, fmt.Errorf("%s and %s each have another controller %d", by.Name(), a.Name(), index)
			}
		}
	}
	if by == nil {
		return nil, Controller{}, ErrNoController
	}
	return by, found, nil
}

// ErrNoController says that no program has a controller of the number.
var ErrNoController = errors.New("there is no such controller")

// Drive is the drive with an identity. More than one is an error.
func (c Controller) Drive(wwn, serial string) (*Drive, error) {
	var found *Drive
	for i, d := range c.Drives {
		switch {
		case !d.Is(wwn, serial):
		case found != nil:
			return nil, fmt.Errorf("the drives %s and %s of controller %d have the same identity", found.Place(), d.Place(), c.Index)
		default:
			found = &c.Drives[i]
		}
	}
	return found, nil
}

// Over is the virtual drive that a drive is in, or nil.
func (c Controller) Over(d Drive) *Virtual {
	for i, v := range c.Virtual {
		if slices.Contains(v.Places, d.Place()) {
			return &c.Virtual[i]
		}
	}
	return nil
}

// Shows reports whether the disk of a WWN is a drive, and that alone: as JBOD, or as a virtual drive.
func (c Controller) Shows(d Drive, wwn string) bool {
	if d.State == AsJBOD {
		return wwn != "" && wwn == d.WWN
	}
	over := c.Over(d)
	return over != nil && len(over.Places) == 1 && wwn != "" && wwn == over.WWN
}

// Named is the virtual drive of a name, or nil.
func (c Controller) Named(name string) *Virtual {
	for i, v := range c.Virtual {
		if v.Name == name {
			return &c.Virtual[i]
		}
	}
	return nil
}
