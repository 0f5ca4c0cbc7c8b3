package system

import (
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disklock"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/prerequisite"
)

// Declaration is what a system says of itself, as data. What separates specs from facts,
// what a snapshot keeps, which roles read it, where a tree starts, what engines need to
// know and what people may call things is derived from the declarations (Kinds), and
// stands nowhere else.
type Declaration struct {
	// Name is what people call the system.
	Name string
	// Kinds are those that the system brings, and foreign ones that it renders. A kind
	// is described (Plural, Names, Keep, ...) by one declaration; what a system does with
	// a kind that another one describes, it says in Role and Stateful alone.
	Kinds []Kind
	// Facts are the kinds, its own and foreign ones, that Start, Assess and Status look at.
	// What reports or holds disks is read for every system, and need not be among them.
	Facts []krm.GroupKind
	// Roots are the kinds that a tree may start at, from the top of a tree to its bottom.
	Roots []krm.GroupKind
	// DryRun says what a server-side dry run does all the same, and what is done about
	// it (see DryRunner): a sentence for people, or "".
	DryRun string
	// Domains are those whose labels and annotations the controllers of the system act
	// on; a domain stands for all below it, too.
	Domains []string
	// Software is what people install so that the kinds have an effect. A snapshot has its definitions
	// and its operators.
	Software []prerequisite.Software
}

// diskLock is the kind that remembers disks for the specs of every system.
func diskLock() Kind {
	return Kind{
		GroupKind: disklock.Kind(), Version: "v1alpha1", Role: RoleLock,
		Plural: "disklocks", Cluster: true, Health: true,
	}
}

// Declared is what a system declares, with what is rendered for the specs of any system.
func Declared(s System) Declaration {
	d := s.Declare()
	if len(d.Specs()) > 0 {
		d.Kinds = append(d.Kinds, Kind{GroupKind: disklock.Kind(), Role: RoleLock})
		d.Software = append(d.Software, locks(d.Kinds))
	}
	return d
}

// locks are the definitions of the locks among some kinds, which only a package that applies its locks needs.
func locks(kinds []Kind) prerequisite.Software {
	s := prerequisite.Software{Name: "the CRDs of Poolwright", Install: "kubectl apply --server-side -k deploy/crds"}
	for _, kind := range kinds {
		if kind.Role == RoleLock {
			s.Kinds = append(s.Kinds, kind.GroupKind)
		}
	}
	return s
}

// Kind finds what the system declares of a kind.
func (d *Declaration) Kind(kind krm.GroupKind) (Kind, bool) {
	i := slices.IndexFunc(d.Kinds, func(k Kind) bool { return k.GroupKind == kind })
	if i < 0 {
		return Kind{}, false
	}
	return d.Kinds[i], true
}

// Specs lists the kinds of spec that the system renders.
func (d *Declaration) Specs() []Kind {
	return slices.DeleteFunc(slices.Clone(d.Kinds), func(k Kind) bool { return k.Role != RoleSpec })
}

// Stateful reports whether an object that was rendered by the system may hold data. So
// may one of a kind that it no longer declares.
func (d *Declaration) Stateful(o *krm.Object) bool {
	k, found := d.Kind(o.GroupKind())
	return !found || k.Stateful
}

// Role is what a kind is to a system.
type Role int

// The roles.
const (
	RoleManifest Role = iota // people or other tools write it; in an inventory it is a fact
	RoleFact                 // only a cluster has it: a fact wherever it lies
	RoleLock                 // rendered, and Poolwright's own memory of what was chosen
	RoleRendered             // what a spec becomes
	RoleSpec                 // what a person wants
)

