package main

import (
	"strings"

	"github.com/poolwright/poolwright/fn/system"
)

// wrap breaks a paragraph into lines of at most 86 characters, as help has them.
func wrap(text string) string {
	const most = 86
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case used == 0:
		case used+1+len(word) > most:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	return b.String()
}

// rootNames lists what a tree may start at, by the names that people use.
func rootNames(kinds *system.Kinds) string {
	var names []string
	for _, kind := range kinds.Roots() {
		name := kind.Name()
		if others := kind.Names[min(1, len(kind.Names)):]; len(others) > 0 {
			name += " (" + strings.Join(others, ", ") + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// specNames lists the kinds of spec.
func specNames(kinds *system.Kinds) string {
	var names []string
	for _, kind := range kinds.In(system.RoleSpec) {
		names = append(names, kind.Kind)
	}
	return strings.Join(names, ", ")
}
