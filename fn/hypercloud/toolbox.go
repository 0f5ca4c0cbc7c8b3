package hypercloud

import (
	"github.com/poolwright/poolwright/fn/krm"
	d "github.com/poolwright/poolwright/schema/document"
)

// follow writes the configuration of the ceph command, and again when the monitors move or
// the key is rotated. A key in the environment would stay the old one.
const follow = `set -eu
written=
while true; do
  endpoints=$(cat /etc/rook/mon-endpoints)
  key=$(cat /var/lib/rook-ceph-mon/secret.keyring)
  if [ "$endpoints $key" != "$written" ]; then
    written="$endpoints $key"
    hosts=$(echo "$endpoints" | tr ',' '\n' | cut -d= -f2 | paste -sd, -)
    printf '[global]\nmon_host = %s\n\n[%s]\nkeyring = /etc/ceph/keyring\n' "$hosts" "$CEPH_USER" > /etc/ceph/ceph.conf
    printf '[%s]\nkey = %s\n' "$CEPH_USER" "$key" > /etc/ceph/keyring
  fi
  sleep 10
done
`

// addToolbox makes the Deployment with the tools of Ceph.
func (m *manifests) addToolbox() {
	if !m.cfg.Spec.Ceph.Toolbox {
		return
	}
	labels := d.Object(d.F("app", d.Text(toolboxName)))
	user := d.Object(d.F("name", d.Text("CEPH_USER")), d.F("valueFrom", d.Object(d.F("secretKeyRef", d.Object(
		d.F("name", d.Text(monSecret)), d.F("key", d.Text("ceph-username")))))))
	file := func(key, path string) d.Field {
		return d.F("items", d.List(d.Object(d.F("key", d.Text(key)), d.F("path", d.Text(path)))))
	}
	mount := func(name, path string) d.Node {
		return d.Object(d.F("name", d.Text(name)), d.F("mountPath", d.Text(path)))
	}
	container := d.Object(
		d.F("name", d.Text(toolboxName)),
		d.F("image", d.Text(m.cfg.Spec.Ceph.Image)),
		d.F("imagePullPolicy", d.Text("IfNotPresent")),
		d.F("command", d.List(d.Text("/bin/bash"), d.Text("-c"), d.Text(follow))),
		d.F("env", d.List(user)),
		d.F("securityContext", d.Object(
			d.F("runAsNonRoot", d.Bool(true)),
			d.F("runAsUser", d.Int(2016)),
			d.F("runAsGroup", d.Int(2016)),
			d.F("allowPrivilegeEscalation", d.Bool(false)),
			d.F("capabilities", d.Object(d.F("drop", d.List(d.Text("ALL"))))),
		)),
		d.F("volumeMounts", d.List(mount("ceph", "/etc/ceph"), mount("mon-endpoints", "/etc/rook"), mount("admin-key", "/var/lib/rook-ceph-mon"))),
	)
	pod := d.Object()
	if tolerations := m.Object.Node.Get("spec", "ceph", "placement", "all", "tolerations"); len(tolerations.Seq()) > 0 {
		pod.Set("tolerations", plain(*tolerations))
	}
	pod.Set("containers", d.List(container))
	pod.Set("volumes", d.List(
		d.Object(d.F("name", d.Text("ceph")), d.F("emptyDir", d.Object())),
		d.Object(d.F("name", d.Text("mon-endpoints")), d.F("configMap", d.Object(
			d.F("name", d.Text(monEndpointsConfig)),
			file("data", "mon-endpoints"),
		))),
		d.Object(d.F("name", d.Text("admin-key")), d.F("secret", d.Object(
			d.F("secretName", d.Text(monSecret)), file("ceph-secret", "secret.keyring"),
		))),
	))
	m.add(levelToolbox, "deployment", krm.Make(appsGroup+"/v1", deploymentKind, m.Object.Namespace, toolboxName, d.F("spec", d.Object(
		d.F("replicas", d.Int(1)),
		d.F("selector", d.Object(d.F("matchLabels", labels))),
		d.F("template", d.Object(
			d.F("metadata", d.Object(d.F("labels", labels))),
			d.F("spec", pod),
		)),
	))), m.needs(levelToolbox)...)
}
