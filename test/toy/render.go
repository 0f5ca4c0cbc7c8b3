package toy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/disk"
	"github.com/poolwright/poolwright/fn/gitops"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/place"
	"github.com/poolwright/poolwright/fn/system"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// Start implements system.Renderer.
func (System) Start(in system.Input, specs []*system.Spec) system.Rendering {
	r := make(rendering, len(specs))
	for i, spec := range specs {
		r[i] = &vessel{spec: spec, in: in, released: map[krm.ID]bool{}}
	}
	return r
}

type rendering []*vessel

// Keep implements system.Rendering.
func (r rendering) Keep() {
	for _, v := range r {
		v.keep()
	}
}

// Choose implements system.Rendering.
func (r rendering) Choose() []system.Output {
	outputs := make([]system.Output, len(r))
	for i, v := range r {
		outputs[i] = v.choose()
	}
	return outputs
}

// vessel is one Tank or Reservoir.
type vessel struct {
	spec     *system.Spec
	in       system.Input
	devices  []inventory.Key
	released map[krm.ID]bool
}

func (v *vessel) owner() string { return v.spec.Object.OwnerKey() }

// keep takes the disks of the basins again that were rendered or live, but for those
// that the spec gives up.
func (v *vessel) keep() {
	basins := slices.Clone(v.spec.Before)
	for _, o := range v.in.Facts.Objects(group, "Basin") {
		if o.Owner() == v.owner() {
			basins = append(basins, o)
		}
	}
	for _, o := range basins {
		d := device(o)
		switch {
		case o.Kind != "Basin" || slices.Contains(v.devices, d):
		case v.spec.Consent.Covers("Basin", o.Name):
			v.released[o.ID()] = true
			v.in.Disks.Release(v.in.Disks.Device(d.Namespace, d.Name), v.owner())
		default:
			v.devices = append(v.devices, d)
		}
	}
	slices.SortFunc(v.devices, byName)
}

func byName(a, b inventory.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func (v *vessel) choose() system.Output {
	var completed struct {
		Spec struct {
			Disks int
			Sign  bool
		}
	}
	out := system.Output{Released: v.released}
	if err := json.Unmarshal(v.spec.Completed, &completed); err != nil {
		out.Findings = append(out.Findings, v.spec.Finding(finding.Error, "spec", "", err.Error()))
		return out
	}
	wanted := completed.Spec.Disks
	if len(v.devices) > wanted {
		v.devices = v.devices[:wanted]
	}
	disks := slices.SortedFunc(slices.Values(v.in.Disks.Disks()), disk.Rank)
	for _, d := range disks {
		if d.Device == nil || slices.Contains(v.devices, d.Name()) {
			continue
		}
		choice := place.Choice{Spec: v.spec.Object.Ref, Subject: d.Device.Object.Ref, Node: d.Node, Verdict: place.Refused}
		verdict := v.in.Disks.Verdict(d, disk.Want{MinCapacity: 1})
		switch choice.Reason = verdict.Reason(); {
		case choice.Reason != "":
		case len(v.devices) >= wanted:
			choice.Verdict = place.Free
		default:
			v.in.Disks.Take(d, v.spec.Object.Ref, v.owner())
			v.devices = append(v.devices, d.Name())
			choice.Verdict = place.Chosen
		}
		out.Choices = append(out.Choices, choice)
	}
	if missing := wanted - len(v.devices); missing > 0 {
		out.Findings = append(out.Findings, v.spec.Finding(finding.Warning, "awaiting", "spec.disks", fmt.Sprintf("awaiting %d more", missing)))
	}
	slices.SortFunc(v.devices, byName)
	out.Objects = v.objects(completed.Spec.Sign)
	return out
}

// objects are what is rendered.
func (v *vessel) objects(sign bool) []gitops.Object {
	prefix := strings.ToLower(strings.ReplaceAll(strings.Trim(v.spec.Object.Kind+"-"+v.spec.Object.Namespace, "-")+"-"+v.spec.Object.Name, ".", "-"))
	var objects []gitops.Object
	names := document.List()
	for _, d := range v.devices {
		name := prefix + "-" + d.Name
		names.Add(document.Text(name))
		objects = append(objects, v.object("Basin", name, document.F("spec", document.Object(document.F("device", document.Object(
			document.F("namespace", document.Text(d.Namespace)), document.F("name", document.Text(d.Name)),
		))))))
	}
	objects = append(objects, v.object("Level", prefix, document.F("spec", document.Object(document.F("basins", names)))))
	if sign {
		objects = append(objects, v.object("Sign", prefix))
	}
	return objects
}

func (v *vessel) object(kind, name string, fields ...document.Field) gitops.Object {
	return gitops.Object{File: strings.ToLower(kind) + ".yaml", Object: krm.Make(group+"/"+version, kind, "", name, fields...)}
}
