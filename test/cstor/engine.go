package cstor

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// ownerKey is the annotation that says for which config something was rendered.
const ownerKey = "poolwright.io/owner"

// Engine applies manifests as a GitOps engine does, and prunes what is no longer there,
// unless it is protected. Where a person has to confirm that, he does.
type Engine struct {
	api     *API
	webhook webhook
	watch   *Watch
	applied map[string]header // the manifests, by kind and name
	owned   map[string]header // as which each object was applied last, also before it went
	grown   map[string]string // nodes whose claims an apply makes larger, by their owner and CStorPoolCluster
	Edits   map[string]int    // how many of a kind were carried out
}

// Refusal is an object that was not applied, and why.
type Refusal struct {
	Object string
	Err    error
}

func (r Refusal) String() string { return r.Object + ": " + r.Err.Error() }

// Apply applies manifests, each a YAML document, in their order.
func (e *Engine) Apply(manifests [][]byte) ([]Refusal, error) {
	var refused []Refusal
	now := map[string]header{}
	e.grown = map[string]string{}
	for _, text := range manifests {
		var h header
		if err := yaml.Unmarshal(text, &h); err != nil {
			return nil, err
		}
		if h.Annotations["config.kubernetes.io/local-config"] == "true" {
			continue
		}
		id := h.Kind + "/" + h.Name
		now[id] = h
		known, err := e.apply(h.Kind, text)
		if err != nil {
			refused = append(refused, Refusal{id, err})
		}
		if !known {
			delete(now, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.applied)) {
		if _, still := now[id]; still || strings.Contains(e.applied[id].Annotations["argocd.argoproj.io/sync-options"], "Prune=false") {
			continue
		}
		if err := e.prune(id); err != nil {
			refused = append(refused, Refusal{id, err})
			now[id] = e.applied[id]
		}
	}
	e.applied = now
	e.api.count()
	e.watch.check("after an apply")
	return refused, nil
}

func (e *Engine) apply(kind string, text []byte) (known bool, err error) {
	switch kind {
	case "CStorPoolCluster":
		return true, decoded(text, e.applyPools)
	case "CStorVolumeConfig":
		return true, decoded(text, e.applyVolume)
	case "PersistentVolumeClaim":
		return true, decoded(text, e.applyClaim)
	case "VolumeAttachment":
		return true, decoded(text, e.applyAttachment)
	}
	return false, nil
}

func decoded[T any](text []byte, apply func(*T) error) error {
	o := new(T)
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		return err
	}
	return apply(o)
}

// merge is what a server-side apply does to labels and annotations: those that were applied
// last and are applied no more go, and those of other owners stay.
func (e *Engine) merge(to, from *header) {
	last := e.owned[from.Kind+"/"+from.Name]
	mergeKeys(to.Labels, last.Labels, from.Labels)
	mergeKeys(to.Annotations, last.Annotations, from.Annotations)
	e.own(from)
}

func mergeKeys(to, last, now map[string]string) {
	for key := range last {
		delete(to, key)
	}
	maps.Copy(to, now)
}

// own remembers what is applied of an object.
func (e *Engine) own(applied *header) {
	var h header
	h.Labels, h.Annotations = maps.Clone(applied.Labels), maps.Clone(applied.Annotations)
	e.owned[applied.Kind+"/"+applied.Name] = h
}

// create gives an object that was applied what the API server does.
func (e *Engine) create(h *header) {
	for _, m := range []*map[string]string{&h.Labels, &h.Annotations} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	e.own(h)
	e.api.born(h)
}

func (e *Engine) applyPools(wanted *PoolCluster) error {
	old := e.api.PoolClusters[wanted.Name]
	if old == nil {
		if err := e.webhook.reviewPools(nil, wanted); err != nil {
			return err
		}
		wanted.Finalizers = []string{poolFinalizer}
		wanted.VersionDetails = versionDetails{version, versionStatus{version}}
		e.create(&wanted.header)
		e.api.PoolClusters[wanted.Name] = wanted
		return nil
	}
	if reflect.DeepEqual(clone(old.Spec), clone(wanted.Spec)) { // an engine sees no drift, and applies nothing
		e.merge(&old.header, &wanted.header)
		return nil
	}
	if err := e.webhook.reviewPools(old, wanted); err != nil {
		return err
	}
	edit := newTransition(&old.Spec, &wanted.Spec)
	if why := edit.illegal(e.api, e.watch.known, old, wanted); why != "" && e.watch.known.shows(old.Name) {
		e.watch.report("CStorPoolCluster %s: %s", old.Name, why)
	}
	for _, kind := range edit.kinds() {
		verb, _, _ := strings.Cut(kind, " ")
		e.Edits[verb]++
	}
	e.merge(&old.header, &wanted.header)
	old.Spec = wanted.Spec
	return nil
}

