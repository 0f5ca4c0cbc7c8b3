package fn

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/poolwright/poolwright/schema"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// encode gives what is newly written its text, and holds it against its definition, as
// input is. What stands for a manifest of a person may be of any kind, and is not checked.
func encode(schemas *schema.Schemas, written []wanted) []finding.Finding {
	found := make([][]finding.Finding, len(written))
	share(len(written), func(mine iter.Seq[int]) {
		var text []byte
		for i := range mine {
			w := &written[i]
			text = document.Append(slices.Grow(text[:0], document.Room(w.Object.Node, 0)), w.Object.Node, 0)
			w.Object.Raw = bytes.Clone(text)
			if !w.copied {
				found[i] = schemas.Check(nil, w.Object.Ref, w.Object.Node)
			}
		}
	})
	var findings []finding.Finding
	for _, of := range found {
		findings = append(findings, of...)
	}
	return findings
}

// share has all processors work on n things, each on some of the numbers below n. It
// returns when all is done, and panics with what one of them panicked with.
func share(n int, work func(mine iter.Seq[int])) {
	var next atomic.Int64
	mine := func(yield func(int) bool) {
		for {
			if i := int(next.Add(1)) - 1; i >= n || !yield(i) {
				return
			}
		}
	}
	var workers sync.WaitGroup
	var panicked atomic.Value
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.CompareAndSwap(nil, fmt.Sprint(p))
				}
			}()
			work(mine)
		})
	}
	workers.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
}
