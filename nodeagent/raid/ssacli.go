package raid

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// ssacli is HPE's program for Smart Array controllers. It answers in text alone, and makes and deletes
// logical drives without a question only when it is forced, so that the agent only reads with it:
// it is no Adapter.
type ssacli struct{ tools *host.Tools }

func (s ssacli) Name() string { return "ssacli" }

func (s ssacli) Controllers(ctx context.Context) ([]Controller, error) {
	result, err := s.tools.Run(ctx, host.Command{Name: "ssacli", Args: []string{"controller", "all", "show", "config", "detail"}})
	if err != nil {
		return nil, err
	}
	if err := result.Failure("ssacli"); err != nil {
		return nil, err
	}
	return smartArrays(result.Stdout)
}

var (
	smartArray    = regexp.MustCompile(`^(.+) in Slot (\d+)`)
	physicalDrive = regexp.MustCompile(`^physicaldrive (\S+):(\d+):(\d+)$`)
	array         = regexp.MustCompile(`(?i)^(array:? [a-z]{1,3}( \(.*\))?|unassigned)$`)
	logicalDrive  = regexp.MustCompile(`^Logical Drive: (\d+)$`)
)

// smartArrays reads what ssacli says: sections by indentation, each with lines of key and value.
func smartArrays(out []byte) ([]Controller, error) {
	var all []Controller
	var section string
	var virtual int // drives of arrays that came before
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if m := smartArray.FindStringSubmatch(line); m != nil && lines.Text() == strings.TrimLeft(lines.Text(), " ") {
			index, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, fmt.Errorf("ssacli: a controller in the slot %q", m[2])
			}
			all, section, virtual = append(all, Controller{Index: index, Model: m[1]}), "controller", 0
			continue
		}
		if len(all) == 0 || line == "" {
			continue
		}
		c := &all[len(all)-1]
		if array.MatchString(line) {
			virtual, section = len(c.Virtual), "array"
			continue
		}
		if m := physicalDrive.FindStringSubmatch(line); m != nil {
			box, err := strconv.Atoi(m[2])
			bay, failed := strconv.Atoi(m[3])
			if err != nil || failed != nil {
				return nil, fmt.Errorf("ssacli: %s", line)
			}
			c.Drives, section = append(c.Drives, Drive{Port: m[1], Enclosure: &box, Slot: bay, State: Unusable}), "drive"
			for i := range c.Virtual[virtual:] { // each is on all drives of its array
				v := &c.Virtual[virtual+i]
				v.Places = append(v.Places, c.Drives[len(c.Drives)-1].Place())
			}
			continue
		}
		if m := logicalDrive.FindStringSubmatch(line); m != nil {
			id, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, fmt.Errorf("ssacli: %s", line)
			}
			c.Virtual, section = append(c.Virtual, Virtual{ID: id}), "logical"
			continue
		}
		key, value, found := strings.Cut(line, ": ")
		switch {
		case !found:
		case section == "controller" && key == "Serial Number":
			c.Serial = value
		case section == "drive":
			c.Drives[len(c.Drives)-1].learn(key, value)
		case section == "logical":
			c.Virtual[len(c.Virtual)-1].learn(key, value)
		}
	}
	for _, c := range all {
		slices.SortFunc(c.Drives, func(a, b Drive) int {
			return cmp.Or(cmp.Compare(number(a.Enclosure), number(b.Enclosure)), cmp.Compare(a.Slot, b.Slot))
		})
	}
	return all, lines.Err()
}

func (d *Drive) learn(key, value string) {
	switch key {
	case "Serial Number":
		d.Serial = value
	case "WWID":
		d.WWN = disk.WWN(value)
	case "Model":
		d.Model = strings.Join(strings.Fields(value), " ")
	case "Status":
		if value != "OK" {
			d.Said, d.State = value, Unusable
		}
	case "Drive Type":
		if d.Said != "" {
			return // its status, which is not OK
		}
		d.Said = value
		switch value {
		case "Unassigned Drive":
			d.State = Unconfigured
		case "Data Drive":
			d.State = Configured
		case "HBA Mode Drive":
			d.State = AsJBOD
		}
	}
}

func (v *Virtual) learn(key, value string) {
	switch key {
	case "Fault Tolerance":
		v.Level = "raid" + value
	case "Unique Identifier":
		v.WWN = disk.WWN(value)
	case "Logical Drive Label":
		v.Name = value
	case "Status":
		v.Said = value
	}
}
