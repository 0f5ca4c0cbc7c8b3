// Package kpt applies, orders and prunes as kpt live does, with the library that
// kpt is made of. kpt keeps its inventory in a ResourceGroup, the library by
// default in a ConfigMap: the same code reads and writes both.
package kpt
