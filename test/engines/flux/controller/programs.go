//go:build tools

// Package controller names the program that the go.mod beside it is there for.
package controller

import _ "github.com/fluxcd/kustomize-controller"
