// Package crds proves deploy/crds against a real API server: it takes and
// refuses what poolwright vet takes and refuses.
package crds
