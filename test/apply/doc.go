// Package apply proves the output against a real API server.
package apply
