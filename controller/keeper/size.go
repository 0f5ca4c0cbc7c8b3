package keeper

import (
	"context"
	"errors"
	"path"

	"github.com/poolwright/poolwright/controller/remote"
	"github.com/poolwright/poolwright/controller/tree"
)

// A source is fetched into as much memory as the one before it needed. How large it is shows only
// while it is read: where that memory is not enough, it is fetched again, into more. So nobody keeps
// memory while waiting for more of it.
const (
	firstSource = 4 << 20 // bytes, of a source that was not fetched yet
	nextSource  = 4       // times as many for the next try
)

// size is how much memory a judgement needs, in bytes.
type size struct {
	source int64 // packed, and as much again unpacked
	facts  int64 // as text
}

func (s *size) noteFacts(files map[string][]byte) {
	s.facts = 0
	for _, data := range files {
		s.facts += int64(len(data))
	}
}

// try judges one commit.
func (w *worker) try(ctx context.Context) (a *attempt, v verdict, moved bool) {
	for {
		a = &attempt{worker: w, status: w.lastStatus()}
		v, moved = a.run(ctx)
		a.end()
		w.keeper.room.Give(a.held)
		if v.reason != tooLarge {
			return a, v, moved
		}
		w.size.source = min(w.keeper.Rules.MaxSource, nextSource*w.size.source)
	}
}

// admit waits until there is memory for the source, which has begun to arrive, and for the facts. Until
// then a server that does not answer takes nothing away from others.
func (a *attempt) admit(ctx context.Context) error {
	if a.held > 0 {
		return nil
	}
	need := a.size.source + a.size.facts
	if a.object.Spec.Publish.OCI != nil {
		need += a.size.source // the last artifact, which is read beside the source
	}
	need = min(a.keeper.Rules.MaxSource, need)
	err := a.keeper.room.Take(ctx, need)
	if err == nil {
		a.held = need
	}
	return err
}

// tooLarge is the reason of a verdict that a try in more memory replaces.
const tooLarge = reason(remote.TooLarge)

// ofFiles is the verdict of an error about the files of the package.
func (a *attempt) ofFiles(err error) verdict {
	var why *tree.RefusedError
	if errors.As(err, &why) && why.TooLarge() && a.size.source < a.keeper.Rules.MaxSource {
		return say(tooLarge, "%s", why.Error())
	}
	if why != nil && why.Missing() {
		source := &a.object.Spec.Source
		return say(reason(remote.Refused), "there is no folder %s on branch %s; push it, or correct spec.source.path", path.Clean(source.Path), source.Branch)
	}
	return ofTree(err)
}

// slot works while a processor is free. What waits for the network has none.
func (k *Keeper) slot(ctx context.Context, work func() error) error {
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.slots }()
	return work()
}
