// Package checks tests the health checks that deploy/ ships, each by the
// interpreter of the engine that will run it: Lua as Argo CD does, CEL as Flux
// does. It is a module of its own, so that the product's go.mod stays small.
//
// testdata has a table for each kind, named after its group and kind, or after the
// group where others of it have the same status; own is that of all kinds that
// poolwright status writes to. The scripts of deploy/argocd/health are named in the
// same way. Both engines are held to
// the same table, and so is poolwright itself for what it shows in a tree, so they
// cannot disagree:
//
//	want          Argo CD       Flux                                           poolwright
//	current       Healthy       Current                                        OK
//	progressing   Progressing   waits                                          PROGRESSING
//	degraded      Degraded      waits until its timeout: it may heal by itself  ERROR
//	failed        Degraded      Failed at once: a person has to act            ERROR
//	suspended     Suspended     waits
//
// Where Flux looks at an object itself before it asks us, a row says flux, too.
//
// Degraded ends the sync of an Argo CD that still has something to apply. So an
// attachment that fails, and is tried again, is progressing to the engines, where
// poolwright status already says ERROR for a person to look; and so are the OSDs that a
// new Ceph cluster has not got yet, of which a row says tree, too.
package checks
