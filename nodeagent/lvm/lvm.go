// Package lvm is the volume groups, physical volumes and logical volumes of a node, as LVM
// itself reports them in JSON. It needs LVM 2.02.158, the first with --reportformat.
package lvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwright/poolwright/nodeagent/host"
)

// State is all that LVM has on the node.
type State struct {
	Groups  []Group // sorted by name, then UUID
	Orphans []PV    // physical volumes in no group
}

// Group is a volume group.
type Group struct {
	Name, UUID string
	Size, Free int64 // bytes
	ExtentSize int64 // bytes
	Tags       []string
	SystemID   string // of another host; "" where it has none, or this one's
	LockType   string
	Exported   bool
	Partial    bool
	MissingPVs []string // UUIDs
	PVs        []PV
	LVs        []LV
}

// PV is a physical volume.
type PV struct {
	UUID, Path string
	Start      int64 // of its extents on the device, bytes
	Size, Free int64 // bytes
	Missing    bool
	Duplicate  bool
}

// LV is a logical volume.
type LV struct {
	Name, UUID string
	Path       string // /dev/<group>/<name>, "" where it is not active
	Size       int64  // bytes
	Tags       []string
	Active     bool
	Open       bool
	// Snapshots says that there is a snapshot of it, or that it is one.
	Snapshots bool
}

// Read reads all that LVM has. The error wraps host.ErrMissing where LVM is not there. Any
// error means that nothing may be concluded.
func Read(ctx context.Context, tools *host.Tools, hide Hidden) (State, error) {
	config, err := hide.config(ctx, tools)
	if err != nil {
		return State{}, err
	}
	args := []string{"fullreport", "--config", config, "--all", "--reportformat", "json", "--units", "b", "--nosuffix"}
	for _, report := range []struct{ name, fields string }{
		{"vg", "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size,vg_tags,vg_systemid,vg_lock_type,vg_exported,vg_partial"},
		{"pv", "pv_uuid,pv_name,pe_start,pv_size,pv_free,pv_missing,pv_duplicate,vg_uuid"},
		{"lv", "lv_name,lv_uuid,lv_path,lv_size,lv_tags,lv_active,lv_device_open,origin,origin_uuid,vg_uuid"},
	} {
		args = append(args, "--configreport", report.name, "--options", report.fields)
	}
	out, err := tools.Output(ctx, "lvm", args...)
	if err != nil {
		return State{}, fmt.Errorf("lvm fullreport: %w", err)
	}
	rows, err := decode(out)
	if err != nil {
		return State{}, fmt.Errorf("lvm fullreport: %w", err)
	}
	state, err := assemble(rows)
	if err == nil {
		err = state.ownSystemID(ctx, tools)
	}
	return state, err
}

// ownSystemID takes this host's system ID off groups: they are its own. It is asked for only where a group has
// one.
func (s *State) ownSystemID(ctx context.Context, tools *host.Tools) error {
	if !slices.ContainsFunc(s.Groups, func(g Group) bool { return g.SystemID != "" }) {
		return nil
	}
	out, err := tools.Output(ctx, "lvm", "systemid")
	if err != nil {
		return fmt.Errorf("lvm systemid: %w", err)
	}
	_, own, found := strings.Cut(strings.TrimSpace(string(out)), "system ID:")
	if own = strings.TrimSpace(own); !found || own == "" {
		return nil // then none is its own
	}
	for i := range s.Groups {
		if s.Groups[i].SystemID == own {
			s.Groups[i].SystemID = ""
		}
	}
	return nil
}

