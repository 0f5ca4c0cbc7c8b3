// Package storcli stands in for Broadcom's storcli and storcli2 where there is no RAID controller. It
// keeps what it has in a file, answers in the JSON of either grammar, takes what the real one takes, and refuses the
// rest: a command of the other grammar, a drive that is not free, a turn too many from RAID to JBOD.
package storcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// StateFile is beside the program.
const StateFile = "storcli.json"

// FaultFile is the file beside the program that names a fault of the next run: see Faults.
const FaultFile = "storcli.fault"

// Faults are what only a program that answers in JSON can do wrong.
func Faults() []string {
	return []string{"dies with effect", "says Success, does nothing", "exits 0, says Failure", "exits 1, says Success"}
}

// State is all that the stand-in has.
type State struct {
	Controllers []*Controller `json:"controllers"`
}

// Controller is one of its controllers.
type Controller struct {
	Index   int        `json:"index"`
	Battery bool       `json:"battery"`
	Drives  []*Drive   `json:"drives"`
	Virtual []*Virtual `json:"virtual"`
	Next    int        `json:"next"` // the number of the next virtual drive
}

// Drive is a drive.
type Drive struct {
	Enclosure int    `json:"enclosure"`
	Slot      int    `json:"slot"`
	Serial    string `json:"serial"`
	WWN       string `json:"wwn"`
	State     string `json:"state"` // UGood, JBOD, Onln, UBad
	Foreign   bool   `json:"foreign,omitempty"`
	Turns     int    `json:"turns"` // between RAID and JBOD
	// NAA is what a virtual drive over it gets; a new one each time where it is empty.
	NAA string `json:"naa,omitempty"`
	// Address is that of a SCSI disk of the machine which is this drive, and is there only while the
	// controller shows it: host:channel:target:lun.
	Address string `json:"address,omitempty"`
	// File is what is on the drive, in the place of a SCSI disk, and Root the folder of a machine
	// that has it as one while the controller shows it.
	File string `json:"file,omitempty"`
	Root string `json:"root,omitempty"`
}

// Virtual is a virtual drive.
type Virtual struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	NAA   string `json:"naa"`
	Read  string `json:"read"`
	Write string `json:"write"`
	IO    string `json:"io"`
	Drive string `json:"drive"`
}

func (d *Drive) place() string { return fmt.Sprintf("%d:%d", d.Enclosure, d.Slot) }

// Write writes the state into a folder.
func (s State) Write(folder string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(folder, StateFile)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Read reads the state from a folder.
func Read(folder string) (State, error) {
	var s State
	data, err := os.ReadFile(filepath.Join(folder, StateFile))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// Is reports whether a program of this name is what is stood in for.
func Is(program string) bool {
	return slices.Contains([]string{"storcli64", "storcli2", "perccli64", "perccli2"}, filepath.Base(program))
}

// Writes reports whether a command changes a controller.
func Writes(command string) bool { return !slices.Contains(strings.Fields(command), "show") }

// Main runs the program of that name, and returns its exit code.
func Main(program string, args []string, out io.Writer) int {
	folder := filepath.Dir(program)
	lock, err := os.OpenFile(filepath.Join(folder, StateFile+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	defer func() { _ = lock.Close() }()
	state, err := Read(folder)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	fault, err := os.ReadFile(filepath.Join(folder, FaultFile))
	if err == nil {
		_ = os.Remove(filepath.Join(folder, FaultFile))
	}
	r := run{state: &state, second: strings.HasSuffix(program, "2"), index: -1}
	data, err := r.command(args)
	var wrong syntaxError
	if errors.As(err, &wrong) {
		_, _ = fmt.Fprintln(out, wrong)
		return 255
	}
	return r.answer(folder, data, err, strings.TrimSpace(string(fault)), out)
}

// syntaxError is answered in plain text, also where JSON was asked for.
type syntaxError string

func (e syntaxError) Error() string { return "syntax error, unexpected " + string(e) }

// refusal is a command that was understood and not done.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string { return r.text }

type object = map[string]any

// run is one run of the program.
type run struct {
	state  *State
	second bool
	index  int
	// changed are done once the state is written: what the machine then sees.
	changed []func() error
}

func (r *run) answer(folder string, data object, err error, fault string, out io.Writer) int {
	code, status, description := 0, "Success", "None"
	var details []object
	var refused refusal
	if errors.As(err, &refused) {
		status, description = "Failure", refused.text
		details = []object{{"Status": "Failed", "ErrCd": refused.code, "ErrMsg": refused.text}}
		if !r.second { // the exit code of the second says nothing
			code = 1
		}
	} else if len(r.changed) > 0 && fault != "says Success, does nothing" {
		if err := r.state.Write(folder); err != nil {
			_, _ = fmt.Fprintln(out, err)
			return 1
		}
		for _, do := range r.changed {
			if err := do(); err != nil {
				_, _ = fmt.Fprintln(out, err)
				return 1
			}
		}
	}
	switch fault {
	case "dies with effect":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "exits 0, says Failure":
		code, status, description = 0, "Failure", "an error that is none"
	case "exits 1, says Success":
		code = 1
	}
	command := object{"CLI Version": "007.0000.0000.0000", "Status": status, "Description": description}
	switch {
	case r.index < 0:
	case r.second:
		command["Controller"] = strconv.Itoa(r.index)
	default:
		command["Controller"] = r.index
	}
	if len(details) > 0 {
		command["Detailed Status"] = details
	}
	answer := object{"Command Status": command}
	if status == "Success" && data != nil {
		answer["Response Data"] = data
	}
	text, err := json.MarshalIndent(object{"Controllers": []object{answer}}, "", "\t")
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 1
	}
	_, _ = fmt.Fprintln(out, string(text))
	return code
}
