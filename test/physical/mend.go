package physical

import (
	"regexp"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/schema/finding"
)

// tries is how often a person does what the errors of a render ask for, before all that is at fault
// is taken out.
const tries = 3

// mend does what the errors of a render ask for.
func (h *History) mend(findings []finding.Finding, try int) {
	var done []string
	for _, f := range findings {
		if f.Severity != finding.Error {
			continue
		}
		if text := h.mendOne(f, try); text != "" && !slices.Contains(done, text) {
			h.tell("mended: " + text)
			done = append(done, text)
		}
	}
}

var (
	allowed = regexp.MustCompile(`poolwright\.io/allow-removal: ([^\s;,]+)`)
	named   = regexp.MustCompile(`(Volume|VolumeGroup|DiskPool) ([a-z]+-w[0-9a-z-]+)`)
)

func (h *History) mendOne(f finding.Finding, try int) string {
	s := h.specOf(f.Object.Kind, f.Object.Namespace, f.Object.Name)
	consent := allowed.FindStringSubmatch(f.Message)
	switch {
	case try >= tries:
		return h.takeOut(f)
	case s == nil:
		return h.mendOrphan(f, consent)
	case strings.HasPrefix(s.Name, "own-"):
		return h.out(s)
	}
	switch f.Rule {
	case "device-refused", "device-unknown", "no-such-host", "disk-twice":
		return h.dropLine(s, f)
	case "no-disks":
		if try > 0 {
			return h.takeOut(f)
		}
		s.Body = ceph(h.Rand, h.World, h.World.unrendered(h.Lock)).Body
		return s.Name + " has other disks"
	case "selector-matches-nothing":
		if i := slices.IndexFunc(h.World.Hosts, func(host *Host) bool { return host.Name != "" }); i >= 0 {
			h.World.Hosts[i].Groups = "a"
			return "node " + h.World.Hosts[i].Name + " is of group a"
		}
	case "no-inventory", "all-nodes-missing", "node-unknown":
		if text := h.anyBack(); text != "" && (consent == nil || h.In(1, 2)) {
			return text
		}
	}
	switch object := named.FindStringSubmatch(f.Message); {
	case consent != nil && !slices.Contains(s.Consent, consent[1]):
		s.Consent = append(s.Consent, consent[1])
		return s.Name + " allows to lose " + consent[1]
	case object != nil && try > 0 && !slices.Contains(s.Consent, object[1]+"/"+object[2]):
		s.Consent = append(s.Consent, object[1]+"/"+object[2])
		return s.Name + " allows to lose " + object[1] + "/" + object[2]
	}
	return h.undo(s)
}

// anyBack has a node back that is gone.
func (h *History) anyBack() string {
	for _, host := range h.World.Hosts {
		if host.Name == "" {
			return h.back(host)
		}
	}
	return ""
}

// mendOrphan puts a spec back, or has what was rendered for it go.
func (h *History) mendOrphan(f finding.Finding, consent []string) string {
	folder := f.Pos.File[:strings.LastIndexByte(f.Pos.File, '/')+1]
	for i := len(h.commits) - 1; i >= 0 && h.In(1, 3); i-- {
		for _, s := range h.commits[i].specs {
			if s.folder() == folder && h.specOf(s.Kind, s.Namespace, s.Name) == nil {
				h.Specs = append(h.Specs, &s)
				return s.Kind + " " + s.Name + " is put back"
			}
		}
	}
	if consent != nil && h.In(2, 3) {
		h.annotate(folder, consent[1])
		return "what is rendered in " + folder + " may go"
	}
	return h.takeOut(f)
}

// dropLine takes out of a spec what a finding stands at.
func (h *History) dropLine(s *Spec, f finding.Finding) string {
	text := s.chunk().Text
	at := f.Pos.Line - 1 - strings.Count(strings.TrimSuffix(text, s.Body), "\n")
	lines := strings.SplitAfter(s.Body, "\n")
	if at < 0 || at >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[at]), "- ") {
		return h.undo(s)
	}
	line := strings.TrimSpace(lines[at])
	s.Body = without(s.Body, at)
	return line + " is taken out of " + s.Name
}

// undo writes a spec as it was in the last commit, or takes it out where it is new.
func (h *History) undo(s *Spec) string {
	if len(h.commits) == 0 {
		return h.out(s)
	}
	last := h.commits[len(h.commits)-1]
	for _, was := range last.specs {
		if was.Kind != s.Kind || was.Name != s.Name || was.Namespace != s.Namespace {
			continue
		}
		if was.Body == s.Body {
			return ""
		}
		s.Body = was.Body
		return s.Kind + " " + s.Name + " is as it was"
	}
	return h.out(s)
}

// takeOut takes out of the package what a finding is of, and all that is rendered for it, and removes that
// from the cluster; the disks are wiped.
func (h *History) takeOut(f finding.Finding) string {
	folder := "rendered/"
	if s := h.specOf(f.Object.Kind, f.Object.Namespace, f.Object.Name); s != nil {
		folder = s.folder()
		h.Specs = slices.DeleteFunc(h.Specs, func(other *Spec) bool { return other == s })
	} else if i := strings.LastIndexByte(f.Pos.File, '/'); i > 0 {
		folder = f.Pos.File[:i+1]
	}
	var kept, gone []Chunk
	for _, c := range h.Lock {
		if strings.HasPrefix(c.File, folder) {
			gone = append(gone, c)
		} else {
			kept = append(kept, c)
		}
	}
	h.Lock = kept
	for _, o := range parsed(gone) {
		for _, l := range slices.Clone(h.World.Live) {
			if l.Rendered && l.Plural == strings.ToLower(o.Kind)+"s" && l.Name == o.Name {
				h.World.remove(l)
				for _, d := range l.Disks {
					if len(h.World.holders(d)) == 0 {
						d.Wipe()
					}
				}
			}
		}
	}
	return "what is in " + folder + " is removed, in the cluster, too"
}
