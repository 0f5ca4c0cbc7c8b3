package pool_test

import (
	"testing"

	"github.com/poolwright/poolwright/fn/cstor/pool"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// TestFree holds that a snapshot says of the free space what the pool itself does, in steps.
func TestFree(t *testing.T) {
	const kind = "apiVersion: cstor.openebs.io/v1\nkind: CStorPoolInstance\n"
	for text, want := range map[string]int64{
		"metadata: {name: a}\nstatus: {capacity: {free: 30G, total: 100G}}":                                          30_000_000_000,
		"metadata: {name: a, annotations: {poolwright.io/used-percent: \"70\"}}\nstatus: {capacity: {total: 100G}}":  30_000_000_000,
		"metadata: {name: a, annotations: {poolwright.io/used-percent: \"170\"}}\nstatus: {capacity: {total: 100G}}": -1,
		"metadata: {name: a}\nstatus: {capacity: {total: 100G}}":                                                     -1,
		"metadata: {name: a}": -1,
	} {
		objects, err := krm.Parse(&document.Source{Data: []byte(kind + text)})
		if err != nil {
			t.Fatal(err)
		}
		free, known := pool.DecodeInstance(objects[0]).Free()
		if !known {
			free = -1
		}
		if free != want {
			t.Errorf("%s\nhas %d bytes free, want %d", text, free, want)
		}
	}
}
