package physical

import (
	"slices"
	"strings"
)

// consent names something that is rendered, in the spec that it is rendered for.
func (h *History) consent() string {
	objects := parsed(h.Lock)
	h.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	for _, o := range objects {
		if !slices.Contains([]string{"DiskPool", "CephCluster", "CStorClusterStorageSet", "CStorPoolCluster", "Volume", "VolumeGroup"}, o.Kind) {
			continue
		}
		for _, s := range h.Specs {
			entry := o.Kind + "/" + o.Name
			if !strings.HasSuffix(o.Owner(), "/"+s.Kind+"/"+s.Namespace+"/"+s.Name) || slices.Contains(s.Consent, entry) {
				continue
			}
			s.Consent = append(s.Consent, entry)
			return s.Kind + " " + s.Name + " allows to lose " + entry
		}
	}
	return ""
}

func (h *History) withdraw() string {
	for _, s := range h.Specs {
		if len(s.Consent) > 0 {
			s.Consent = nil
			return s.Kind + " " + s.Name + " allows nothing any more"
		}
	}
	return ""
}

// spec adds a spec, or writes one in another way.
func (h *History) spec() string {
	free := h.World.unrendered(h.Lock)
	s := Pick(h.Rand, drawers())(h.Rand, h.World, free)
	was := h.specOf(s.Kind, s.Namespace, s.Name)
	switch {
	case was == nil:
		h.Specs = append(h.Specs, s)
		return s.Kind + " " + s.Name + " is added"
	case s.Kind == "HyperCloudStorage" && h.In(5, 6):
		was.Body = h.otherDevices(was.Body, free)
	case s.Kind == "CStorClusterConfig" && h.In(5, 6): // what a pool is made of stays
		was.Body = s.Body[:strings.Index(s.Body, "  poolConfig")] + was.Body[strings.Index(was.Body, "  poolConfig"):]
	default:
		was.Body = s.Body
	}
	return s.Kind + " " + s.Name + " is written in another way"
}

// otherDevices is a Ceph cluster with one disk more, or one less.
func (h *History) otherDevices(body string, free []*Disk) string {
	lines := strings.SplitAfter(body, "\n")
	var devices []int
	for i, line := range lines {
		if strings.HasPrefix(line, "      - /dev/") {
			devices = append(devices, i)
		}
	}
	switch {
	case len(devices) == 0:
		return body
	case len(devices) > 1 && h.In(1, 3):
		return without(body, Pick(h.Rand, devices))
	}
	host := ""
	for i, line := range lines {
		host = strings.TrimSpace(strings.TrimPrefix(line, "    - hostname:"))
		if !strings.HasPrefix(line, "    - hostname:") || i+2 >= len(lines) {
			continue
		}
		for _, d := range free {
			if d.Places[0].Host.Label != host {
				continue
			}
			if name := h.World.reportedLink(h.Rand, d, d.Places[0]); name != "" {
				lines[i+1] += "      - " + name + "\n"
				return strings.Join(lines, "")
			}
		}
	}
	return body
}

// without is a body without a device, or a host with all of its devices.
func without(body string, at int) string {
	lines := strings.SplitAfter(body, "\n")
	end := at + 1
	for strings.HasPrefix(lines[at], "    - hostname:") && end < len(lines) && !strings.HasPrefix(lines[end], "    - ") && strings.HasPrefix(lines[end], "      ") {
		end++
	}
	lines = slices.Delete(lines, at, end)
	if i := slices.Index(lines, "      devices:\n"); i > 0 && (i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "      - ")) {
		lines = slices.Delete(lines, i-1, i+1) // a host without disks
	}
	body = strings.Join(lines, "")
	if !strings.Contains(body, "hostname") {
		body = strings.Replace(body, "    nodes:\n", "    deviceSelector: {}\n", 1)
	}
	return body
}

// specOf finds a spec, or nil.
func (h *History) specOf(kind, namespace, name string) *Spec {
	i := slices.IndexFunc(h.Specs, func(s *Spec) bool { return s.Kind == kind && s.Namespace == namespace && s.Name == name })
	if i < 0 {
		return nil
	}
	return h.Specs[i]
}

