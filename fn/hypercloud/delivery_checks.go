package hypercloud

import "github.com/poolwright/poolwright/fn/gitops"

// checks are what Flux asks of the kinds that it does not know: those of
// deploy/flux/health, which a test holds them to.
func checks() []gitops.Check {
	const (
		ready = "has(status.phase) && status.phase == 'Ready'"
		// Ready stays true once it was, so that phase and health are asked, and whether as many
		// OSDs run as there are to be.
		created = "has(status.phase) && status.phase == 'Ready' && has(status.state) && status.state == 'Created'" +
			" && has(status.ceph) && has(status.ceph.health) && status.ceph.health in ['HEALTH_OK', 'HEALTH_WARN']" +
			" && has(status.ceph.versions) && has(status.ceph.versions.osd)" +
			" && status.ceph.versions.osd.exists(v, status.ceph.versions.osd[v] > 0 && (" +
			" !has(spec.storage.nodes) || status.ceph.versions.osd[v] == size(spec.storage.nodes.map(n, !has(n.devices) ? '' : n.devices.map(d," +
			" has(d.config) && has(d.config.osdsPerDevice) ? 'xxxxxxxxxxxxxxxx'.substring(0, int(d.config.osdsPerDevice)) : 'x'" +
			" ).join('')).join(''))))"
		deployed = "has(status.phase) && status.phase == 'Deployed'" +
			" && !(has(status.conditions) && status.conditions.exists(c, c.type == 'Degraded' && c.status == 'True'))"
	)
	return []gitops.Check{
		{GroupKind: gk(cephGroup, clusterKind), Version: "v1", Current: created},
		{GroupKind: gk(cephGroup, poolKind), Version: "v1", Current: ready},
		{GroupKind: gk(cephGroup, filesystemKind), Version: "v1", Current: ready},
		{GroupKind: gk(cephGroup, subvolumesKind), Version: "v1", Current: ready},
		{GroupKind: gk(cephGroup, storeKind), Version: "v1", Current: ready},
		{GroupKind: gk(cdiGroup, cdiKind), Version: "v1beta1", Current: deployed},
	}
}
