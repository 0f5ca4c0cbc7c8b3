package storcli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	onController = regexp.MustCompile(`^/c(\d+)$`)
	onDrive      = regexp.MustCompile(`^/c(\d+)/e(\d+)/s(\d+)$`)
	onDrives     = regexp.MustCompile(`^/c(\d+)/eall/sall$`)
	onVirtual    = regexp.MustCompile(`^/c(\d+)/v(\d+)$`)
	onVirtuals   = regexp.MustCompile(`^/c(\d+)/vall$`)
)

// command does a command, and returns what it answers.
func (r *run) command(args []string) (object, error) {
	if len(args) < 2 || args[len(args)-1] != "J" {
		return nil, syntaxError("end: the answer is to be JSON")
	}
	first, rest := args[0], strings.Join(args[1:len(args)-1], " ")
	if first == "show" && rest == "" {
		return r.overview(), nil
	}
	for _, known := range []struct {
		path *regexp.Regexp
		verb *regexp.Regexp
		do   func(c *Controller, path, verb []string) (object, error)
	}{
		{onController, regexp.MustCompile(`^show all$`), func(c *Controller, _, _ []string) (object, error) { return r.controller(c), nil }},
		{onDrives, regexp.MustCompile(`^show all$`), func(c *Controller, _, _ []string) (object, error) { return r.drives(c), nil }},
		{onVirtuals, regexp.MustCompile(`^show all$`), func(c *Controller, _, _ []string) (object, error) { return r.virtuals(c), nil }},
		{onController, r.grammar(`^add vd type=raid0 name=(\S+) drives=(\d+:\d+)((?: \w+)*)$`, `^add vd r0 name=(\S+) drives=(\d+:\d+)((?: \w+)*)$`), r.add},
		{onDrive, regexp.MustCompile(`^set jbod$`), r.jbod},
		{onVirtual, regexp.MustCompile(`^delete$`), r.remove},
		{onVirtual, r.grammar(`^set (rdcache|wrcache|iopolicy)=(\w+)$`, `^set (rdcache|wrcache)=(\w+)$`), r.set},
	} {
		path, verb := known.path.FindStringSubmatch(first), known.verb.FindStringSubmatch(rest)
		if path == nil || verb == nil {
			continue
		}
		r.index, _ = strconv.Atoi(path[1])
		at := slices.IndexFunc(r.state.Controllers, func(c *Controller) bool { return c.Index == r.index })
		if at < 0 {
			return nil, refusal{0, fmt.Sprintf("Controller %d not found", r.index)}
		}
		return known.do(r.state.Controllers[at], path[1:], verb[1:])
	}
	return nil, syntaxError(first + " " + rest)
}

func (r *run) grammar(first, second string) *regexp.Regexp {
	if r.second {
		return regexp.MustCompile(second)
	}
	return regexp.MustCompile(first)
}

func (r *run) add(c *Controller, _, verb []string) (object, error) {
	d := c.drive(verb[1])
	switch {
	case d == nil:
		return nil, refusal{255, "one of the drives is not there"}
	case d.State != "UGood" || d.Foreign:
		return nil, refusal{50, "device state doesn't support requested command"}
	case len(verb[0]) > 15:
		return nil, refusal{9, "the name has more than 15 characters"}
	}
	v := &Virtual{ID: c.Next, Name: verb[0], NAA: d.NAA, Drive: d.place(), Read: "nora", Write: "wt", IO: "direct"}
	if v.NAA == "" {
		v.NAA = fmt.Sprintf("600605b0%02x%06x%08x%08x", c.Index, d.Slot, c.Next, 0x2a3b4c5d+c.Next)
	}
	for _, word := range strings.Fields(verb[2]) {
		if err := v.policy(word); err != nil {
			return nil, err
		}
	}
	c.Next++
	c.Virtual = append(c.Virtual, v)
	d.State = "Onln"
	r.changed = append(r.changed, func() error { return d.appear(v.NAA) })
	return nil, nil
}

func (v *Virtual) policy(word string) error {
	switch word {
	case "ra", "nora":
		v.Read = word
	case "wt", "wb", "awb":
		v.Write = word
	case "direct", "cached":
		v.IO = word
	default:
		return syntaxError(word)
	}
	return nil
}

func (r *run) jbod(c *Controller, path, _ []string) (object, error) {
	d := c.drive(path[1] + ":" + path[2])
	switch {
	case d == nil:
		return nil, refusal{255, "the drive is not there"}
	case d.State != "UGood" || d.Foreign:
		return nil, refusal{50, "device state doesn't support requested command"}
	case d.Turns >= 2:
		return nil, refusal{95, "Maximum allowed drive conversion has been reached"}
	}
	d.State, d.Turns = "JBOD", d.Turns+1
	r.changed = append(r.changed, func() error { return d.appear(d.WWN) })
	return nil, nil
}

func (r *run) remove(c *Controller, path, _ []string) (object, error) {
	v, err := c.virtual(path[1])
	if err != nil {
		return nil, err
	}
	d := c.drive(v.Drive)
	d.State = "UGood"
	c.Virtual = slices.DeleteFunc(c.Virtual, func(o *Virtual) bool { return o == v })
	r.changed = append(r.changed, d.vanish)
	return nil, nil
}

func (r *run) set(c *Controller, path, verb []string) (object, error) {
	v, err := c.virtual(path[1])
	if err != nil {
		return nil, err
	}
	if err := v.policy(verb[1]); err != nil {
		return nil, err
	}
	r.changed = append(r.changed, func() error { return nil })
	return nil, nil
}

func (c *Controller) drive(place string) *Drive {
	for _, d := range c.Drives {
		if d.place() == place {
			return d
		}
	}
	return nil
}

func (c *Controller) virtual(id string) (*Virtual, error) {
	for _, v := range c.Virtual {
		if strconv.Itoa(v.ID) == id {
			return v, nil
		}
	}
	return nil, refusal{255, "Some of the specified VDs does not exist"}
}
