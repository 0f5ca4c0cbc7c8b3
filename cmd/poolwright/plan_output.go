package main

import (
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/folder"
)

// output warns of the files of the output folder that a render would write beside the objects.
func (p *planning) output(l loaded, rendered []fn.Rendered) error {
	target, err := l.input.Target()
	if err != nil {
		return err
	}
	files, err := folder.NewPlan(target, rendered, l.Package)
	if err != nil {
		return err
	}
	p.AddFiles(files.Changes, len(l.Ours()) > 0)
	return nil
}
