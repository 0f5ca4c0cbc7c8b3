package cstor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// capacityRaised wants larger cloud disks. Of local ones there are none that are larger.
func capacityRaised(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	if !c.cloud || c.capacity >= 400 {
		return "", nil
	}
	c.capacity = max(c.capacity, 100) + 100
	return fmt.Sprintf("%s wants disks of %dGi", c.name, c.capacity), nil
}

func policyEdited(h *history, e event) (string, error) {
	c, _ := pick(h.configs, e.a)
	c.policy = []string{"", "Retain", "Delete"}[e.b%3]
	c.deletes = c.deletes || c.policy == "Delete"
	return fmt.Sprintf("%s has the deletionPolicy %q", c.name, c.policy), nil
}

// configDeleted deletes a config, with consent, and mostly its volumes before. Where the
// renderer refuses that, it is put back.
func configDeleted(h *history, e event) (string, error) {
	if len(h.configs) < 2 {
		return "", nil
	}
	at := e.a % len(h.configs)
	c, before, output := h.configs[at], h.configs, h.rendered
	if e.b%3 > 0 {
		for _, v := range sorted(h.cluster.VolumeConfigs) {
			if v.Labels[labelCluster] == c.name {
				h.cluster.Unprovision(v.Name)
			}
		}
		h.cluster.Advance(2)
	}
	h.deleted[c.name], h.configs = c, slices.Delete(slices.Clone(h.configs), at, at+1)
	h.snapshot()
	h.render()
	if !finding.Failed(h.findings) {
		return fmt.Sprintf("config %s is deleted: %s", c.name, h.said()), nil
	}
	delete(h.deleted, c.name)
	h.configs, h.rendered = before, output
	return fmt.Sprintf("config %s is deleted, and put back: %s", c.name, h.said()), nil
}

// allowDeletions has a person allow that the output of deleted configs goes, as the error says
// that he meets.
func (h *history) allowDeletions() {
	h.rendered = slices.Clone(h.rendered)
	for i, o := range h.rendered {
		if o.Kind != "CStorClusterPlan" || h.deleted[o.Name] == nil || o.Annotation(krm.AnnotationAllowRemoval) != "" {
			continue
		}
		allowed := parse(o.Raw)[0]
		allowed.SetAnnotation(krm.AnnotationAllowRemoval, "CStorPoolCluster/"+o.Name)
		allowed.Raw = document.Append(nil, allowed.Node, 0)
		h.rendered[i] = parse(allowed.Raw)[0]
	}
}

// retained lists the claims of cloud disks that no engine may delete: those of configs that never
// had another deletionPolicy, as far as it could be known that they are there.
func (h *history) retained() []string {
	var names []string
	for _, claim := range sorted(h.cluster.VolumeClaims) {
		retains := func(c *config) bool { return strings.HasPrefix(claim.Name, c.name+"-") && !c.deletes }
		of := slices.Clone(h.configs)
		for _, c := range h.deleted {
			of = append(of, c)
		}
		known := h.view.claim[claim.Name] || h.cluster.Attachments[Namespace+"-"+claim.Name] != nil
		if claim.Namespace == Namespace && known && claim.Status.Phase == "Bound" && slices.ContainsFunc(of, retains) {
			names = append(names, claim.Name)
		}
	}
	return names
}
