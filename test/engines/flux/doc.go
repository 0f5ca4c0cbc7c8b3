// Package flux applies and prunes as Flux's kustomize-controller does, with Flux's
// own code: in process with its apply library, and by the controller itself, which
// controller/ builds (make engines).
package flux
