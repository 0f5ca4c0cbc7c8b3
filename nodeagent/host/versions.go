package host

import (
	"context"
	"regexp"
	"sort"
)

// Tool is a program of the machine that the agent uses.
type Tool struct {
	Name    string
	Path    string // "" where it is missing
	Version string // as it says itself, or ""
}

// asked is how each program is asked for its version.
var asked = map[string][]string{
	"lvm":        {"version"},
	"mdadm":      {"--version"},
	"mkfs.ext4":  {"-V"},
	"mkfs.xfs":   {"-V"},
	"resize2fs":  nil, // it has no way to say it without a device; it comes with mkfs.ext4
	"udevadm":    {"--version"},
	"wipefs":     {"--version"},
	"xfs_growfs": {"-V"},
	"perccli64":  nil, // asking a RAID program wakes its controller
	"perccli2":   nil,
	"ssacli":     nil,
	"storcli2":   nil,
	"storcli64":  nil,
}

// versionText is 2.03.16 of "2.03.16(2) (2022-05-18)", 4.3 of "v4.3", and 252, as udevadm says it.
var versionText = regexp.MustCompile(`(?:^|[^\w.])v?(\d+(?:\.\d+)+|\d{3})(?:[^\w.]|$)`)

// List is what the machine has and lacks, sorted by name.
func (t *Tools) List(ctx context.Context) []Tool {
	var tools []Tool
	for name, args := range asked {
		tool := Tool{Name: name}
		path, err := t.Find(name)
		if err == nil {
			tool.Path = path
		}
		if tool.Path != "" && args != nil {
			result, err := t.Run(ctx, Command{Name: name, Args: args})
			if err == nil {
				if found := versionText.FindSubmatch(append(result.Stdout, result.Stderr...)); found != nil {
					tool.Version = string(found[1])
				}
			}
		}
		tools = append(tools, tool)
	}
	sort.Slice(tools, func(i, j int) bool { return tools[i].Name < tools[j].Name })
	return tools
}