// applyVolume applies a part of a CStorVolumeConfig: the operator's own fields stay.
func (e *Engine) applyVolume(wanted *VolumeConfig) error {
	old := e.api.VolumeConfigs[wanted.Name]
	if old == nil {
		return fmt.Errorf("CStorVolumeConfig %q is invalid: [spec.capacity, spec.provision, status, versionDetails: Required value]", wanted.Name)
	}
	edited := clone(*old)
	e.merge(&edited.header, &wanted.header)
	if len(wanted.Spec.Policy.ReplicaPoolInfo) == 0 {
		e.watch.report("CStorVolumeConfig %s is applied without pools, which deletes its replicas", wanted.Name)
	}
	for _, name := range minus(wanted.Spec.pools(), old.Spec.pools()) {
		if of := e.watch.known.clusterOf(e.api, name); !e.watch.theirs && (of == "" || of != old.Labels[labelCluster]) {
			e.watch.report("CStorVolumeConfig %s names pool %s, which is none of its cluster", wanted.Name, name)
		}
	}
	if len(minus(wanted.Spec.pools(), old.Spec.pools()))+len(minus(old.Spec.pools(), wanted.Spec.pools())) > 0 && e.watch.known.isBelow(e.watch, wanted.Name) && !e.watch.theirs {
		e.watch.report("CStorVolumeConfig %s goes from pools %v to %v, and the volume is below quorum", wanted.Name, old.Spec.pools(), wanted.Spec.pools())
	}
	if before, now := len(old.Spec.pools()), len(wanted.Spec.pools()); before < now {
		e.Edits["asks for a replica"]++
	} else if before > now {
		e.Edits["lets a replica go"]++
	}
	edited.Spec.Policy.ReplicaPoolInfo = wanted.Spec.Policy.ReplicaPoolInfo
	if err := e.webhook.reviewVolume(old, &edited); err != nil {
		return err
	}
	e.api.VolumeConfigs[wanted.Name] = &edited
	return nil
}

func (e *Engine) applyClaim(wanted *VolumeClaim) error {
	key := wanted.Namespace + "/" + wanted.Name
	old := e.api.VolumeClaims[key]
	if old == nil {
		wanted.Status.Phase = "Pending"
		e.create(&wanted.header)
		e.api.VolumeClaims[key] = wanted
		return nil
	}
	if err := e.api.resize(old, wanted); err != nil {
		return err
	}
	if owner, node := wanted.Annotations[ownerKey], wanted.Annotations["volume.kubernetes.io/selected-node"]; old.Spec.Resources != wanted.Spec.Resources {
		// Those that no pool has yet, and that were made larger before anybody saw them, disturb none.
		if of := owner + " " + e.api.clusterOn(owner, node); e.api.pooled(old.Spec.VolumeName) {
			if first := e.grown[of]; first != "" && first != node {
				e.watch.report("the volumes of nodes %s and %s grow at once", first, node)
			}
			e.grown[of] = node
		}
		e.Edits["grows a volume"]++
	}
	e.merge(&old.header, &wanted.header)
	old.Spec.Resources = wanted.Spec.Resources
	return nil
}

func (e *Engine) applyAttachment(wanted *VolumeAttachment) error {
	if old := e.api.Attachments[wanted.Name]; old != nil {
		if old.Spec != wanted.Spec {
			return fmt.Errorf("volumeattachment %s: spec is immutable", wanted.Name)
		}
		e.merge(&old.header, &wanted.header)
		return nil
	}
	e.create(&wanted.header)
	e.api.Attachments[wanted.Name] = wanted
	return nil
}

// prune deletes what is not among the manifests any more.
func (e *Engine) prune(id string) error {
	kind, name, _ := strings.Cut(id, "/")
	switch kind {
	case "CStorPoolCluster":
		c := e.api.PoolClusters[name]
		if c == nil {
			return nil
		}
		if err := e.webhook.reviewDeletion(c); err != nil {
			return err
		}
		remove(e.api, e.api.PoolClusters, name)
	case "CStorVolumeConfig":
		e.watch.report("CStorVolumeConfig %s is pruned, which deletes the volume", name)
	case "PersistentVolumeClaim":
		for key, claim := range e.api.VolumeClaims {
			if claim.Name == name && claim.Namespace != "shop" {
				e.watch.lets(claim.Spec.VolumeName, "PersistentVolumeClaim "+name+" is deleted")
				delete(e.api.VolumeClaims, key)
			}
		}
	case "VolumeAttachment":
		if a := e.api.Attachments[name]; a != nil {
			e.watch.lets(a.Spec.Source.PersistentVolumeName, "VolumeAttachment "+name+" is deleted")
		}
		delete(e.api.Attachments, name)
	}
	return nil
}
