package raid

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/nodeagent/host"
)

// object is an object of JSON whose keys differ between the versions of the program.
type object map[string]any

func (o object) text(key string) string {
	switch v := o[key].(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

func (o object) object(key string) object {
	v, _ := o[key].(map[string]any)
	return v
}

func (o object) list(key string) []object {
	values, _ := o[key].([]any)
	var list []object
	for _, v := range values {
		if m, ok := v.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// reply is what the program says of one controller.
type reply struct {
	index int
	data  object
}

// replies reads an answer. Its status decides: a program that ends with 0 and says Failure has failed,
// and one that ends with another code and says Success has not.
func replies(name string, r host.Result) ([]reply, error) {
	decoder := json.NewDecoder(bytes.NewReader(r.Stdout))
	decoder.UseNumber()
	var answer object
	if err := decoder.Decode((*map[string]any)(&answer)); err != nil {
		return nil, fmt.Errorf("%s: its answer is no JSON (exit %d): %s", name, r.Code, r.Said())
	}
	controllers := answer.list("Controllers")
	if len(controllers) == 0 {
		return nil, fmt.Errorf("%s: its answer names no controller", name)
	}
	var all []reply
	for _, c := range controllers {
		status := c.object("Command Status")
		if said := status.text("Status"); said != "Success" {
			return nil, fmt.Errorf("%s: status %q: %s", name, said, described(status))
		}
		index, err := strconv.Atoi(status.text("Controller"))
		if err != nil {
			index = -1 // an answer that is of no controller, such as that of show
		}
		all = append(all, reply{index: index, data: c.object("Response Data")})
	}
	return all, nil
}

// described is why a command has failed, as the program says it.
func described(status object) string {
	var parts []string
	if text := status.text("Description"); text != "" && text != "None" {
		parts = append(parts, text)
	}
	for _, detail := range status.list("Detailed Status") {
		if text := cmp.Or(detail.text("ErrMsg"), detail.text("Status")); text != "" && text != "-" {
			parts = append(parts, strings.TrimSpace(text+" "+detail.text("ErrCd")))
		}
	}
	if len(parts) == 0 {
		return "it says no more"
	}
	return strings.Join(parts, "; ")
}

// drives reads the drives of a controller in either grammar.
func (o object) drives() ([]Drive, error) {
	var all []Drive
	for _, entry := range o.list("Drives List") {
		row, details := entry.object("Drive Information"), entry.object("Drive Detailed Information")
		d, err := driveOf(row, row.text("State")+" "+row.text("Status"), details.text("Serial Number"), details.text("WWN"))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	for key := range o {
		if !driveKey.MatchString(key) {
			continue
		}
		rows := o.list(key)
		if len(rows) != 1 {
			return nil, fmt.Errorf("%s has %d rows", key, len(rows))
		}
		attributes := o.object(key + " - Detailed Information").object(key + " Device attributes")
		d, err := driveOf(rows[0], rows[0].text("State"), attributes.text("SN"), attributes.text("WWN"))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Drive) int {
		return cmp.Or(cmp.Compare(number(a.Enclosure), number(b.Enclosure)), cmp.Compare(a.Slot, b.Slot))
	})
	return all, nil
}

var driveKey = regexp.MustCompile(`^Drive /c\d+(/e\d+)?/s\d+$`)

func number(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func driveOf(row object, said, serial, wwn string) (Drive, error) {
	d := Drive{Serial: serial, WWN: disk.WWN(wwn), Model: row.text("Model"), Said: strings.TrimSpace(said)}
	enclosure, slot, found := strings.Cut(row.text("EID:Slt"), ":")
	var err error
	if d.Slot, err = strconv.Atoi(strings.TrimSpace(slot)); err != nil || !found {
		return d, fmt.Errorf("a drive has the place %q", row.text("EID:Slt"))
	}
	if n, err := strconv.Atoi(strings.TrimSpace(enclosure)); err == nil {
		d.Enclosure = &n
	}
	group := row.text("DG")
	switch d.Said {
	case "UGood", "UConf Good":
		d.State = Unconfigured
	case "JBOD", "JBOD Online", "JBOD Good":
		d.State = AsJBOD
	case "Onln", "Conf Online":
		d.State = Configured
	default:
		d.State = Unusable
	}
	_, err = strconv.Atoi(group)
	switch inGroup := err == nil; {
	case group == "F":
		d.State = Foreign
	case inGroup && d.State == Unconfigured, !inGroup && d.State == Configured:
		return d, fmt.Errorf("the drive %s is %s and has the drive group %q: these do not fit", d.Place(), d.Said, group)
	}
	return d, nil
}

// virtual reads the virtual drives of a controller in either grammar.
func (o object) virtual() ([]Virtual, error) {
	var all []Virtual
	for _, entry := range o.list("Virtual Drives") {
		v, err := virtualOf(entry.object("VD Info"), entry.object("VD Properties"), entry.list("PDs"))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	for key := range o {
		m := virtualKey.FindStringSubmatch(key)
		if m == nil {
			continue
		}
		rows := o.list(key)
		if len(rows) != 1 {
			return nil, fmt.Errorf("%s has %d rows", key, len(rows))
		}
		v, err := virtualOf(rows[0], o.object("VD"+m[1]+" Properties"), o.list("PDs for VD "+m[1]))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Virtual) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

var virtualKey = regexp.MustCompile(`^/c\d+/v(\d+)$`)

func virtualOf(row, properties object, drives []object) (Virtual, error) {
	v := Virtual{Name: row.text("Name"), WWN: disk.WWN(properties.text("SCSI NAA Id")), Level: strings.ToLower(row.text("TYPE")), Said: row.text("State")}
	_, id, found := strings.Cut(row.text("DG/VD"), "/")
	var err error
	if v.ID, err = strconv.Atoi(id); err != nil || !found {
		return v, fmt.Errorf("a virtual drive has the number %q", row.text("DG/VD"))
	}
	if v.WWN == "" || len(drives) == 0 {
		return v, fmt.Errorf("the virtual drive %d has the WWN %q and %d drives", v.ID, v.WWN, len(drives))
	}
	for _, d := range drives {
		v.Places = append(v.Places, strings.TrimSpace(d.text("EID:Slt")))
	}
	if v.Cache, err = cacheOf(cmp.Or(row.text("Cache"), row.text("CurrentCache"))); err != nil {
		return v, fmt.Errorf("the virtual drive %d: %w", v.ID, err)
	}
	return v, nil
}

// cacheOf reads the code of a cache policy: NRWTD, or NR,WB in the second grammar.
func cacheOf(code string) (Cache, error) {
	m := cacheCode.FindStringSubmatch(code)
	if m == nil {
		return Cache{}, fmt.Errorf("its cache policy %q is not known", code)
	}
	return Cache{
		Read:  map[string]string{"NR": "nora", "R": "ra"}[m[1]],
		Write: map[string]string{"WT": "wt", "WB": "wb", "AWB": "awb", "FWB": "awb"}[m[2]],
		IO:    map[string]string{"D": "direct", "C": "cached"}[m[3]],
	}, nil
}

var cacheCode = regexp.MustCompile(`^(NR|R),?(WT|AWB|FWB|WB),?(D|C)?$`)

// basics reads what a controller says of itself.
func (o object) basics(index int) Controller {
	c := Controller{Index: index, Model: o.object("Basics").text("Model"), Serial: o.object("Basics").text("Serial Number")}
	for _, key := range []string{"Cachevault_Info", "BBU_Info", "Energy Pack Info"} {
		for _, row := range o.list(key) {
			state := row.text("State")
			c.Battery = c.Battery || state == "Optimal" || state == "Optl"
		}
	}
	return c
}

// errCount says that two answers of the program do not fit together: something changed meanwhile, or
// its answer was cut off.
var errCount = errors.New("what it says at two places does not fit")

func sameCount(said string, found int, what string) error {
	if n, err := strconv.Atoi(said); err == nil && n != found {
		return fmt.Errorf("%w: %d %s, and %d of them are described", errCount, n, what, found)
	}
	return nil
}
