package lvm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// Hidden are paths of devices that LVM must not look at: a volume of mode Block is a tenant's, who may have
// put LVM on it, with any name, UUID and tag. Logical volumes are never looked at.
type Hidden []string

// maxConfig is below what Linux takes as one argument of a program.
const maxConfig = 120 << 10

// Command is a command of LVM that does not look at what is hidden.
func (h Hidden) Command(ctx context.Context, tools *host.Tools, args ...string) ([]string, error) {
	config, err := h.config(ctx, tools)
	if err != nil {
		return nil, err
	}
	return append([]string{args[0], "--config", config}, args[1:]...), nil
}

// config is the configuration for one run. What the host rejects is rejected further: its own filter comes after.
func (h Hidden) config(ctx context.Context, tools *host.Tools) (string, error) {
	if len(h) == 0 {
		return "devices { scan_lvs=0 }", nil
	}
	hosts, err := hostFilter(ctx, tools)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("devices { scan_lvs=0 global_filter=[ ")
	for i, path := range h {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `"r|^%s$|"`, pattern(path))
	}
	if hosts != "" {
		b.WriteString(", " + hosts)
	}
	b.WriteString(" ] }")
	if b.Len() > maxConfig {
		return "", fmt.Errorf("lvm: the filter that hides %d names of devices has %d bytes, and may have %d", len(h), b.Len(), maxConfig)
	}
	return b.String(), nil
}

var special = regexp.MustCompile(`[^A-Za-z0-9/_:-]`)

// pattern is a path as a regular expression of LVM: what could mean something stands for any character.
func pattern(path string) string { return special.ReplaceAllString(path, ".") }

// hostFilter is what the host's own configuration says, without brackets. The program fails where it says nothing.
func hostFilter(ctx context.Context, tools *host.Tools) (string, error) {
	const key = "global_filter="
	result, err := tools.Run(ctx, host.Command{Name: "lvm", Args: []string{"dumpconfig", "devices/global_filter"}})
	if err != nil {
		return "", fmt.Errorf("lvm dumpconfig: %w", err)
	}
	text := strings.TrimSpace(string(result.Stdout))
	filter, found := strings.CutPrefix(text, key)
	switch {
	case found:
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(filter, "["), "]")), nil
	case text == "" && strings.Contains(string(result.Stderr), "not found"):
		return "", nil
	}
	return "", errors.Join(fmt.Errorf("lvm dumpconfig: its answer is not understood: %q", text), result.Failure("lvm dumpconfig"))
}
