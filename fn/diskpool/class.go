package diskpool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/class"
	"github.com/poolwright/poolwright/schema/finding"
)

// poolLabel is the parameter by which a class finds the pools of its set.
const poolLabel = "poolAffinityTopologyLabel"

// setClass is a StorageClass of a set.
type setClass struct {
	class.Class
	index int // among spec.storageClasses; -1 for one that is no longer there
}

// replicas is how many copies a volume of the class has.
func replicas(c *class.Class) int {
	n, _ := strconv.Atoi(c.Parameters["repl"])
	return n
}

// makeClasses makes the classes of the set, and keeps those that are no longer in the
// spec and in use.
func (s *set) makeClasses() {
	names := map[string]bool{}
	for i := range s.cfg.Spec.StorageClasses {
		want := &s.cfg.Spec.StorageClasses[i]
		name := cmp.Or(want.Name, s.Object.Name)
		if names[name] {
			s.reportClass(i, "name", finding.Error, "class-twice", "is the name of two classes of the set (%s); give one of them another", name)
			continue
		}
		names[name] = true
		before := class.Before(s.in.Facts, s.Before, name)
		if len(s.pools) == 0 && before == nil {
			continue // withheld
		}
		c := setClass{s.newClass(want, name, before), i}
		if text := c.Changed(before); text != "" {
			s.reportClass(i, "name", finding.Error, "class-changed", "%s", text)
		}
		s.checkReplicas(&c)
		s.classes = append(s.classes, c)
	}
	s.keepClasses(names)
	slices.SortFunc(s.classes, func(a, b setClass) int { return cmp.Compare(a.Name, b.Name) })
}

// newClass is a class as the spec wants it. What the spec leaves open stays as it was.
func (s *set) newClass(want *classConfig, name string, before *class.Class) class.Class {
	repl := want.Replicas
	// A default is taken once.
	for _, earlier := range []*class.Class{before, class.Rendered(s.Before, name)} {
		if repl == 0 && earlier != nil {
			repl = replicas(earlier)
		}
	}
	if repl == 0 {
		repl = max(1, min(3, len(s.members())))
	}
	parameters := map[string]string{"repl": strconv.Itoa(repl), "protocol": "nvmf", "fsType": want.FSType}
	if want.Thin {
		parameters["thin"] = "true"
	}
	if want.MaxSnapshots > 0 {
		parameters["maxSnapshots"] = strconv.Itoa(want.MaxSnapshots)
	}
	if want.STSAffinityGroup {
		parameters["stsAffinityGroup"] = "true"
	}
	own := labelSet + ": " + s.Object.Name
	switch {
	case len(want.Topology) > 0:
		maps.Copy(parameters, want.Topology)
	case s.form.has(topology):
		parameters[poolLabel] = own
	}
	if before != nil && len(want.Topology) == 0 && before.Parameters[poolLabel] != parameters[poolLabel] {
		// Only the release changed: the class keeps what it was made with.
		other := maps.Clone(parameters)
		delete(other, poolLabel)
		if kept := before.Parameters[poolLabel]; kept != "" {
			other[poolLabel] = kept
		}
		if maps.Equal(other, before.Parameters) && (before.Parameters[poolLabel] == "" || before.Parameters[poolLabel] == own) {
			parameters = other
			s.Report(finding.Info, "class-kept", "spec.release", "StorageClass %s keeps the parameters that it was made with; a class of another name gets those of release %s", name, s.cfg.Spec.Release)
		}
	}
	return class.Class{
		Name: name, Default: want.Default, Provisioner: driver, Parameters: parameters, ReclaimPolicy: want.ReclaimPolicy,
		Binding: want.VolumeBindingMode, AllowsExpansion: want.AllowVolumeExpansion,
	}
}

// checkReplicas holds the copies against the nodes that can have one.
func (s *set) checkReplicas(c *setClass) {
	nodes, online, lives := len(s.members()), map[string]bool{}, false
	for _, p := range s.pools {
		lives = lives || p.live != nil
		if stateOf(p.live).online {
			online[p.node] = true
		}
	}
	field := "replicas"
	switch n := replicas(&c.Class); {
	case nodes == 0:
	case n > nodes:
		s.reportClass(c.index, field, finding.Error, "replicas", "StorageClass %s wants %s, each on another node, and %s pools; lower it under a new name, or add nodes", c.Name, finding.Count(n, "replica"), nodesHave(nodes))
	case lives && n > len(online):
		s.reportClass(c.index, field, finding.Warning, "replicas-online", "StorageClass %s wants %s, each on another node, and %s pools that are Online; volumes wait until there are more", c.Name, finding.Count(n, "replica"), nodesHave(len(online)))
	}
}

func nodesHave(n int) string {
	if n == 1 {
		return "1 node has"
	}
	return finding.Count(n, "node") + " have"
}

// reportClass reports on a field of a class, or on the class where it is not written.
func (s *set) reportClass(index int, field string, severity finding.Severity, rule, format string, args ...any) {
	f := s.Finding(severity, rule, "spec.storageClasses", fmt.Sprintf(format, args...))
	items := s.Object.Node.Seq("spec", "storageClasses")
	if index >= 0 && index < len(items) {
		f.Field = fmt.Sprintf("spec.storageClasses[%d]", index)
		f.Pos = s.Object.Position(items[index].Off)
		if at := items[index].Get(field); at != nil {
			f.Field += "." + field
			f.Pos = s.Object.Position(at.Off)
		}
	}
	s.Collect(f)
}

// keepClasses keeps what is no longer in the spec while a volume or a claim uses it.
func (s *set) keepClasses(wanted map[string]bool) {
	for _, o := range s.Before {
		if o.GroupKind() != class.Kind() || wanted[o.Name] {
			continue
		}
		if user := class.UserOf(s.in.Facts, o.Name); user != "" {
			s.classes = append(s.classes, setClass{class.Read(o), -1})
			s.Report(finding.Warning, "class-used", "spec.storageClasses", "StorageClass %s is no longer in the spec, and is kept while it is used: %s", o.Name, user)
		}
	}
}

// checkDefaults refuses a second default class in the package.
func (r *rendering) checkDefaults() {
	for _, s := range r.sets {
		for i := range s.classes {
			c := &s.classes[i]
			s.in.Defaults.Know(c.Name)
			if !c.Default {
				continue
			}
			if first := s.in.Defaults.Take(c.Name, s.Object.Ref); first != "" {
				s.reportClass(c.index, "default", finding.Error, "two-defaults", "StorageClass %s is a second default class, the first is %s; make one of them no default", c.Name, first)
			}
		}
	}
}
