// Package deploy holds deploy/ to the declarations of the storage systems: the roles,
// and the kinds that the engines have health checks for. With -update its tests write what
// is derived.
package deploy
