// Package scenario is what every GitOps engine is put through: the cStor example
// commit by commit, its files deleted from Git, its Application (or what the
// engine calls it) deleted, and the documented removal. The cluster is a real
// API server, the output comes from the real renderer; the CSI driver is played.
//
// The engines' own code is in the modules beside this package, one each, because
// they cannot agree on their dependencies and the product needs none of them.
package scenario
