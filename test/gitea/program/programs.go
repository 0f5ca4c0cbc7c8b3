//go:build tools

// Package program names Gitea, so that the go.mod beside it pins what it needs.
package program

import _ "code.gitea.io/gitea"
