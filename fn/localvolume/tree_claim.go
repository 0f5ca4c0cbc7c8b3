package localvolume

import (
	"github.com/poolwright/poolwright/fn/health"
	"github.com/poolwright/poolwright/fn/krm"
)

// claim is a claim with the PersistentVolume of a Volume; nil for one of another system.
func (f *forest) claim(o *krm.Object) *health.Tree {
	pv := f.facts.Object(krm.ID{Kind: pvKind, Name: o.Node.Str("spec", "volumeName")})
	if pv == nil {
		return nil
	}
	below := f.persistent(pv)
	if below == nil {
		return nil
	}
	t := claimAlone(o)
	t.Children = []*health.Tree{below}
	return t
}

// claimAlone is a claim without what is below it.
//
// Source: Kubernetes, PersistentVolumeClaimPhase, 1.36.
func claimAlone(o *krm.Object) *health.Tree {
	t := &health.Tree{Object: o.Ref, Phase: health.Error, State: o.Node.Str("status", "phase")}
	switch t.State {
	case "Bound":
		t.Phase = health.OK
	case "Pending", "":
		t.Phase = health.Progressing
	}
	return t
}

// persistent is a PersistentVolume with its Volume; nil for one of another system.
func (f *forest) persistent(o *krm.Object) *health.Tree {
	live := f.facts.Object(volumeID(o.Name))
	if live == nil {
		return nil
	}
	t := f.persistentAlone(o)
	t.Children = []*health.Tree{f.volume(live)}
	return t
}

func (f *forest) persistentAlone(o *krm.Object) *health.Tree {
	phase := o.Node.Str("status", "phase")
	t := &health.Tree{Object: o.Ref, Phase: health.OK, State: phase}
	if phase == "Failed" || phase == "Lost" {
		t.Phase = health.Error
	}
	return t
}

// persistentUp is a PersistentVolume with the claim that has it.
func (f *forest) persistentUp(o *krm.Object) *health.Tree {
	t := f.persistentAlone(o)
	ref := o.Node.Get("spec", "claimRef")
	if ref.Str("name") == "" {
		return t
	}
	if claim := f.facts.Object(krm.ID{Kind: claimKind, Namespace: ref.Str("namespace"), Name: ref.Str("name")}); claim != nil {
		t.Children = append(t.Children, claimAlone(claim))
	} else {
		t.Note = "of claim " + ref.Str("namespace") + "/" + ref.Str("name")
	}
	return t
}
