package fn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

const (
	ownGroup      = "poolwright.io"
	inventoryKind = "Inventory"
	configKind    = "RenderConfig"
	hydrationKind = "Hydration"
)

// classified is a package, each object in its place.
type classified struct {
	facts      []*krm.Object
	specs      []*krm.Object              // sorted by namespace and name
	lock       map[string][]*krm.Object   // owner -> what was rendered for it
	owners     []string                   // the keys of lock, sorted
	memories   map[string]disklock.Memory // owner -> what its DiskLock knows of the disks of what is rendered
	others     map[krm.ID]*krm.Object     // what people wrote themselves
	config     *krm.Object                // a RenderConfig, or nil
	hydrations []*krm.Object              // Hydrations, which are checked and not rendered
	configMap  *krm.Object                // the ConfigMap that the RenderConfig was read from, or nil
	partial    bool                       // a spec came as functionConfig; there may be more that are not seen here
	findings   []finding.Finding

	kinds     *system.Kinds
	known     []schema.Kind
	items     identities
	factItems identities
}

// classify separates specs, facts, the lock and everything else.
func classify(p Package, kinds *system.Kinds, known []schema.Kind) *classified {
	c := &classified{
		lock:      map[string][]*krm.Object{},
		memories:  map[string]disklock.Memory{},
		others:    map[krm.ID]*krm.Object{},
		kinds:     kinds,
		known:     known,
		items:     identities{},
		factItems: identities{},
	}
	for _, o := range p.Objects {
		c.add(o, false)
	}
	c.addLock(p.Output)
	c.addConfig(p.Config)
	slices.SortFunc(c.specs, func(a, b *krm.Object) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return c
}

func (c *classified) add(o *krm.Object, fact bool) {
	inventory := o.Group() == ownGroup && o.Kind == inventoryKind
	fact = fact || inventory || isFact(c.kinds, o)
	if inventory || isList(o, fact) {
		items := o.Node.Seq("items")
		c.facts = slices.Grow(c.facts, len(items)) // nearly all lists are of facts
		for i := range items {
			item := o.Item(&items[i])
			if item.APIVersion == "" || item.Kind == "" {
				c.report(item, "no-kind", "", "is item %d of the %s, and has no apiVersion or no kind, so its kind is unknown; create the list again, or correct it", i, o.Kind)
				continue
			}
			c.add(item, fact)
		}
		if inventory || fact && len(items) == 0 {
			c.facts = append(c.facts, o) // it shows that there is none of a kind, or of which namespace it is
		}
		return
	}
	if !fact && o.RenderedFor() != "" {
		return // a copy of our output outside the output folder is nobody's manifest
	}
	index := c.items
	if fact {
		index = c.factItems
	}
	if o.Name != "" {
		if first := index.first(o); first != o {
			c.report(o, "duplicate", "", "is here twice, the first is %s; remove one", whereIs(first))
			return
		}
	}
	switch {
	case fact:
		c.facts = append(c.facts, o)
	case o.Group() == ownGroup && o.Kind == configKind:
		if c.config != nil {
			c.report(o, "two-configs", "", "is a second RenderConfig, the first is %s; remove one", whereIs(c.config))
			return
		}
		c.config = o
	case o.Group() == ownGroup && o.Kind == hydrationKind:
		c.hydrations = append(c.hydrations, o)
	case c.isSpec(o):
		c.specs = append(c.specs, o)
	default:
		c.others[o.ID()] = o
		c.checkKind(o)
		if _, part := homeOf(o.Path); part == RenderedFolder {
			c.checkOwned(o)
		}
	}
}

// identities are the objects that were seen, kind by kind: nearly all of a large package
// are of two or three.
type identities map[krm.GroupKind]map[inventory.Key]*krm.Object

// first returns the first object of an identity, which o is if there was none.
func (s identities) first(o *krm.Object) *krm.Object {
	seen := s[o.GroupKind()]
	if seen == nil {
		seen = map[inventory.Key]*krm.Object{}
		s[o.GroupKind()] = seen
	}
	key := inventory.Key{Namespace: o.Namespace, Name: o.Name}
	if first := seen[key]; first != nil {
		return first
	}
	seen[key] = o
	return o
}

// isList reports whether an object is a List, or one of a kind, such as a NodeList.
// What is no fact and only called so is a person's.
func isList(o *krm.Object, fact bool) bool {
	items := o.Node.Get("items")
	switch {
	case o.APIVersion == "v1" && o.Kind == "List":
		return true
	case !strings.HasSuffix(o.Kind, "List"), o.Kind == "ResourceList", items == nil, items.Kind() != document.Seq:
		return false
	}
	return fact || !slices.ContainsFunc(items.Items(), func(n document.Node) bool { return n.Str("apiVersion") == "" || n.Str("kind") == "" })
}

func (c *classified) isSpec(o *krm.Object) bool { return c.kinds.IsSpec(o.GroupKind()) }

// checkKind refuses what can only be a spec with a slip in its apiVersion or
// kind: passed over in silence, it would be a cluster without storage.
func (c *classified) checkKind(o *krm.Object) {
	var near []string
	for _, k := range c.known {
		switch {
		case k.Foreign:
		case k.Group == o.Group() && k.Kind == o.Kind:
			return
		case k.Kind == o.Kind:
			if k.Role == schema.Spec || k.Role == schema.Config {
				c.report(o, "api-version", "apiVersion", "%q has no kind %s; write %s", o.APIVersion, o.Kind, k.APIVersion())
			}
			return
		case k.Group == o.Group():
			near = append(near, k.Kind)
		}
	}
	if len(near) > 0 {
		c.report(o, "unknown-kind", "kind", "%q is not a kind of %s; known are %s%s", o.Kind, o.APIVersion, strings.Join(near, ", "), schema.DidYouMean(o.Kind, near))
	}
}

// addLock sorts what the output folder holds by owner.
func (c *classified) addLock(output []*krm.Object) {
	seen := make(map[krm.ID]*krm.Object, len(output))
	for _, o := range output {
		if first := seen[o.ID()]; first != nil && o.Name != "" {
			c.report(o, "duplicate", "", "is here twice, the first is %s; remove one", whereIs(first))
			continue
		}
		seen[o.ID()] = o
		owner := o.RenderedFor()
		if owner == "" {
			c.others[o.ID()] = o
			c.checkOwned(o)
			continue
		}
		if c.lock[owner] == nil {
			c.owners = append(c.owners, owner)
		}
		c.lock[owner] = append(c.lock[owner], o)
		if disklock.Is(o) {
			lock := disklock.Read(o)
			c.memories[owner] = lock.Memory()
		}
	}
	slices.Sort(c.owners)
}

// addConfig takes the functionConfig: a RenderConfig or the ConfigMap that stands for one, which
// then wins, or a spec, which may also be among the items.
func (c *classified) addConfig(config *krm.Object) {
	switch {
	case config == nil:
	case config.Group() == ownGroup && config.Kind == configKind:
		c.config = config
	case isConfigMap(config):
		if given := configFromMap(config); given != nil {
			c.config, c.configMap = given, config
		}
	case c.isSpec(config):
		c.partial = true
		if c.items.first(config) == config {
			c.specs = append(c.specs, config)
		}
	default:
		c.report(config, "function-config", "kind", "%s of %s cannot be the functionConfig; use a RenderConfig of %s/v1alpha1, a ConfigMap with its fields as data, or a spec", config.Kind, config.APIVersion, ownGroup)
	}
}

func (c *classified) report(o *krm.Object, rule, field, format string, args ...any) {
	f := finding.Finding{
		Severity: finding.Error, Rule: rule, Object: o.Ref, Field: field, Pos: o.At(), Message: fmt.Sprintf(format, args...),
	}
	if field != "" {
		f.Pos = o.At(strings.Split(field, ".")...)
	}
	c.findings = append(c.findings, f)
}

// isFact reports whether an object is a fact: because somebody says so, because of where
// it lies, or because of its kind.
func isFact(kinds *system.Kinds, o *krm.Object) bool {
	return o.Annotation(krm.AnnotationInventory) == "true" || InInventory(o.Path) || kinds.IsFact(o)
}

// InInventory reports whether a path, with slashes, lies below an inventory
// folder: what is there is a fact.
func InInventory(path string) bool {
	folders, _ := splitPath(path)
	return slices.Contains(folders, inventory.Folder)
}

func splitPath(path string) (folders []string, file string) {
	parts := strings.Split(path, "/")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// whereIs names where an object stands, for a message about another.
func whereIs(o *krm.Object) string {
	switch pos := o.At(); {
	case pos.File == "":
		return "among the items"
	case pos.Line == 0:
		return "in " + pos.File
	default:
		return fmt.Sprintf("at %s:%d", pos.File, pos.Line)
	}
}

// ownersWithoutSpec lists whose output is there and whose spec is not, but for those of which
// only disks are remembered.
func (c *classified) ownersWithoutSpec() []string {
	present := map[string]bool{}
	for _, o := range c.specs {
		present[o.OwnerKey()] = true
	}
	return slices.DeleteFunc(slices.Clone(c.owners), func(owner string) bool { return present[owner] || c.remembered(owner) })
}

// spec is the spec of an owner, or nil.
func (c *classified) spec(owner string) *krm.Object {
	if i := slices.IndexFunc(c.specs, func(o *krm.Object) bool { return o.OwnerKey() == owner }); i >= 0 {
		return c.specs[i]
	}
	return nil
}

// remembered reports whether of the output of an owner nothing is left but its DiskLock.
func (c *classified) remembered(owner string) bool {
	return disklock.Alone(c.lock[owner])
}
