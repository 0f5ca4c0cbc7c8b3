package system

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/krm"
)

// Check finds what does not fit in the declarations: mistakes of those who write a
// system.
func (k *Kinds) Check() error {
	return errors.Join(k.checkDescriptions(), k.checkSpecs(), k.checkFacts(), k.checkNames())
}

// checkDescriptions holds that each kind is described once, and that engines have a check for
// what is applied.
func (k *Kinds) checkDescriptions() error {
	var errs []error
	by := map[krm.GroupKind]string{}
	for i := range k.declarations {
		d := &k.declarations[i]
		for _, kind := range d.Kinds {
			switch other, twice := by[kind.GroupKind]; {
			case !kind.described():
			case twice:
				errs = append(errs, fmt.Errorf("%s and %s both describe %v", other, d.Name, kind.GroupKind))
			default:
				by[kind.GroupKind] = d.Name
			}
		}
	}
	for i := range k.all {
		kind := &k.all[i]
		if !kind.described() {
			errs = append(errs, fmt.Errorf("nobody describes %v: it has no plural", kind.GroupKind))
		}
		if kind.Role >= RoleLock && kind.Group != "" && !kind.Health && !kind.Static {
			errs = append(errs, fmt.Errorf("engines get no health check for %v", kind.GroupKind))
		}
		if (kind.Role == RoleRendered || kind.Applied) && kind.Health && kind.Awaits == nil {
			errs = append(errs, fmt.Errorf("nothing says when an applied %v is ready", kind.GroupKind))
		}
	}
	return errors.Join(errs...)
}

// checkSpecs holds that no two kinds of spec have one name, after which the folder of
// their output is called, and that each has a name for the whole of it.
func (k *Kinds) checkSpecs() error {
	var errs []error
	named := map[string]krm.GroupKind{}
	for _, kind := range k.In(RoleSpec) {
		name := strings.ToLower(kind.Kind)
		if other, twice := named[name]; twice {
			errs = append(errs, fmt.Errorf("two kinds of spec are called %s: %v and %v", kind.Kind, other, kind.GroupKind))
		}
		named[name] = kind.GroupKind
		if kind.Whole == "" {
			errs = append(errs, fmt.Errorf("no kind stands for the whole of a %s", kind.Kind))
		}
	}
	return errors.Join(errs...)
}

// checkFacts holds that a snapshot keeps something of what is looked at.
func (k *Kinds) checkFacts() error {
	var errs []error
	for i := range k.declarations {
		d := &k.declarations[i]
		for _, kind := range append(slices.Clone(d.Facts), d.Roots...) {
			if found, _ := k.Find(kind); found.Keep == "" && found.Role != RoleSpec && kind != disk.Kind() {
				errs = append(errs, fmt.Errorf("%s: %v is looked at, and no snapshot keeps anything of it", d.Name, kind))
			}
		}
	}
	return errors.Join(errs...)
}

// checkNames holds that no name means two kinds that a tree may start at.
func (k *Kinds) checkNames() error {
	var errs []error
	means := map[string]krm.GroupKind{}
	for _, kind := range k.Roots() {
		for _, name := range append([]string{strings.ToLower(kind.Kind), kind.Plural}, kind.Names...) {
			if other, twice := means[name]; twice && other != kind.GroupKind {
				errs = append(errs, fmt.Errorf("%v and %v are both called %s", other, kind.GroupKind, name))
			}
			means[name] = kind.GroupKind
		}
	}
	return errors.Join(errs...)
}
