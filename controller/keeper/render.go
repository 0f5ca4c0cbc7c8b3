package keeper

import (
	"context"
	"errors"

	"github.com/poolwright/poolwright/controller/delegate"
	"github.com/poolwright/poolwright/controller/hydration"
	"github.com/poolwright/poolwright/fn"
	"github.com/poolwright/poolwright/folder"
	"github.com/poolwright/poolwright/schema/finding"
)

// render judges a package with facts.
func (a *attempt) render(ctx context.Context, p hydration.Package, f hydration.Facts) (j *hydration.Judgement, err error) {
	k := a.keeper
	var by hydration.Renderer = hydration.InProcess{Function: k.Function}
	if k.Renderer != nil {
		by = elsewhere{k}
	}
	err = k.slot(ctx, func() (err error) {
		j, err = hydration.Judge(ctx, k.Function, by, p, f)
		return err
	})
	return j, err
}

// elsewhere renders by another process. Meanwhile somebody else has the slot.
type elsewhere struct{ keeper *Keeper }

// Render gives up the slot until there is an answer.
func (e elsewhere) Render(ctx context.Context, p folder.Package, findings []finding.Finding) (fn.Result, error) {
	<-e.keeper.slots
	defer func() { e.keeper.slots <- struct{}{} }()
	return e.keeper.Renderer.Render(ctx, p, findings)
}

// ofRender is the verdict where there is no judgement.
func ofRender(err error) verdict {
	if why := hydration.ReasonOf(err); why != "" {
		return say(reason(why), "%s", err.Error())
	}
	v := retry(serviceUnavailable, "the package was not rendered: %s", err.Error())
	var why *delegate.Error
	if errors.As(err, &why) {
		v.after = why.After
	}
	return v
}

// ofRenderer is the error of a judgement if the renderer is to blame.
func ofRenderer(err error) error {
	if hydration.ReasonOf(err) != "" {
		return nil
	}
	return err
}
