package raid

import (
	"context"
	"fmt"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// storcli is Broadcom's program for MegaRAID controllers, and Dell's perccli, which is the same. The
// second of either has another grammar.
type storcli struct {
	tools  *host.Tools
	name   string
	second bool
}

func (s storcli) Name() string { return s.name }

func (s storcli) show(ctx context.Context, args ...string) ([]reply, error) {
	result, err := s.tools.Run(ctx, host.Command{Name: s.name, Args: append(args, "J")})
	if err != nil {
		return nil, err
	}
	return replies(s.name, result)
}

func (s storcli) Controllers(ctx context.Context) ([]Controller, error) {
	overview, err := s.show(ctx, "show")
	if err != nil {
		return nil, err
	}
	var all []Controller
	for _, row := range overview[0].data.list("System Overview") {
		key := "Ctl"
		if s.second {
			key = "Ctrl"
		}
		var index int
		if _, err := fmt.Sscan(row.text(key), &index); err != nil {
			return nil, fmt.Errorf("%s: a controller has the number %q", s.name, row.text(key))
		}
		c, err := s.controller(ctx, index)
		if err != nil {
			c = Controller{Index: index, Err: fmt.Errorf("%s: controller %d: %w", s.name, index, err)}
		}
		all = append(all, c)
	}
	if err := sameCount(overview[0].data.text("Number of Controllers"), len(all), "controllers"); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return all, nil
}

func (s storcli) controller(ctx context.Context, index int) (Controller, error) {
	path := fmt.Sprintf("/c%d", index)
	data, err := s.one(ctx, index, path, "show", "all")
	if err != nil {
		return Controller{}, err
	}
	c := data.basics(index)
	if len(data.list("PD LIST")) > 0 {
		details, err := s.one(ctx, index, path+"/eall/sall", "show", "all")
		if err != nil {
			return c, err
		}
		if c.Drives, err = details.drives(); err != nil {
			return c, err
		}
	}
	if len(data.list("VD LIST")) > 0 {
		details, err := s.one(ctx, index, path+"/vall", "show", "all")
		if err != nil {
			return c, err
		}
		if c.Virtual, err = details.virtual(); err != nil {
			return c, err
		}
	}
	for _, count := range []struct {
		key   string
		rows  int
		found int
		what  string
	}{
		{"Physical Drives", len(data.list("PD LIST")), len(c.Drives), "drives"},
		{"Virtual Drives", len(data.list("VD LIST")), len(c.Virtual), "virtual drives"},
	} {
		for _, said := range []string{data.text(count.key), fmt.Sprint(count.rows)} {
			if err := sameCount(said, count.found, count.what); err != nil {
				return c, err
			}
		}
	}
	for _, d := range c.Drives {
		c.Foreign = c.Foreign || d.State == Foreign
		if over := c.Over(d); (over != nil) != (d.State == Configured) && d.State != Unusable {
			return c, fmt.Errorf("%w: the drive %s is %s, and its virtual drive is %+v", errCount, d.Place(), d.Said, over)
		}
	}
	return c, nil
}

// one is the answer of one controller.
func (s storcli) one(ctx context.Context, index int, args ...string) (object, error) {
	all, err := s.show(ctx, args...)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 || all[0].index != index {
		return nil, fmt.Errorf("%v was answered by another controller", args)
	}
	return all[0].data, nil
}

// change runs a command that writes.
func (s storcli) change(ctx context.Context, run Run, args ...string) error {
	result, err := run(ctx, s.name, append(args, "J")...)
	if err != nil {
		return err
	}
	_, err = replies(s.name, result)
	return err
}

func (s storcli) Create(ctx context.Context, controller int, d Drive, name string, cache Cache, run Run) error {
	level := "type=raid0"
	if s.second {
		level = "r0"
	}
	args := []string{fmt.Sprintf("/c%d", controller), "add", "vd", level, "name=" + name, "drives=" + d.Place()}
	for _, word := range []string{cache.Write, cache.Read, cache.IO} {
		if word != "" && (word != cache.IO || !s.second) { // the second has no policy for I/O
			args = append(args, word)
		}
	}
	return s.change(ctx, run, args...)
}

func (s storcli) SetJBOD(ctx context.Context, controller int, d Drive, run Run) error {
	path := fmt.Sprintf("/c%d/s%d", controller, d.Slot)
	if d.Enclosure != nil {
		path = fmt.Sprintf("/c%d/e%d/s%d", controller, *d.Enclosure, d.Slot)
	}
	return s.change(ctx, run, path, "set", "jbod")
}

// SetCache sets one policy at a time: the second grammar takes no more.
func (s storcli) SetCache(ctx context.Context, controller, virtual int, cache Cache, run Run) error {
	path := fmt.Sprintf("/c%d/v%d", controller, virtual)
	for _, policy := range []struct{ key, word string }{{"rdcache", cache.Read}, {"wrcache", cache.Write}, {"iopolicy", cache.IO}} {
		if policy.word == "" || policy.key == "iopolicy" && s.second {
			continue
		}
		if err := s.change(ctx, run, path, "set", policy.key+"="+policy.word); err != nil {
			return err
		}
	}
	return nil
}

func (s storcli) Delete(ctx context.Context, controller, virtual int, run Run) error {
	return s.change(ctx, run, fmt.Sprintf("/c%d/v%d", controller, virtual), "delete")
}
