package disk

import (
	"github.com/poolwright/poolwright/fn/inventory"
	"github.com/poolwright/poolwright/fn/krm"
	"github.com/poolwright/poolwright/schema/document"
)

// Report is the BlockDevice that selectors look at: of a disk that only a node agent
// reports, the one that it would be; nil for a disk that is missing.
func (d *Disk) Report() *krm.Object {
	switch {
	case d.Device != nil:
		return d.Device.Object
	case d.Entry == nil:
		return nil
	}
	drive := "SSD"
	if d.Entry.Rotational {
		drive = "HDD"
	}
	spec := document.Object(
		document.F("path", document.Text(d.Path)),
		document.F("capacity", document.Object(document.F("storage", document.Int(d.Size())))),
		document.F("details", document.Object(
			document.F("deviceType", document.Text("disk")),
			document.F("driveType", document.Text(drive)),
			document.F("model", document.Text(d.Entry.Model)),
			document.F("serial", document.Text(d.Serial)),
		)),
		document.F("nodeAttributes", document.Object(document.F("nodeName", document.Text(d.Node)))),
	)
	kind := inventory.DeviceKind()
	return krm.Make(kind.Group+"/v1alpha1", kind.Kind, "", "", document.F("spec", spec))
}
