// Package deploy holds deploy/ to the declarations of the storage systems: the roles,
// and the kinds of whose health the engines are told. With -update its tests write what
// is derived.
package deploy
