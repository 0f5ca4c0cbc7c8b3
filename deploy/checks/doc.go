// Package checks tests the health checks that deploy/ ships, each by the
// interpreter of the engine that will run it: Lua as Argo CD does, CEL as Flux
// does. It is a module of its own, so that the product's go.mod stays small.
//
// testdata has one table for each kind, named after its group and kind, or after
// the group where all kinds of it have the same status. Both engines are held to
// the same table, so they cannot disagree:
//
//	want          Argo CD       Flux
//	current       Healthy       Current
//	progressing   Progressing   waits
//	degraded      Degraded      waits until its timeout: it may heal by itself
//	failed        Degraded      Failed at once: a person has to act
//	suspended     Suspended     waits
package checks
