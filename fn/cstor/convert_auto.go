package cstor

import (
	"github.com/poolwright/poolwright/fn/cstor/record"
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/fn/system"
	d "github.com/poolwright/poolwright/schema/document"
	"github.com/poolwright/poolwright/schema/finding"
)

// convertAuto makes the CStorClusterConfig that a CSPCAuto means. What is rendered for the
// CSPCAuto stays its own: the two have the same name, and are not both to be in a package.
func convertAuto(facts *inventory.Facts, o *krm.Object) system.Conversion {
	r := system.NewReading(facts, o)
	list := o.Node.Get("spec", "cspiList")
	raidType := r.Take(list, "poolType")
	pools := d.List()
	items := list.Seq("items")
	for i := range items {
		entry := d.Object()
		for _, f := range autoFields() {
			switch n := r.Take(&items[i], f.said); {
			case n.IsEmpty():
			case f.meant == "nodeSelector":
				entry.Set(f.meant, d.Object(d.F("matchLabels", n.Made())))
			default:
				entry.Set(f.meant, n.Made())
			}
		}
		pools.Add(entry)
	}
	if len(items) == 0 {
		r.Report(finding.Error, "not-sayable", o.Node.Get("spec"), "spec.cspiList.items", "has no pools, so that there is nothing to say")
		return system.Conversion{Findings: r.Findings}
	}
	driver := r.Take(o.Node, "metadata", "annotations", annotationAutoDriver)
	class := r.Take(o.Node, "metadata", "annotations", annotationAutoClass)
	disk := d.Object(d.F("local", d.Object()))
	if driver.Str() != "" || class.Str() != "" {
		p := record.Provisioner{CSIAttacherName: driver.Str(), StorageClassName: class.Str()}
		disk = d.Object(d.F("externalProvisioner", p.Node()))
	}
	spec := d.Object(d.F("onlyListed", d.Bool(true)), d.F("pools", pools), d.F("diskConfig", disk))
	if !raidType.IsEmpty() {
		spec.Set("poolConfig", d.Object(d.F("raidType", raidType.Made())))
	}
	r.RestIs(clusterConfigKind)
	return system.Conversion{Spec: krm.Make(daoVersion, clusterConfigKind, o.Namespace, o.Name, d.F("spec", spec)), Findings: r.Findings}
}

// Annotations of a CSPCAuto: with what cloud disks are made.
const (
	annotationAutoClass  = "dao.mayadata.io/storage-class-name"
	annotationAutoDriver = "dao.mayadata.io/csi-driver-name"
)
