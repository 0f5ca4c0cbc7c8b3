package keeper

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/poolwright/poolwright/controller/registry"
	"github.com/poolwright/poolwright/live/hydrations"
)

// target is what a Hydration writes to.
type target struct{ url, branch, path string }

// targetsOf are the package and the branch of a pull request; or the tag of an artifact, which writes to no
// branch.
func targetsOf(h *hydrations.Hydration) []target {
	if to := h.Spec.Publish.OCI; to != nil {
		if at, err := registry.Parse(to.URL, to.Tag); err == nil {
			return []target{{url: at.String()}}
		}
		return nil // which publishes nothing
	}
	s := &h.Spec.Source
	if s.InCluster != nil {
		in := specsOf(h, 0)
		var labels []string
		for key, value := range in.Labels {
			labels = append(labels, key+"="+value)
		}
		slices.Sort(labels)
		return []target{{url: inCluster, branch: in.Namespace, path: strings.Join(labels, ",")}}
	}
	t := target{url: s.URL, branch: s.Branch, path: path.Clean(s.Path)}
	if u, err := url.Parse(s.URL); err == nil {
		u.Host = strings.ToLower(u.Host)
		port := map[string]string{"https": ":443", "http": ":80", "ssh": ":22"}[u.Scheme]
		if port != "" {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
		u.Path = strings.TrimSuffix(path.Clean(u.Path), ".git")
		t.url = u.String()
	}
	if head := h.Spec.Head(); head != "" {
		return []target{t, {url: t.url, branch: head}}
	}
	return []target{t}
}

// conflicts names, for each Hydration whose target an older one has, that one.
func conflicts(all map[hydrations.Key]*hydrations.Hydration) map[hydrations.Key]hydrations.Key {
	byAge := make([]*hydrations.Hydration, 0, len(all))
	for _, h := range all {
		byAge = append(byAge, h)
	}
	slices.SortFunc(byAge, func(a, b *hydrations.Hydration) int {
		return cmp.Or(a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp), strings.Compare(a.Key().String(), b.Key().String()))
	})
	oldest := map[target]hydrations.Key{}
	found := map[hydrations.Key]hydrations.Key{}
	for _, h := range byAge {
		targets := targetsOf(h)
		for _, t := range targets {
			if first, taken := oldest[t]; taken {
				found[h.Key()] = first
			}
		}
		if _, younger := found[h.Key()]; younger {
			continue // what does nothing is in nobody's way
		}
		for _, t := range targets {
			oldest[t] = h.Key()
		}
	}
	return found
}
