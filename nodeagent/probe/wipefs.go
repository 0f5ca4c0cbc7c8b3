package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// names are wipefs' names where NodeInventory has others.
var names = map[string]string{
	"LVM2_member": "lvm", "LVM1_member": "lvm", "linux_raid_member": "md", "zfs_member": "zfs", "zfs": "zfs",
	"ceph_bluestore": "bluestore", "crypto_LUKS": "luks", "swsuspend": "swap", "dos": "mbr", "PMBR": "gpt",
	"isw_raid_member": "isw", "ddf_raid_member": "ddf", "DRBD": "drbd", "drbd": "drbd",
}

// Wipefs asks wipefs what it finds on a device. It reads only: --no-act is always given,
// and wipefs wipes nothing without --all or --offset.
func Wipefs(ctx context.Context, tools *host.Tools, path string) ([]string, error) {
	result, err := tools.Run(ctx, host.Command{Name: "wipefs", Args: []string{"--no-act", "--json", path}})
	if err != nil {
		return nil, err
	}
	if err := result.Failure("wipefs"); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(result.Stdout)) == 0 {
		// It prints nothing at all where it finds nothing; what it could not read it
		// complains of, not always with an exit code.
		if said := bytes.TrimSpace(result.Stderr); len(said) > 0 {
			return nil, fmt.Errorf("wipefs: %s", result.Said())
		}
		return nil, nil
	}
	var answer struct {
		Signatures *[]struct{ Type string }
	}
	if err := json.Unmarshal(result.Stdout, &answer); err != nil {
		return nil, fmt.Errorf("wipefs: its answer is no JSON: %w", err)
	}
	if answer.Signatures == nil {
		return nil, fmt.Errorf("wipefs: its answer has no list of signatures")
	}
	var kinds []string
	for _, s := range *answer.Signatures {
		switch name := names[s.Type]; {
		case name != "":
			kinds = append(kinds, name)
		case s.Type == "":
			return nil, fmt.Errorf("wipefs: its answer has a signature without a type")
		default:
			kinds = append(kinds, s.Type)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), nil
}