// unspec takes a spec out, with what was rendered for it, or with consent to lose that, or with neither.
func (h *History) unspec() string {
	if len(h.Specs) < 3 {
		return ""
	}
	return h.out(Pick(h.Rand, h.Specs))
}

func (h *History) out(s *Spec) string {
	h.Specs = slices.DeleteFunc(h.Specs, func(other *Spec) bool { return other == s })
	text := s.Kind + " " + s.Name + " is taken out"
	switch {
	case h.In(1, 5):
		return text
	case h.In(1, 4):
		h.Lock = slices.DeleteFunc(slices.Clone(h.Lock), func(c Chunk) bool { return strings.HasPrefix(c.File, s.folder()) })
		return text + " with what was rendered for it"
	}
	h.annotate(s.folder(), s.whole())
	return text + ", and what was rendered for it may go"
}

// folder is where what is rendered for a spec is.
func (s *Spec) folder() string {
	parts := []string{strings.ToLower(s.Kind), s.Namespace, s.Name}
	return "rendered/" + strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ".") + "/"
}

// whole is the consent to lose all that is rendered for a spec.
func (s *Spec) whole() string {
	switch s.Kind {
	case "CStorClusterConfig":
		return "CStorPoolCluster/" + s.Name
	case "HyperCloudStorage":
		return "CephCluster/" + s.Name
	}
	return s.Kind + "/" + s.Name
}

// annotate writes consent into what is rendered in a folder.
func (h *History) annotate(folder, consent string) {
	const annotation = "    poolwright.io/allow-removal: "
	h.Lock = slices.Clone(h.Lock)
	for i := range h.Lock {
		c := &h.Lock[i]
		if !strings.HasPrefix(c.File, folder) || strings.Contains(c.Text, annotation) {
			continue
		}
		if before, after, found := strings.Cut(c.Text, "\n  annotations:\n"); found {
			c.Text = before + "\n  annotations:\n" + annotation + consent + "\n" + after
		} else if before, after, found := strings.Cut(c.Text, "\nmetadata:\n"); found {
			c.Text = before + "\nmetadata:\n  annotations:\n" + annotation + consent + "\n" + after
		}
	}
}

// handOver begins to give the disks of one system to another: a spec wants less, with consent, which is
// then applied, and the disks are wiped.
func (h *History) handOver() string {
	var live []*Spec
	for _, s := range h.Specs {
		if slices.ContainsFunc(h.World.Live, func(l *Live) bool {
			return l.Rendered && strings.Contains(l.Text, s.Kind+"/"+s.Namespace+"/"+s.Name+"\n")
		}) {
			live = append(live, s)
		}
	}
	if len(live) == 0 {
		return ""
	}
	s := Pick(h.Rand, live)
	h.planned = []string{"apply", "wipe a disk", "edit a spec"}
	for _, lower := range [][2]string{{"perNode: 2", "perNode: 1"}, {"poolsPerNode: 2", "poolsPerNode: 1"}, {"poolsPerNode: all", "poolsPerNode: 1"}} {
		if strings.Contains(s.Body, lower[0]) && h.In(1, 2) {
			s.Body = strings.Replace(s.Body, lower[0], lower[1], 1)
			for _, o := range parsed(h.Lock) {
				if strings.HasSuffix(o.Owner(), "/"+s.Kind+"/"+s.Namespace+"/"+s.Name) {
					s.Consent = append(s.Consent, o.Kind+"/"+o.Name)
				}
			}
			return s.Kind + " " + s.Name + " wants less, and allows that"
		}
	}
	return h.out(s)
}

// revert: Git has the specs and what was rendered as they were.
func (h *History) revert() string {
	if len(h.commits) < 2 {
		return ""
	}
	c := Pick(h.Rand, h.commits)
	h.Lock = c.lock
	h.specs(c)
	return "the package is what it was in an earlier commit"
}
