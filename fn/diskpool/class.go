package diskpool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// classMaker makes the classes of a set.
type classMaker struct {
	*input
	roster  *roster
	classes []setClass
}

// makeClasses makes the classes of the set, and keeps those that are no longer in the
// spec and in use.
func (m *classMaker) makeClasses() {
	names := map[string]bool{}
	for i := range m.cfg.Spec.StorageClasses {
		want := &m.cfg.Spec.StorageClasses[i]
		name := cmp.Or(want.Name, m.Object.Name)
		if names[name] {
			m.reportClass(i, "name", finding.Error, "class-twice", "is the name of two classes of the set (%s); give one of them another", name)
			continue
		}
		names[name] = true
		before := class.Before(m.Facts, m.Before, name)
		if len(m.roster.pools) == 0 && before == nil {
			continue // withheld
		}
		c := setClass{m.newClass(want, name, before), i}
		for _, change := range c.Changes(before, classField) {
			m.reportClass(i, change.Field, finding.Error, "class-changed", "StorageClass %s %s", c.Name, change.Text)
		}
		m.checkReplicas(&c)
		m.classes = append(m.classes, c)
	}
	m.keepClasses(names)
	slices.SortFunc(m.classes, func(a, b setClass) int { return cmp.Compare(a.Name, b.Name) })
}

// classField is the field of a class in the spec that a field of the StorageClass comes from.
func classField(field string) string {
	switch parameter, isParameter := strings.CutPrefix(field, "parameters."); {
	case parameter == "repl":
		return "replicas"
	case slices.Contains([]string{"thin", "fsType", "maxSnapshots", "stsAffinityGroup"}, parameter):
		return parameter
	case isParameter && strings.Contains(parameter, "Topology"):
		return "topology"
	case field == "reclaimPolicy", field == "volumeBindingMode":
		return field
	}
	return "name"
}

// newClass is a class as the spec wants it. What the spec leaves open stays as it was.
func (m *classMaker) newClass(want *classConfig, name string, before *class.Class) class.Class {
	repl := want.Replicas
	// A default is taken once.
	for _, earlier := range []*class.Class{before, class.Rendered(m.Before, name)} {
		if repl == 0 && earlier != nil {
			repl = replicas(earlier)
		}
	}
	if repl == 0 {
		repl = max(1, min(3, len(m.roster.nodes())))
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
	own := labelSet + ": " + m.Object.Name
	switch {
	case len(want.Topology) > 0:
		maps.Copy(parameters, want.Topology)
	case m.form.has(topology):
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
			m.Report(finding.Info, "class-kept", "spec.release", "StorageClass %s keeps the parameters that it was made with; a class of another name gets those of release %s", name, m.cfg.Spec.Release)
		}
	}
	return class.Class{
		Name: name, Default: want.Default, Provisioner: driver, Parameters: parameters, ReclaimPolicy: want.ReclaimPolicy,
		Binding: want.VolumeBindingMode, AllowsExpansion: want.AllowVolumeExpansion,
	}
}

// checkReplicas holds the copies against the nodes that can have one.
func (m *classMaker) checkReplicas(c *setClass) {
	nodes, online, lives := len(m.roster.nodes()), map[string]bool{}, false
	for _, p := range m.roster.pools {
		lives = lives || p.live != nil
		if stateOf(p.live).online {
			online[p.node] = true
		}
	}
	field := "replicas"
	switch n := replicas(&c.Class); {
	case nodes == 0:
	case n > nodes:
		m.reportClass(c.index, field, finding.Error, "replicas", "StorageClass %s wants %s, each on another node, and %s pools; lower it under a new name, or add nodes", c.Name, finding.Count(n, "replica"), nodesHave(nodes))
	case lives && n > len(online):
		m.reportClass(c.index, field, finding.Warning, "replicas-online", "StorageClass %s wants %s, each on another node, and %s pools that are Online; volumes wait until there are more", c.Name, finding.Count(n, "replica"), nodesHave(len(online)))
	}
}

func nodesHave(n int) string {
	return finding.Count(n, "node") + " " + finding.Agree(n, "has", "have")
}

// reportClass reports on a field of a class, at the class where it is not written.
func (m *classMaker) reportClass(index int, field string, severity finding.Severity, rule, format string, args ...any) {
	f := m.Finding(severity, rule, "spec.storageClasses", fmt.Sprintf(format, args...))
	items := m.Object.Node.Seq("spec", "storageClasses")
	if index >= 0 && index < len(items) {
		f.Field = fmt.Sprintf("spec.storageClasses[%d].%s", index, field)
		f.Pos = m.Object.Position(items[index].Off)
		if at := items[index].Get(field); at != nil {
			f.Pos = m.Object.Position(at.Off)
		}
	}
	m.Collect(f)
}

// keepClasses keeps what is no longer in the spec while a volume or a claim uses it.
func (m *classMaker) keepClasses(wanted map[string]bool) {
	for _, o := range m.Before {
		if o.GroupKind() != class.Kind() || wanted[o.Name] {
			continue
		}
		if user := class.UserOf(m.Facts, o.Name); user != "" {
			m.classes = append(m.classes, setClass{class.Read(o), -1})
			m.Report(finding.Warning, "class-used", "spec.storageClasses", "StorageClass %s is no longer in the spec, and is kept while it is used: %s", o.Name, user)
		}
	}
}

// checkDefaults refuses a second default class in the package.
func (r *rendering) checkDefaults() {
	for _, s := range r.sets {
		for i := range s.classes.classes {
			c := &s.classes.classes[i]
			s.Defaults.Know(c.Name)
			if !c.Default {
				continue
			}
			if first := s.Defaults.Take(c.Name, s.Object.Ref); first != "" {
				s.classes.reportClass(c.index, "default", finding.Error, "two-defaults", "StorageClass %s is a second default class, the first is %s; make one of them no default", c.Name, first)
			}
		}
	}
}
