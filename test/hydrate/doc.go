// Package hydrate puts the controller's mode Apply through a real API server: what it applies, in which
// order, what it waits for, and what it never overwrites or deletes. Operators are played.
package hydrate
