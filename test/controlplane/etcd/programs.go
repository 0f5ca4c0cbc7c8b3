//go:build tools

// Package etcd names the program, so that go.mod pins what it needs.
package etcd

import _ "go.etcd.io/etcd/server/v3"
