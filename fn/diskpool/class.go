package diskpool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// poolLabel is the parameter by which a class finds the pools of its set.
const poolLabel = "poolAffinityTopologyLabel"

// class is a StorageClass of a set.
type class struct {
	name                   string
	isDefault              bool
	parameters             map[string]string
	reclaimPolicy, binding string
	allowsExpansion        bool
	provisioner            string
	index                  int // among spec.storageClasses; -1 for one that is no longer there
}

func readClass(o *krm.Object) class {
	c := class{
		name: o.Name, isDefault: o.Annotation(annotationDefault) == "true", parameters: o.Node.StrMap("parameters"),
		reclaimPolicy: cmp.Or(o.Node.Str("reclaimPolicy"), "Delete"), binding: cmp.Or(o.Node.Str("volumeBindingMode"), "Immediate"),
		provisioner: o.Node.Str("provisioner"), index: -1,
	}
	c.allowsExpansion, _ = o.Node.Get("allowVolumeExpansion").Bool()
	return c
}

// replicas is how many copies a volume of the class has.
func (c *class) replicas() int {
	n, _ := strconv.Atoi(c.parameters["repl"])
	return n
}

func (c *class) object() *krm.Object {
	o := krm.Make(storageGroup+"/v1", classKind, "", c.name,
		document.F("provisioner", document.Text(c.provisioner)),
		document.F("parameters", textMap(c.parameters)),
		document.F("reclaimPolicy", document.Text(c.reclaimPolicy)),
		document.F("volumeBindingMode", document.Text(c.binding)),
		document.F("allowVolumeExpansion", document.Bool(c.allowsExpansion)),
	)
	if c.isDefault {
		o.SetAnnotation(annotationDefault, "true")
	}
	return o
}

func classID(name string) krm.ID { return krm.ID{Group: storageGroup, Kind: classKind, Name: name} }

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
		before := s.classBefore(name)
		if len(s.pools) == 0 && before == nil {
			continue // withheld
		}
		c := s.newClass(want, name, before)
		c.index = i
		s.checkClass(&c, before)
		s.checkReplicas(&c)
		s.classes = append(s.classes, c)
	}
	s.keepClasses(names)
	slices.SortFunc(s.classes, func(a, b class) int { return cmp.Compare(a.name, b.name) })
}

// classBefore is the class of a name as it lives or was rendered, nil where it is free to
// be anything: what was rendered and is known not to live can still change.
func (s *set) classBefore(name string) *class {
	live := s.in.Facts.Object(classID(name))
	if live == nil && s.in.Facts.Tells(storageGroup, classKind, "") {
		return nil
	}
	for _, o := range s.Before {
		if o.ID() == classID(name) {
			c := readClass(o)
			return &c
		}
	}
	if live == nil {
		return nil
	}
	c := readClass(live)
	return &c
}

// newClass is a class as the spec wants it. What the spec leaves open stays as it was.
func (s *set) newClass(want *classConfig, name string, before *class) class {
	replicas := want.Replicas
	if replicas == 0 && before != nil && before.replicas() > 0 {
		replicas = before.replicas()
	}
	if replicas == 0 {
		replicas = s.lockedReplicas(name)
	}
	if replicas == 0 {
		replicas = max(1, min(3, len(s.members())))
	}
	parameters := map[string]string{"repl": strconv.Itoa(replicas), "protocol": "nvmf", "fsType": want.FSType}
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
	if before != nil && len(want.Topology) == 0 && before.parameters[poolLabel] != parameters[poolLabel] {
		// Only the release changed: the class keeps what it was made with.
		other := maps.Clone(parameters)
		delete(other, poolLabel)
		if kept := before.parameters[poolLabel]; kept != "" {
			other[poolLabel] = kept
		}
		if maps.Equal(other, before.parameters) && (before.parameters[poolLabel] == "" || before.parameters[poolLabel] == own) {
			parameters = other
			s.report(finding.Info, "class-kept", "spec.release", "StorageClass %s keeps the parameters that it was made with; a class of another name gets those of release %s", name, s.cfg.Spec.Release)
		}
	}
	return class{
		name: name, isDefault: want.Default, parameters: parameters, reclaimPolicy: want.ReclaimPolicy, binding: want.VolumeBindingMode,
		allowsExpansion: want.AllowVolumeExpansion, provisioner: driver,
	}
}

