// Package controlplane runs a real Kubernetes control plane for tests: etcd,
// kube-apiserver and kube-controller-manager on loopback, ready in a few seconds
// and gone with the test binary. There is no kubelet: nodes are objects.
//
// The programs are built from their Go modules by the nested modules kubernetes/
// and etcd/, so that the product's own go.mod stays small: make control-plane.
package controlplane