// Kind is a kind of object.
type Kind struct {
	krm.GroupKind
	Version string // of the group, such as v1
	Role    Role
	// Whole, of a spec, is the kind that stands for everything rendered for it: consent
	// to remove <Whole>/<name of the spec> covers it all.
	Whole string
	// Lapses, of a spec, says that its output may go after it without consent as far as none
	// of it is stateful. Classes stay while they are used.
	Lapses bool
	// Removal, of a spec, is what a person who removes all of it has to know beside that: a
	// clause for messages, or "".
	Removal string
	// Applied, of a spec, says that it goes to the cluster as it stands: a controller there acts
	// on it and writes its status, and another spec may render it, too.
	Applied bool
	// Counted says that a snapshot keeps metadata.generation of its objects, by which the API
	// server counts their changes. What changes while the cluster does not must not count there.
	Counted bool
	// Stateful, of what is rendered, says that it holds data: it goes only with consent.
	Stateful bool
	// Release, of what is stateful, says in a message how a person lets an object go that is
	// no longer wanted; "" for consent that names it.
	Release string

	// Passing, of a lock, are lists whose entries mean nothing once what they are about is over, and Passes
	// says that a whole object does. A render that changes nothing but that is left to the next.
	Passing []Passing
	Passes  bool

	// Partial, of a fact, says that a few fields of its objects are rendered
	// (gitops.Object.Partial). What was rendered once stays in the cluster with our label: it is no output
	// that somebody forgot.
	Partial bool

	// Untried, of what is rendered, says that a plan compares it without a dry run, for which
	// one needs rights with which anything can be done to the cluster.
	Untried bool

	// Strict says who refuses an object with a field that the kind does not have, "" for nobody: an API
	// server warns of it or drops it. The kind needs a definition that has every field.
	Strict string

	Plural  string   // as an API server has it: blockdevices
	Names   []string // by which people call it beside its name and plural, lower case; the first is that of help and completion
	Cluster bool     // its objects are in no namespace

	// Keep is what a snapshot keeps of an object beside its identity, in the notation of
	// live/snapshot; "" where the kind is not read.
	Keep string
	// Only are the names of those of its objects that are read, with * for any part of a name,
	// as several systems say it; none for all of them. Of Deployments and definitions a cluster
	// has many that are nobody's business here.
	Only []string
	// OnlyBy are labels whose value counts as a name for Only, too.
	OnlyBy []string
	// Labelled is the label that those of its objects have that are read; "" for all of them.
	Labelled string
	// Identity says that its objects identify a cluster: a snapshot keeps only their
	// name and uid, in the file cluster.
	Identity bool
	// Owners says that a snapshot keeps who owns its objects.
	Owners bool
	// Annotations of its objects are kept, too, beside those of Poolwright.
	Annotations []string
	// Used and Total, of what fills up, are where an object says how much of it is used, and
	// how much there is. Both change with every write, so a snapshot keeps the share instead,
	// in steps of five percent, as annotation poolwright.io/used-percent.
	Used, Total []string
	// Node is where an object names its node: paths of which the first that is set
	// counts. A snapshot of some nodes leaves out what belongs to others.
	Node [][]string
	// Selected says that specs select its objects by annotations and fields, which a
	// snapshot then keeps, too.
	Selected bool
	// Reports says that its objects report disks, and Holds that System.Holds knows which
	// ones they hold: every system has to know of both.
	Reports bool
	Holds   bool
	// ByName says that its objects name disks by their BlockDevices alone, in whose names is what
	// the disks are known by.
	ByName bool
	// Grows says that disks come into an object while it exists, and leave it.
	Grows bool
	// Converts says that specs can be made of its objects where there are none (Converter).
	Converts bool
	// Definition says that a snapshot keeps which versions and fields of the kind the cluster
	// serves, and Events that it keeps the newest warning of each reason about each of its objects.
	Definition bool
	Events     bool
	// Tells says that its objects are about other kinds, and that only those are read that some
	// kind asks for: of definitions by name (Only), of events by what they are About. NewKinds
	// fills in both.
	Tells Tells
	About []krm.GroupKind
	// State says that its status has the phase as state, too: its design calls it so.
	State bool
	// Health says that the engines know nothing of its status and need a check:
	// deploy/argocd/health and deploy/flux/health have a check.
	Health bool
	// Static says that the engines need no check: it has no status, or they know it.
	Static bool
	// Awaits says what an applied object still waits for, "" once it is ready: the same as the checks of
	// the engines do. nil for what health.Awaits knows.
	Awaits func(live *krm.Object) string
}

// APIVersion is group and version as a document writes them.
func (k *Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Name is what help and completion call the kind.
func (k *Kind) Name() string {
	if len(k.Names) == 0 {
		return k.Plural
	}
	return k.Names[0]
}

// Reads reports whether an object of the kind is read, by its name or by what else it may be called.
func (k *Kind) Reads(names ...string) bool {
	return len(k.Only) == 0 || slices.ContainsFunc(k.Only, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			matches, err := path.Match(pattern, name)
			return matches && err == nil
		})
	})
}

// Defined reports whether the kind comes with a CustomResourceDefinition, and not with Kubernetes itself.
func (k *Kind) Defined() bool { return definedGroup(k.Group) }

// definedGroup reports whether the kinds of a group come with definitions. Those of Kubernetes itself
// have a group without a dot or below k8s.io, as those of snapshots have, which do not come with it.
func definedGroup(group string) bool {
	return group == snapshotGroup || strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// described reports whether this says what the kind is, and not only what a system does
// with it.
func (k *Kind) described() bool { return k.Plural != "" }

// Tells is what the objects of a kind are about.
type Tells int

// What objects are about.
const (
	TellsOfItself    Tells = iota
	TellsDefinitions       // which versions and fields there are of a kind: CustomResourceDefinition
	TellsEvents            // what happened to an object: Event
)

// KeepConditions keeps of conditions neither when they were last looked at nor when they
// were last written: both change all the time, and say nothing.
const KeepConditions = "conditions{type status reason message lastTransitionTime}"