// lockedReplicas is the count that was rendered before, 0 for none: a default is taken
// once.
func (s *set) lockedReplicas(name string) int {
	for _, o := range s.Before {
		if o.ID() == classID(name) {
			c := readClass(o)
			return c.replicas()
		}
	}
	return 0
}

// checkClass refuses what a cluster would: these fields of a class never change.
func (s *set) checkClass(c, before *class) {
	if before == nil {
		return
	}
	var changed []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"provisioner", c.provisioner == before.provisioner}, {"parameters", maps.Equal(c.parameters, before.parameters)},
		{"reclaimPolicy", c.reclaimPolicy == before.reclaimPolicy}, {"volumeBindingMode", c.binding == before.binding},
	} {
		if !f.same {
			changed = append(changed, f.name)
		}
	}
	if len(changed) > 0 {
		s.reportClass(c.index, "name", finding.Error, "class-changed", "StorageClass %s is there with other %s, and a cluster never changes these; give the class a new name, or set back what was changed", c.name, finding.Names(changed)+differences(c.parameters, before.parameters))
	}
}

// differences names the parameters that differ.
func differences(a, b map[string]string) string {
	var keys []string
	for key := range a {
		if a[key] != b[key] {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, found := a[key]; !found {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return " (" + finding.Names(keys) + ")"
}

// checkReplicas holds the copies against the nodes that can have one.
func (s *set) checkReplicas(c *class) {
	nodes, online, lives := len(s.members()), map[string]bool{}, false
	for _, p := range s.pools {
		lives = lives || p.live != nil
		if stateOf(p.live).online {
			online[p.node] = true
		}
	}
	field := "replicas"
	switch n := c.replicas(); {
	case nodes == 0:
	case n > nodes:
		s.reportClass(c.index, field, finding.Error, "replicas", "StorageClass %s wants %s, each on another node, and %s pools; lower it under a new name, or add nodes", c.name, finding.Count(n, "replica"), nodesHave(nodes))
	case lives && n > len(online):
		s.reportClass(c.index, field, finding.Warning, "replicas-online", "StorageClass %s wants %s, each on another node, and %s pools that are Online; volumes wait until there are more", c.name, finding.Count(n, "replica"), nodesHave(len(online)))
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
	s.findings = append(s.findings, f)
}

// keepClasses keeps what is no longer in the spec while a volume or a claim uses it.
func (s *set) keepClasses(wanted map[string]bool) {
	for _, o := range s.Before {
		if o.GroupKind() != classGroupKind() || wanted[o.Name] {
			continue
		}
		if user := userOf(s.in.Facts, o.Name); user != "" {
			s.classes = append(s.classes, readClass(o))
			s.report(finding.Warning, "class-used", "spec.storageClasses", "StorageClass %s is no longer in the spec, and is kept while it is used: %s", o.Name, user)
		}
	}
}

// userOf names a volume or claim of a class, or is "".
func userOf(facts *inventory.Facts, class string) string {
	for _, kind := range []string{volumeKind, claimKind} {
		for _, o := range facts.Objects("", kind) {
			if o.Node.Str("spec", "storageClassName") == class {
				return o.Ref.String()
			}
		}
	}
	return ""
}

// checkDefaults refuses a second default class in the package.
func (r *rendering) checkDefaults() {
	first := ""
	for _, s := range r.sets {
		if first == "" {
			for _, o := range s.in.Held {
				if o.GroupKind() == classGroupKind() && o.Annotation(annotationDefault) == "true" {
					first = o.Ref.String()
					break
				}
			}
		}
		for i := range s.classes {
			c := &s.classes[i]
			switch {
			case !c.isDefault:
			case first == "":
				first = c.object().Ref.String() + " of " + s.Object.Ref.String()
			default:
				s.reportClass(c.index, "default", finding.Error, "two-defaults", "StorageClass %s is a second default class, the first is %s; make one of them no default", c.name, first)
			}
		}
	}
}