// decode reads the reports, one a group and one of what is in no group. LVM prints a report
// even where there is nothing, so that none at all is a failure.
func decode(out []byte) (map[string][]map[string]string, error) {
	var answer struct {
		Report *[]map[string][]map[string]string `json:"report"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("its answer is not JSON: %w", err)
	}
	if answer.Report == nil {
		return nil, errors.New("its answer has no report")
	}
	rows := map[string][]map[string]string{}
	for _, report := range *answer.Report {
		for kind, list := range report {
			rows[kind] = append(rows[kind], list...)
		}
	}
	return rows, nil
}

func assemble(rows map[string][]map[string]string) (State, error) {
	var s State
	r := &reader{}
	index := map[string]int{}
	for _, row := range rows["vg"] {
		if row["vg_uuid"] == "" {
			return State{}, errors.New("lvm: a group has no UUID")
		}
		index[row["vg_uuid"]] = len(s.Groups)
		s.Groups = append(s.Groups, Group{
			Name: row["vg_name"], UUID: row["vg_uuid"], Size: r.bytes(row, "vg_size"), Free: r.bytes(row, "vg_free"),
			ExtentSize: r.bytes(row, "vg_extent_size"), Tags: list(row["vg_tags"]), SystemID: row["vg_systemid"],
			LockType: row["vg_lock_type"], Exported: row["vg_exported"] != "", Partial: row["vg_partial"] != "",
		})
	}
	for _, row := range rows["pv"] {
		pv := PV{
			UUID: row["pv_uuid"], Path: row["pv_name"], Start: r.bytes(row, "pe_start"), Size: r.bytes(row, "pv_size"), Free: r.bytes(row, "pv_free"),
			Missing: row["pv_missing"] != "", Duplicate: row["pv_duplicate"] != "",
		}
		at, found := index[row["vg_uuid"]]
		if !found {
			s.Orphans = append(s.Orphans, pv)
			continue
		}
		g := &s.Groups[at]
		g.PVs = append(g.PVs, pv)
		if pv.Missing {
			g.MissingPVs = append(g.MissingPVs, pv.UUID)
		}
	}
	for _, row := range rows["lv"] {
		at, found := index[row["vg_uuid"]]
		if !found {
			continue
		}
		g := &s.Groups[at]
		g.LVs = append(g.LVs, LV{
			// Names in brackets are of parts that only LVM uses.
			Name: strings.Trim(row["lv_name"], "[]"), UUID: row["lv_uuid"], Path: row["lv_path"], Size: r.bytes(row, "lv_size"),
			Tags: list(row["lv_tags"]), Active: row["lv_active"] == "active", Open: row["lv_device_open"] == "open",
			Snapshots: row["origin"] != "",
		})
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		for _, row := range rows["lv"] {
			if origin := row["origin_uuid"]; origin != "" && row["vg_uuid"] == g.UUID {
				for j := range g.LVs {
					g.LVs[j].Snapshots = g.LVs[j].Snapshots || g.LVs[j].UUID == origin
				}
			}
		}
		slices.SortFunc(g.LVs, func(a, b LV) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(g.PVs, func(a, b PV) int { return strings.Compare(a.Path+a.UUID, b.Path+b.UUID) })
	}
	slices.SortFunc(s.Groups, func(a, b Group) int { return strings.Compare(a.Name+" "+a.UUID, b.Name+" "+b.UUID) })
	return s, r.err
}

// reader reads numbers, and keeps the first failure.
type reader struct{ err error }

func (r *reader) bytes(row map[string]string, field string) int64 {
	text := row[field]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("lvm: %s is %q, which is no number of bytes", field, text)
	}
	return n
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	items := strings.Split(text, ",")
	slices.Sort(items)
	return items
}

// Named are the groups of a name. More than one is ambiguous, and LVM's commands would take
// either.
func (s *State) Named(name string) []*Group {
	var found []*Group
	for i := range s.Groups {
		if s.Groups[i].Name == name {
			found = append(found, &s.Groups[i])
		}
	}
	return found
}

// Of is the group with a physical volume on one of the paths, or nil.
func (s *State) Of(paths ...string) *Group {
	for i := range s.Groups {
		for _, pv := range s.Groups[i].PVs {
			if slices.Contains(paths, pv.Path) {
				return &s.Groups[i]
			}
		}
	}
	return nil
}

// Find is the logical volume of a name, or nil.
func (g *Group) Find(name string) *LV {
	for i := range g.LVs {
		if g.LVs[i].Name == name {
			return &g.LVs[i]
		}
	}
	return nil
}

// Outgrown reports whether a device of that many bytes has room for more extents than the physical volume on it
// has. A copy of LVM's metadata at the end is no room.
func (g *Group) Outgrown(pv PV, size int64) bool {
	return pv.Start+pv.Size+2*max(g.ExtentSize, 1<<20) < size
}

// Whole is nil if nothing speaks against writing to the group, else it says what does.
func (g *Group) Whole() error {
	switch {
	case g.Exported:
		return fmt.Errorf("the group %s is exported", g.Name)
	case g.Partial || len(g.MissingPVs) > 0:
		return fmt.Errorf("the group %s misses physical volumes: %s", g.Name, strings.Join(g.MissingPVs, ", "))
	case g.SystemID != "":
		return fmt.Errorf("the group %s has the system ID %q: it belongs to one host among several", g.Name, g.SystemID)
	case g.LockType != "" && g.LockType != "none":
		return fmt.Errorf("the group %s is shared (lock type %s)", g.Name, g.LockType)
	}
	for _, pv := range g.PVs {
		if pv.Duplicate {
			return fmt.Errorf("the group %s has a physical volume that is there twice: %s", g.Name, pv.Path)
		}
	}
	return nil
}

// Extents rounds a size up to whole extents.
func (g *Group) Extents(size int64) int64 {
	if g.ExtentSize <= 0 {
		return size
	}
	return (size + g.ExtentSize - 1) / g.ExtentSize * g.ExtentSize
}

var reserved = regexp.MustCompile(`^(snapshot|pvmove)`)

// LVName is the name of a Volume's logical volume: the Volume's own, but for what LVM keeps
// for itself.
func LVName(volume string) string {
	if reserved.MatchString(volume) {
		return "pw-" + volume
	}
	return volume
}

// DevicePath is the link by which a logical volume is known, below /dev/disk/by-id: its
// group's UUID and its own, without hyphens.
func DevicePath(group, lv string) string {
	bare := func(uuid string) string { return strings.ReplaceAll(uuid, "-", "") }
	return "/dev/disk/by-id/dm-uuid-LVM-" + bare(group) + bare(lv)
}
