package pool

import (
	"cmp"

	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
)

const labelVersion = "openebs.io/version"

// Version is that of the operators of a cluster, as their Deployment, an instance or the
// cluster says it, or "".
func (l *Live) Version(cluster inventory.Key) string {
	version := ""
	if o := l.facts.Object(krm.ID{Group: "apps", Kind: "Deployment", Namespace: cluster.Namespace, Name: "cvc-operator"}); o != nil {
		version = o.Label(labelVersion)
	}
	for _, i := range l.instances[cluster] {
		version = cmp.Or(version, i.Object.Label(labelVersion))
	}
	if c := l.clusters[cluster]; c != nil {
		version = cmp.Or(version, c.Object.Node.Str("versionDetails", "status", "current"))
	}
	return version
}
